// Claim on insert: a worker in the same process claims an execution in the very transaction that enqueues it, so that the
// caller does not wait for the claim loop. Safe to do without: an execution that is not claimed so is claimed by the loop.
import type { Claimed } from './queue.ts'

export interface DirectDispatch {
  /** Keeps room for `count` executions. Null: there is none, or nothing is to be claimed now. */
  reserve(count: number): Reservation | null
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
