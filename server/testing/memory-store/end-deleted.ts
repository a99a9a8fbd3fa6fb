// The executions of a deleted job end, in memory: the first ones with the delete, the others by the release loop.
import { jobDeletedMessage } from '../../src/domain/jobs/job-change.ts'
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import { batchExecutionsMax } from '../../src/domain/queue/execution.ts'
import { endedWithJobMax } from '../../src/domain/queue/trigger-batches.ts'
import { cancelAll, isRunning, type UnderWay, unendedOf } from './cancel.ts'
import type { BatchRow, JobRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import { isLeftBehind, type MemoryStore } from './store.ts'

const batchesMax = endedWithJobMax / batchExecutionsMax

/** Ends the first executions that do not run, and with `running` all that run; no worker reaches the others. */
export function cancelOfDeleted(store: MemoryStore, job: JobRow, running: boolean): SettledAttempt[] {
  for (const batch of batchesOf(job, isOwnWaiting).slice(batchesMax)) store.leaveBehind(job, batch)
  const unended = unendedOf(job).filter((one) => one.kind === 'live' || !isLeftBehind(one.batch))
  const batched = unended.filter((one) => one.kind === 'batch' && (running || !isRunning(one)))
  const rows = unended.flatMap((one) => (one.kind === 'live' ? [one.row] : []))
  const pending = rows.filter((row) => !isRunning(alone(row)))
  const first = pending.toSorted(byTurn).slice(0, endedWithJobMax)
  const runs = running ? rows.filter((row) => isRunning(alone(row))) : []
  const settled = cancelAll(store, [...batched, ...[...first, ...runs].map(alone)], jobDeletedMessage)
  for (const row of [...job.live].filter(({ state }) => state === 'ready' || state === 'retrying'))
    store.changeLive(row, { state: 'waiting', readyAt: null, totalDeadline: null })
  return settled
}

/** Ends executions that deleted jobs left behind, job by job, until enough have ended. */
export function endLeftBehind(store: MemoryStore, jobs: readonly JobRow[]): SettledAttempt[] {
  const settled: SettledAttempt[] = []
  for (const job of jobs) {
    if (settled.length >= endedWithJobMax) break
    const batches = new Set(batchesOf(job, isLeftBehind).slice(0, batchesMax))
    const batched = unendedOf(job).filter((one) => one.kind === 'batch' && batches.has(one.batch))
    const waiting = [...job.live].filter(({ state }) => state === 'waiting').toSorted(byTurn)
    const first = waiting.slice(0, endedWithJobMax).map(alone)
    settled.push(...cancelAll(store, [...batched, ...first], jobDeletedMessage))
    store.indexWaiting(job)
  }
  return settled
}

const alone = (row: LiveRow): UnderWay => ({ kind: 'live', row })

function batchesOf({ batched }: JobRow, isWanted: (batch: BatchRow) => boolean): BatchRow[] {
  const batches = [...new Set(batched.values())].filter(isWanted)
  return batches.toSorted((a, b) => compareText(a.batchId, b.batchId))
}

/** No worker has it, and it has no executions of other jobs. */
function isOwnWaiting({ workerId, entries }: BatchRow): boolean {
  return workerId === null && entries.every(({ jobId }) => jobId === entries[0]!.jobId)
}

/** Executions that a worker could start come first. */
function byTurn(a: LiveRow, b: LiveRow): number {
  const waits = (row: LiveRow) => Number(row.state === 'waiting')
  return waits(a) - waits(b) || compareText(a.executionId, b.executionId)
}
