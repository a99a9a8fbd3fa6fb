// The worker's own side of its lease.
import type { Worker, WorkerStatus } from '../domain/queue/worker.ts'

export interface Leases {
  /** Safe to repeat with the same id, as after a lost reply. */
  register(worker: Worker): Promise<void>
  /** 'lost': others have declared this incarnation dead; it must stop acting under this id. */
  beat(workerId: string, load: { status: WorkerStatus; currentLoad: number }): Promise<'held' | 'lost'>
  unregister(workerId: string): Promise<void>
}
