// Claim on insert: a worker in the same process claims an execution in the very transaction that enqueues it, so that the
// execution does not wait for the claim loop. It is an optimisation: the loop claims every execution that was not claimed so.
import type { Claimed } from './queue.ts'

export interface DirectDispatch {
  /**
   * Reserves room for `count` executions of these tenants. Null: the worker has no room, one of the tenants is at its share
   * of the worker, or the worker may not claim now.
   */
  reserve(count: number, tenantIds: readonly string[]): Reservation | null
}

/** The worker that claims on insert, and the route of the executions that it may claim. */
export interface DirectWorker {
  readonly workerId: string
  readonly route: string
}

export interface Reservation extends DirectWorker {
  /** Called once, after the commit, with the claimed executions; null: the outcome of the transaction is not known. */
  end(claimed: Claimed | null): void
}
