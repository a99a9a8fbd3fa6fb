// Cancelling in memory. An execution that does not run ends at once, and its record says why; a running one is flagged,
// and ends when its worker gives it back.
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import { batchIdOf, executionIdAt } from '../../src/domain/queue/execution.ts'
import { soonerForCancel } from './deadlines.ts'
import { cancelledEnd, leaveBatch, recordAttempt, settledOf } from './record-attempt.ts'
import type { BatchEntry, BatchRow, JobRow, LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

/** Where an execution that has not ended is. */
export type UnderWay = { kind: 'live'; row: LiveRow } | { kind: 'batch'; batch: BatchRow; entry: BatchEntry }

/** Null: there is none, or it has ended. */
export function findUnderWay(store: MemoryStore, executionId: string): UnderWay | null {
  const row = store.live.get(executionId)
  if (row !== undefined) return { kind: 'live', row }
  const batch = store.batches.get(batchIdOf(executionId))
  const entry = batch === undefined ? undefined : findInBatch(batch, executionId)
  return entry === undefined ? null : { kind: 'batch', batch: batch!, entry }
}

export function findInBatch(batch: BatchRow, executionId: string): BatchEntry | undefined {
  return batch.entries.find(({ position }) => executionIdAt(batch.batchId, position) === executionId)
}

/**
 * Whether it is running, and so only about to end. If an execution is cancelled twice, the first cancel is on record.
 */
export function cancelUnderWay(store: MemoryStore, found: UnderWay, message: string): boolean {
  if (found.kind === 'batch') {
    const { batch, entry } = found
    if (batch.workerId === null) {
      store.removeEntry(batch, entry)
      recordAttempt(store, leaveBatch(store, batch, entry), null, cancelledEnd(store, message))
      return false
    }
    if (!batch.cancels.has(entry.position)) batch.cancels.set(entry.position, message)
    return true
  }
  const { row } = found
  if (!isRunning(found)) {
    store.deleteLive(row)
    recordAttempt(store, row, null, cancelledEnd(store, message))
    return false
  }
  if (row.cancelledAt === null) {
    const deadline = soonerForCancel(store.now(), row.deadline)
    store.changeLive(row, { cancelledAt: store.now(), cancelMessage: message, deadline })
  }
  return true
}

/** Returns the ones that ended at once. */
export function cancelAll(
  store: MemoryStore,
  wanted: readonly UnderWay[],
  message: string,
): SettledAttempt[] {
  const ended = wanted.filter((one) => !cancelUnderWay(store, one, message))
  return ended.map((one) => settledOf(store, executionIdOf(one)))
}

function executionIdOf(one: UnderWay): string {
  return one.kind === 'live' ? one.row.executionId : executionIdAt(one.batch.batchId, one.entry.position)
}

/** Every unended execution of the job, except the ones that wait for others of their run: they are left to the run. */
export function unendedOf({ live, batched }: JobRow): UnderWay[] {
  const inBatches = [...batched].map(([entry, batch]): UnderWay => ({ kind: 'batch', batch, entry }))
  const rows = live.values().filter(({ state }) => state !== 'blocked')
  const alone = rows.map((row): UnderWay => ({ kind: 'live', row }))
  return [...inBatches, ...alone]
}

/** Whether somebody has cancelled it already. */
export function isCancelled(found: UnderWay): boolean {
  return found.kind === 'batch'
    ? found.batch.cancels.has(found.entry.position)
    : found.row.cancelledAt !== null
}

/** Whether an attempt is under way: held by a worker, or of a target that will say how it ended. */
export function isRunning(found: UnderWay): boolean {
  if (found.kind === 'batch') return found.batch.workerId !== null
  return found.row.state === 'running' || found.row.state === 'awaiting'
}
