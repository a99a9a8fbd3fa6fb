// A worker in the same process that takes what is enqueued in the very transaction that enqueues it, so that whoever asks for an
// execution does not wait for a claim. Safe to do without: what nobody takes is claimed like everything else.
import type { Claimed } from './queue.ts'

export interface DirectDispatch {
  /** Keeps room for so many. Null: there is none, or nothing is to be taken now. */
  begin(count: number): Reservation | null
}

/** Whose what is taken is, and on which route. */
export interface DirectWorker {
  readonly workerId: string
  readonly route: string
}

export interface Reservation extends DirectWorker {
  /** Once, after the commit, with what was taken; null: it is not known what was. */
  end(claimed: Claimed | null): void
}
