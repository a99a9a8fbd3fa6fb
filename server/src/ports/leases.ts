// The worker's own side of its lease.
import type { Worker, WorkerStatus } from '../domain/queue/worker.ts'

export interface Leases {
  /**
   * Safe to repeat with the same id, as after a lost reply. 'too_many': its tenant has `tenantMax` workers, silent ones
   * included (default `workersPerTenantMax`); registrations at the same moment do not exceed it. There is no bound on ours.
   */
  register(worker: Worker, tenantMax?: number): Promise<'registered' | 'too_many'>
  /** 'lost': others have declared this incarnation dead; it must stop acting under this id. */
  beat(workerId: string, load: { status: WorkerStatus; currentLoad: number }): Promise<'held' | 'lost'>
  unregister(workerId: string): Promise<void>
}
