// Removes a worker in memory and remembers it for people, as long as its tenant has not too many such.
import { type FormerStatus, formerWorkersMax, shownMs } from '../../src/domain/queue/worker.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import type { LeaseRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

export function forgetWorker(store: MemoryStore, lease: LeaseRow, status: FormerStatus): void {
  const { leases, formerWorkers } = store
  const { beats: _beats, batches: _batches, live: _live, ...worker } = lease
  leases.delete(worker.workerId)
  const alike = [...formerWorkers.values()].filter(
    (one) => one.tenantId === worker.tenantId && one.status === status,
  )
  if (alike.length >= formerWorkersMax[status]) return
  const endedAt = store.now()
  const shownUntil = epochMs(endedAt + shownMs[status])
  formerWorkers.set(worker.workerId, { ...worker, status, currentLoad: 0, endedAt, shownUntil })
}
