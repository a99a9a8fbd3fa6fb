// Reconciles the worker's claims with the store's: the store may hold executions for this worker that the worker does
// not know of, as after a claim with a lost answer. They are released, unstarted, before the next claim.
//
// States: certain (no unknown claim is counted), uncertain (at least one is), reconciling (a release is due or under
// way). The claim loop moves it: each pass calls `releaseUnknown` first.
// Invariants: while it is reconciling, no side claim begins, because its executions would be released as
// unknown; a release waits until the last such claim is over; an unknown claim that is noted while a release is under
// way stays counted for the next one.
import type { Clock } from '../ports/clock.ts'
import type { Queue } from '../ports/queue.ts'
import type { ClaimReservations } from './claim-reservations.ts'
import type { InFlight } from './in-flight.ts'

export interface UnknownClaimsDeps {
  clock: Pick<Clock, 'monotonicMs'>
  queue: Pick<Queue, 'releaseUnknown'>
  inFlight: Pick<InFlight, 'executionIds'>
}

/**
 * How often we release without an unknown claim on count: the store may carry out a claim long after we gave it up and
 * released its executions. Nobody would run them, and their time would be over without a call.
 */
const releaseEveryMs = 10_000

export class UnknownClaims {
  readonly #deps: UnknownClaimsDeps
  readonly #reservations: ClaimReservations
  /** Counted, because another one may come while one is being dealt with. */
  #count = 0
  #isReconciling = false
  /** When we last released, on the monotonic clock; null: not yet. */
  #releasedMs: number | null = null

  constructor(deps: UnknownClaimsDeps, reservations: ClaimReservations) {
    this.#deps = deps
    this.#reservations = reservations
  }

  get count(): number {
    return this.#count
  }

  get isReconciling(): boolean {
    return this.#isReconciling
  }

  note(): void {
    this.#count += 1
  }

  /** Releases the executions that the store holds for this worker and that are not in flight, when that is due. */
  async releaseUnknown(workerId: string): Promise<void> {
    const { queue, inFlight, clock } = this.#deps
    const nowMs = clock.monotonicMs()
    const count = this.#count
    this.#releasedMs ??= nowMs
    if (count === 0 && nowMs - this.#releasedMs < releaseEveryMs) return
    this.#isReconciling = true
    // The executions of side claims are not known yet. No side claim begins meanwhile, and a pass follows the last one.
    if (this.#reservations.sideClaims > 0) return
    try {
      await queue.releaseUnknown(workerId, inFlight.executionIds())
    } finally {
      this.#isReconciling = false
    }
    this.#releasedMs = nowMs
    this.#count -= count
  }
}
