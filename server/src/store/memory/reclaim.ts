// What happens in memory to what a lost worker held: its attempts are recorded as lost and run elsewhere, or are dead
// after too many losses, or end because somebody had cancelled them.
import type { Beat } from '../../domain/lease-watch.ts'
import { lossesMax, workerLostMessage } from '../../domain/retry.ts'
import { cancelledEnd, leaveBatch, recordAttempt } from './record-attempt.ts'
import type { LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

export function reclaim(store: MemoryStore, { workerId, beats }: Beat): 'reclaimed' | 'alive' {
  const lease = store.leases.get(workerId)
  if (lease?.beats !== beats) return 'alive'
  for (const batch of [...lease.batches]) {
    store.deleteBatch(batch)
    for (const entry of batch.entries) {
      const row = { ...leaveBatch(store, batch, entry), attempt: 1, losses: 1 }
      const cancelMessage = batch.cancels.get(entry.position) ?? null
      if (!recordLost(store, { ...row, cancelMessage }, workerId)) store.addLive(row)
    }
  }
  for (const row of [...lease.live]) {
    const losses = row.losses + 1
    if (recordLost(store, { ...row, losses }, workerId)) store.deleteLive(row)
    else store.changeLive(row, { state: 'ready', workerId: null, startedAt: null, losses })
  }
  store.leases.delete(workerId)
  return 'reclaimed'
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
