// Claims on insert: an execution that is enqueued in the worker's own process is claimed by the transaction that
// enqueues it, so the caller does not wait for a pass of the claim loop. The worker reserves room before the
// transaction, and puts the claimed executions in flight after it.
//
// States of a reservation: reserved (the transaction is under way) -> ended, with the claimed executions, or with null
// when the outcome of the transaction is not known; that is an unknown claim, which the next pass releases.
// Invariants: nothing is reserved without a lease, while the worker drains, or while unknown claims are reconciled; nor
// beyond the worker's share when others like it could claim the execution; nor for a tenant that is at its own share of
// the worker, or runs as many executions as its tier lets run at once.
import { serverRoute } from '../domain/queue/route.ts'
import type { DirectDispatch, Reservation } from '../ports/direct-dispatch.ts'
import type { Claimed } from '../ports/queue.ts'
import type { ClaimIntake } from './claim-intake.ts'
import type { ClaimReservations } from './claim-reservations.ts'
import type { ClaimSpread } from './claim-spread.ts'
import type { InFlight } from './in-flight.ts'
import type { SideClaims } from './side-claims.ts'
import type { TenantLimits } from './tenant-limits.ts'
import type { UnknownClaims } from './unknown-claims.ts'

export interface DirectDispatchDeps {
  inFlight: Pick<InFlight, 'capacity' | 'size' | 'measureRoom' | 'measureShares' | 'tenants'>
  tenantLimits: Pick<TenantLimits, 'concurrency'>
  /** Null: no lease is held; nothing is reserved. */
  workerId: () => string | null
  isDraining: () => boolean
}

interface ClaimParts {
  reservations: ClaimReservations
  unknownClaims: UnknownClaims
  intake: ClaimIntake
  sideClaims: SideClaims
  spread: ClaimSpread
}

export class WorkerDirectDispatch implements DirectDispatch {
  readonly #deps: DirectDispatchDeps
  readonly #parts: ClaimParts

  constructor(deps: DirectDispatchDeps, parts: ClaimParts) {
    this.#deps = deps
    this.#parts = parts
  }

  reserve(count: number, tenantIds: readonly string[]): Reservation | null {
    const { inFlight, isDraining } = this.#deps
    const { reservations, unknownClaims, intake, sideClaims, spread } = this.#parts
    const workerId = this.#deps.workerId()
    if (workerId === null || isDraining() || unknownClaims.isReconciling) return null
    if (!reservations.mayReserve(count, inFlight, inFlight.measureRoom())) return null
    if (spread.unmeasuredShare < count) return null
    const shares = inFlight.measureShares(count)
    if (shares !== null && tenantIds.some((tenantId) => shares.roomOf(tenantId) === 0)) return null
    if (this.#isBeyondLimit(tenantIds)) return null
    const { promise: answer, resolve: end } = Promise.withResolvers<Claimed | null>()
    reservations.reserved += count
    const admitted = sideClaims.run(() => intake.admit(answer, { workerId, requested: count }))
    // A failure has been noted as an unknown claim by now, and the next pass releases it.
    admitted
      .catch(() => {})
      .finally(() => {
        reservations.reserved -= count
      })
    return { workerId, route: serverRoute, end }
  }

  #isBeyondLimit(tenantIds: readonly string[]): boolean {
    const { inFlight, tenantLimits } = this.#deps
    const { concurrency } = tenantLimits
    if (!concurrency.isLimited) return false
    return tenantIds.some((tenantId) => {
      const room = concurrency.roomOf(tenantId, inFlight.tenants.inFlight(tenantId))
      return room === 0 || concurrency.isBehindOf(tenantId)
    })
  }
}
