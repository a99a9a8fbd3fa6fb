// Claims outside the claim loop: one in the shared lane while a pass of the loop is in progress, and one for each direct
// dispatch. The next pass of the loop may be as far away as its floor, so a side claim that leaves work for it asks for
// a pass when it ends.
//
// Invariants: every side claim is counted in `ClaimReservations.sideClaims` from before it is sent until it has ended.
// It asks for a pass when the loop was short of room because of it, when it has become an unknown claim, or when a
// release of unknown claims waits for its end.
import type { ClaimReservations } from './claim-reservations.ts'
import type { UnknownClaims } from './unknown-claims.ts'

export interface SideClaimsDeps {
  /** Called when a side claim has left work for the claim loop: room to fill, or claims to release. */
  onClaimDue: () => void
}

export class SideClaims {
  readonly #deps: SideClaimsDeps
  readonly #reservations: ClaimReservations
  readonly #unknownClaims: UnknownClaims
  /** The last pass of the claim loop had less room than it could use, because of claims under way. */
  #isLoopShort = false

  constructor(deps: SideClaimsDeps, reservations: ClaimReservations, unknownClaims: UnknownClaims) {
    this.#deps = deps
    this.#reservations = reservations
    this.#unknownClaims = unknownClaims
  }

  setLoopShort(isLoopShort: boolean): void {
    this.#isLoopShort = isLoopShort
  }

  async run(claim: () => Promise<'more' | 'idle'>): Promise<'more' | 'idle'> {
    const unknownBefore = this.#unknownClaims.count
    this.#reservations.sideClaims += 1
    try {
      return await claim()
    } finally {
      this.#reservations.sideClaims -= 1
      const { count, isReconciling } = this.#unknownClaims
      if (this.#isLoopShort || count > unknownBefore || isReconciling) this.#deps.onClaimDue()
    }
  }
}
