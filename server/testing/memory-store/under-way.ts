// The unended executions of a job, in memory.
import { type LiveState, statusOfLive } from '../../src/domain/queue/execution.ts'
import { totalMax, type UnderWay, type UnendedExecution, underWayMax } from '../../src/ports/executions.ts'
import { summaryOfEntry } from './execution-summary.ts'
import type { JobRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

const order: Record<LiveState, number> = {
  running: 0,
  awaiting: 0,
  retrying: 1,
  ready: 2,
  waiting: 3,
  blocked: 4,
}

export function underWayOf(store: MemoryStore, job: JobRow): UnderWay {
  const all = [...inBatches(store, job), ...[...job.live].map((row) => ofLive(store, row))]
  const urgency = ({ state }: UnendedExecution) => order[state]
  const sorted = all.toSorted(
    (a, b) =>
      urgency(a.one) - urgency(b.one) || a.rank - b.rank || compareText(a.one.executionId, b.one.executionId),
  )
  const letGo = all.filter(({ one }) => one.state !== 'waiting' && one.state !== 'blocked').length
  return {
    executions: sorted.slice(0, underWayMax).map(({ one }) => one),
    letGo: Math.min(letGo, totalMax),
    owed: owedOf(job),
  }
}

export function owedOf({ owed }: JobRow): UnderWay['owed'] {
  // An empty range: the last executions of a catch-up are under way.
  return owed === null || owed.from > owed.to ? null : { from: owed.from, to: owed.to }
}

interface Ranked {
  rank: number
  one: UnendedExecution
}

function inBatches(store: MemoryStore, { jobId }: JobRow): Ranked[] {
  return [...store.batches.values()].flatMap((batch) =>
    batch.entries
      .filter((entry) => entry.jobId === jobId)
      .map((entry) => {
        const summary = summaryOfEntry(store, batch, entry)
        const { executionId, kind, slot, status, attempt, enqueuedAt, startedAt } = summary
        const state: LiveState = batch.workerId === null ? 'ready' : 'running'
        const rest = { retryAt: null, host: null, concurrencyKey: null }
        const one = { executionId, kind, slot, state, status, attempt, enqueuedAt, startedAt, ...rest }
        return { rank: batch.rank, one }
      }),
  )
}

function ofLive(store: MemoryStore, row: LiveRow): Ranked {
  const { executionId, kind, slot, state, attempt, enqueuedAt, startedAt, readyAt, host } = row
  const status = statusOfLive(state, attempt, row.cancelledAt !== null)
  const concurrencyKey =
    row.concurrencyKey === null ? null : { ...row.concurrencyKey, held: heldBy(store, row) }
  const one = { executionId, kind, slot, state, status, attempt, enqueuedAt, startedAt, host }
  return { rank: row.rank, one: { ...one, retryAt: readyAt, concurrencyKey } }
}

/** How many hold the key of this one. */
function heldBy(store: MemoryStore, { tenantId, concurrencyKey }: LiveRow): number {
  const holds = (row: LiveRow) =>
    row.tenantId === tenantId && row.state !== 'waiting' && row.concurrencyKey?.key === concurrencyKey!.key
  return [...store.live.values()].filter(holds).length
}
