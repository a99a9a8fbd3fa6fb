// Ends an attempt in flight, in memory: one implementation for all reporters of the end, the worker that runs it, a
// target that was called, and maintenance.
import type { AttemptEnd } from '../../src/domain/queue/attempt.ts'
import { suspectHost } from '../../src/domain/queue/route.ts'
import type { Ending } from '../../src/ports/queue.ts'
import { silentAtOf, soonerForCancel } from './deadlines.ts'
import { atRest } from './insert-live.ts'
import { cancelledEnd, leaveBatch, recordAttempt } from './record-attempt.ts'
import type { BatchEntry, BatchRow, LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

/** The position of a claimed batch becomes a row that its worker holds. The batch itself is left as it is. */
export function leaveClaimed(store: MemoryStore, batch: BatchRow, entry: BatchEntry): LiveRow {
  const cancelMessage = batch.cancels.get(entry.position) ?? null
  const row: LiveRow = {
    ...leaveBatch(store, batch, entry),
    state: 'running',
    workerId: batch.workerId,
    attempt: 1,
    startedAt: batch.claimedAt,
    cancelledAt: cancelMessage === null ? null : store.now(),
    cancelMessage,
  }
  store.addLive(row)
  return row
}

/** Takes one position out of a claimed batch; the others stay. */
export function takeOut(store: MemoryStore, batch: BatchRow, entry: BatchEntry): LiveRow {
  const row = leaveClaimed(store, batch, entry)
  store.removeEntry(batch, entry)
  batch.cancels.delete(entry.position)
  return row
}

/** Returns whether it ended CANCELLED. */
export function settle(store: MemoryStore, row: LiveRow, ending: Ending): 'cancelled' | null {
  if (ending.kind === 'running' || ending.kind === 'awaiting') {
    stay(store, row, ending)
    return null
  }
  if (row.cancelMessage !== null) {
    // The target's response stays on the attempt, and changes nothing.
    const said = ending.kind === 'ended' ? ending.end : {}
    store.deleteLive(row)
    recordAttempt(store, row, holderOf(row), cancelledEnd(store, row.cancelMessage, said))
    return 'cancelled'
  }
  if (ending.kind === 'unstarted') handBack(store, row, ending)
  else endAttempt(store, row, ending.end)
  return null
}

function stay(
  store: MemoryStore,
  row: LiveRow,
  { kind, startedAt, deadline }: Extract<Ending, { kind: 'running' | 'awaiting' }>,
): void {
  const by = row.cancelledAt === null ? deadline : soonerForCancel(row.cancelledAt, deadline)
  const holder =
    kind === 'running'
      ? { state: 'running' as const }
      : {
          state: 'awaiting' as const,
          callerId: row.workerId,
          workerId: null,
          silentAt: silentAtOf(store, row),
        }
  store.changeLive(row, { ...holder, startedAt, deadline: by })
}

/** No attempt was spent; the rank is kept. One that may have killed its worker stays apart from others. */
function handBack(
  store: MemoryStore,
  row: LiveRow,
  { host, toOwnLane = false }: Extract<Ending, { kind: 'unstarted' }>,
): void {
  const waitsFor = row.host === suspectHost ? suspectHost : host
  const lane = toOwnLane ? row.tenantId : row.lane
  store.changeLive(row, { ...atRest, state: 'ready', attempt: row.attempt - 1, host: waitsFor, lane })
}

function endAttempt(store: MemoryStore, row: LiveRow, end: AttemptEnd): void {
  const { retryAt } = end
  recordAttempt(store, row, holderOf(row), { ...end, final: retryAt === null })
  if (retryAt === null) store.deleteLive(row)
  else {
    const losses = row.losses + (end.outcome === 'lost' ? 1 : 0)
    store.changeLive(row, { ...atRest, state: 'retrying', host: null, readyAt: retryAt, losses })
  }
}

/** The worker that holds the attempt; null: it is between attempts. */
function holderOf({ workerId, callerId }: LiveRow): string | null {
  return workerId ?? callerId
}
