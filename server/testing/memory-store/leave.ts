// Leaving a claimed batch, in memory: a running execution becomes a row that has a deadline.
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import { deadlineFrom, soonerForCancel } from './deadlines.ts'
import type { LiveRow } from './rows.ts'
import { takeOut } from './settle.ts'
import type { MemoryStore } from './store.ts'

/** Our own workers and workers that beat have ended or left a batch long before. */
const forgottenMs = 60_000
const prunedMax = 50

/** `row`: as it was taken out of its batch; `start`: of its time. */
export function leaveRunning(store: MemoryStore, row: LiveRow, start: EpochMs): LiveRow {
  const deadline = deadlineFrom(store, row, start)
  const by = row.cancelledAt === null ? deadline : soonerForCancel(row.cancelledAt, deadline)
  store.changeLive(row, { deadline: by })
  return row
}

/** Moves executions out of batches on which nothing was reported since their claim. */
export function leaveForgotten(store: MemoryStore): void {
  const before = epochMs(store.now() - forgottenMs)
  const forgotten = [...store.leases.values()]
    .flatMap(({ batches }) => [...batches].filter(({ claimedAt }) => claimedAt! <= before))
    .toSorted((a, b) => a.claimedAt! - b.claimedAt!)
  for (const batch of forgotten.slice(0, prunedMax)) {
    for (const entry of batch.entries) leaveRunning(store, takeOut(store, batch, entry), batch.claimedAt!)
  }
}
