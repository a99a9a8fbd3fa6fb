// Places of a server of which every tenant has a share, so that no tenant can take them all: one tenant has at most a
// quarter while another tenant exists, and one place in ten is kept for operators. Each process counts for itself.

export interface TenantSharesOptions {
  /** In all, at least 4. */
  placesMax: number
  /** Whether a second tenant exists. Asked only when a tenant has used up its quarter. */
  isShared: () => boolean
}

export interface PlaceHolder {
  tenantId: string
  /** Operators have every place, whichever tenant they act for. */
  operator: boolean
}

/** A place, or whose bound is reached. */
export type PlaceTaken = { kind: 'taken'; place: Place } | { kind: 'tenant_full' } | { kind: 'server_full' }

export interface Place {
  /** May be called more than once. */
  leave: () => void
}

export class TenantShares {
  readonly placesMax: number
  /** For one tenant, while another exists. */
  readonly shareMax: number
  /** For all tenants together. */
  readonly tenantsMax: number
  readonly #isShared: () => boolean
  /** By tenant with at least one place. Places of operators are not among them. */
  readonly #byTenant = new Map<string, number>()
  #ofTenants = 0
  #ofOperators = 0

  constructor({ placesMax, isShared }: TenantSharesOptions) {
    this.placesMax = placesMax
    this.shareMax = Math.floor(placesMax / 4)
    this.tenantsMax = placesMax - Math.ceil(placesMax / 10)
    this.#isShared = isShared
  }

  /** `count`: places that are taken as one. */
  take(holder: PlaceHolder, count = 1): PlaceTaken {
    const { tenantId, operator } = holder
    const isFull = this.#ofTenants + this.#ofOperators + count > this.placesMax
    if (!operator) {
      const ofTenant = (this.#byTenant.get(tenantId) ?? 0) + count
      if (ofTenant > this.shareMax && this.#isShared()) return { kind: 'tenant_full' }
    }
    if (isFull || (!operator && this.#ofTenants + count > this.tenantsMax)) return { kind: 'server_full' }
    return { kind: 'taken', place: this.hold(holder, count) }
  }

  /** Of things that are there already: never refused, and counted when others are taken. */
  hold({ tenantId, operator }: PlaceHolder, count: number): Place {
    if (operator) {
      this.#ofOperators += count
      return placeOf(() => this.#leaveOperator(count))
    }
    this.#ofTenants += count
    this.#byTenant.set(tenantId, (this.#byTenant.get(tenantId) ?? 0) + count)
    return placeOf(() => this.#leaveTenant(tenantId, count))
  }

  #leaveOperator(count: number): void {
    this.#ofOperators -= count
  }

  #leaveTenant(tenantId: string, count: number): void {
    this.#ofTenants -= count
    const left = this.#byTenant.get(tenantId)! - count
    if (left === 0) this.#byTenant.delete(tenantId)
    else this.#byTenant.set(tenantId, left)
  }
}

function placeOf(onLeave: () => void): Place {
  let isHeld = true
  const leave = () => {
    if (isHeld) onLeave()
    isHeld = false
  }
  return { leave }
}
