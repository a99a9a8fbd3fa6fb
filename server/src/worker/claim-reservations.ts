// Arithmetic of a worker's claims under way: how much of its capacity they may still fill. It holds four counters and
// decides nothing else; `Claimer`, `ClaimIntake` and `WorkerDirectDispatch` change them.
//
//   requested   executions that claims under way ask for at most, until their answer is in flight or given up
//   reserved    the part of `requested` that is being enqueued for this worker by a direct dispatch
//   sideClaims  claims in progress outside the claim loop: one in the shared lane, and one for each reservation
//   hydrating   answered claims with executions that are not in flight yet
//
// Invariants: no counter is below zero; `reserved` is at most `requested`; nothing is requested beyond
// `capacity - size`, so the executions in flight never exceed the capacity, however the answers interleave.
import { batchExecutionsMax } from '../domain/queue/execution.ts'

/** The load of a worker: how many executions it may have in flight, and how many it has. */
export interface Load {
  readonly capacity: number
  readonly size: number
}

/** Direct dispatches may reserve this much at once. The claim loop has the rest of the room, however long they take. */
const reservedMax = batchExecutionsMax

export class ClaimReservations {
  requested = 0
  reserved = 0
  sideClaims = 0
  hydrating = 0

  /** Capacity that is neither in use nor asked for by a claim under way. */
  unrequested({ capacity, size }: Load): number {
    return capacity - size - this.requested
  }

  /** Whether a direct dispatch may reserve `count` more. `room`: how many more the worker may claim now. */
  mayReserve(count: number, load: Load, room: number): boolean {
    return Math.min(Math.min(reservedMax, room) - this.reserved, this.unrequested(load)) >= count
  }
}
