// What happens in memory to what a lost worker held: its attempts are recorded as lost and run elsewhere, or are dead
// after too many losses.
import type { Beat } from '../../domain/lease-watch.ts'
import { lossesMax, workerLostMessage } from '../../domain/retry.ts'
import { leaveBatch, recordAttempt } from './record-attempt.ts'
import type { LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

export function reclaim(store: MemoryStore, { workerId, beats }: Beat): 'reclaimed' | 'alive' {
  const lease = store.leases.get(workerId)
  if (lease?.beats !== beats) return 'alive'
  for (const batch of [...lease.batches]) {
    store.deleteBatch(batch)
    for (const entry of batch.entries) {
      const row = { ...leaveBatch(store, batch, entry), attempt: 1, losses: 1 }
      recordLost(store, row, workerId)
      store.addLive(row)
    }
  }
  for (const row of [...lease.live]) {
    const losses = row.losses + 1
    recordLost(store, { ...row, losses }, workerId)
    if (losses >= lossesMax) store.deleteLive(row)
    else store.changeLive(row, { state: 'ready', workerId: null, startedAt: null, losses })
  }
  store.leases.delete(workerId)
  return 'reclaimed'
}

function recordLost(store: MemoryStore, row: LiveRow, workerId: string): void {
  const dead = row.losses >= lossesMax
  recordAttempt(store, row, workerId, {
    outcome: 'lost',
    startedAt: row.startedAt,
    finishedAt: store.now(),
    durationMs: null,
    httpStatus: null,
    error: { type: 'WORKER_LOST', message: workerLostMessage },
    preview: null,
    final: dead,
    deadReason: dead ? 'WORKER_LOST' : null,
  })
}
