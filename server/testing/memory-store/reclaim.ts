// Reclaims the executions of a lost worker, in memory: its attempts are recorded as lost and run elsewhere, or are dead
// after too many losses, or end because they had been cancelled.

import { fixedRoutes } from '../../src/domain/executors/list.ts'
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import type { Beat } from '../../src/domain/queue/lease-watch.ts'
import { lossesMax, workerLostMessage } from '../../src/domain/queue/retry.ts'
import { suspectHost } from '../../src/domain/queue/route.ts'
import { forgetWorker } from './forget-worker.ts'
import { atRest } from './insert-live.ts'
import { cancelledEnd, recordAttempt, settledOf } from './record-attempt.ts'
import type { LiveRow } from './rows.ts'
import { leaveClaimed } from './settle.ts'
import type { MemoryStore } from './store.ts'

const harmless = new Set(fixedRoutes(false))

/** Returns the attempts that it held. */
export function reclaim(store: MemoryStore, { holderId: workerId, beats }: Beat): SettledAttempt[] | 'alive' {
  const lease = store.leases.get(workerId)
  if (lease?.beats !== beats) return 'alive'
  const settled: SettledAttempt[] = []
  for (const batch of [...lease.batches]) {
    store.deleteBatch(batch)
    for (const entry of batch.entries) leaveClaimed(store, batch, entry)
  }
  for (const row of [...lease.live]) {
    const losses = row.losses + 1
    if (recordLost(store, { ...row, losses }, workerId)) store.deleteLive(row)
    else store.changeLive(row, { ...atRest, state: 'ready', losses, host: hostAfter(row) })
    settled.push(settledOf(store, row.executionId))
  }
  forgetWorker(store, lease, 'DEAD')
  return settled
}

/** An execution that was lost before and may have killed both its workers is from now on kept apart from others. */
function hostAfter({ route, host, losses }: LiveRow): string | null {
  return harmless.has(route) || losses === 0 ? host : suspectHost
}

/** Returns whether that is its end. */
function recordLost(store: MemoryStore, row: LiveRow, workerId: string): boolean {
  const { startedAt, cancelMessage } = row
  if (cancelMessage !== null) {
    recordAttempt(store, row, workerId, cancelledEnd(store, cancelMessage, { startedAt }))
    return true
  }
  const dead = row.losses >= lossesMax
  recordAttempt(store, row, workerId, {
    outcome: 'lost',
    startedAt,
    finishedAt: store.now(),
    durationMs: null,
    httpStatus: null,
    error: { type: 'WORKER_LOST', message: workerLostMessage },
    preview: null,
    final: dead,
    deadReason: dead ? 'WORKER_LOST' : null,
  })
  return dead
}
