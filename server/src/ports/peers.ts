// The other workers that could run a worker's executions, and how much they hold. The answers are estimates that spread
// the load and divide a tenant's limit among workers; they decide nothing else.
import type { RunningElsewhere } from '../domain/queue/concurrency-limits.ts'
import type { PeerLoad } from '../domain/queue/spread.ts'

export interface Peers {
  /**
   * Workers of the same tenant with the same executors, handlers and labels, by id, at most `peersMax`. Without workers
   * that drain or have missed a heartbeat; empty when the worker itself is not registered.
   */
  find(workerId: string): Promise<string[]>
  /**
   * Workers of ours that call targets, with the same executors and any labels; otherwise as `find`. Empty for a worker that
   * does not.
   */
  findCallers(workerId: string): Promise<string[]>
  /** The load of these workers, without workers that are gone, drain, have no room or have missed a heartbeat. */
  measure(workerIds: readonly string[], routes: readonly string[]): Promise<PeerLoad>
  /**
   * Executions of these tenants that run at other workers than these, or were called by others and are awaited; the awaited
   * ones that the first of these workers called are counted apart. Without the ones that our workers claimed within the last moments.
   * Tenants with none are left out. At most 1,000 tenants at once.
   */
  countRunning(tenantIds: readonly string[], workerIds: readonly string[]): Promise<RunningOfTenant[]>
}

export interface RunningOfTenant extends RunningElsewhere {
  tenantId: string
}
