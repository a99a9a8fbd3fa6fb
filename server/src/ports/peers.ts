// The other workers that could run a worker's executions, and how much they hold. The answers are estimates that spread
// the load; they decide nothing else.
import type { PeerLoad } from '../domain/queue/spread.ts'

export interface Peers {
  /**
   * Workers of the same tenant with the same executors, handlers and labels, by id, at most `peersMax`. Without workers
   * that drain or have missed a heartbeat; empty when the worker itself is not registered.
   */
  find(workerId: string): Promise<string[]>
  /** The load of these workers, without workers that are gone, drain, have no room or have missed a heartbeat. */
  measure(workerIds: readonly string[], routes: readonly string[]): Promise<PeerLoad>
}
