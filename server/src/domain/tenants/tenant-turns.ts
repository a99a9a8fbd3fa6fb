// Places that are waited for, such as the connections of a pool: while a second tenant exists, one tenant has at most its
// share of them, and a free place goes to the waiting tenant that holds the fewest. Tenants with as many take turns. Some
// places are kept for operators: they count as a tenant of their own with a right to all of them.
import { Unavailable } from '../../lib/unavailable.ts'
import type { PlaceHolder } from './tenant-shares.ts'

export interface TenantTurnsOptions {
  /** In all. */
  placesMax: number
  /** Of them, for operators only. */
  operatorPlaces: number
  /** For one tenant, while another exists. */
  shareMax: number
  /** Waiting for a place at most, in all; one tenant has a quarter of that while another exists. */
  waitingMax: number
  waitMsMax: number
  /** Names the places in the error of a caller that gets none: "the database". */
  of: string
  /** Whether a second tenant exists. Asked only when a tenant has used up its share. */
  isShared: () => boolean
  schedule: (ms: number, callback: () => void) => { cancel(): void }
}

/** No tenant has this id. */
const operators = 'operators'

/** Gives the place back; to be called once. */
export type LeavePlace = () => void

interface TenantOfTurns {
  isOperator: boolean
  held: number
  waiting: Set<() => void>
}

export class TenantTurns {
  readonly #options: TenantTurnsOptions
  /** With at least one place or one waiting call; the tenant that was served last is the last one. */
  readonly #tenants = new Map<string, TenantOfTurns>()
  #held = 0
  #heldByOperators = 0
  #waiting = 0

  constructor(options: TenantTurnsOptions) {
    this.#options = options
  }

  /** Rejects with Unavailable when too many wait, or when it was waited too long. */
  async take({ tenantId, operator: isOperator }: PlaceHolder): Promise<LeavePlace> {
    const key = isOperator ? operators : tenantId
    const tenant = this.#tenants.get(key) ?? { isOperator, held: 0, waiting: new Set() }
    this.#tenants.set(key, tenant)
    if (tenant.waiting.size > 0 || !this.#hasPlaceFor(tenant)) await this.#wait(key, tenant)
    else this.#hold(tenant, 1)
    return () => {
      this.#hold(tenant, -1)
      this.#serve()
      this.#forget(key, tenant)
    }
  }

  #hasPlaceFor({ isOperator, held }: TenantOfTurns): boolean {
    const { placesMax, operatorPlaces, shareMax, isShared } = this.#options
    if (this.#held >= placesMax) return false
    if (isOperator) return true
    const heldByTenants = this.#held - this.#heldByOperators
    return heldByTenants < placesMax - operatorPlaces && (held < shareMax || !isShared())
  }

  #hold(tenant: TenantOfTurns, change: 1 | -1): void {
    tenant.held += change
    this.#held += change
    if (tenant.isOperator) this.#heldByOperators += change
  }

  /** Holds a place when it resolves. */
  #wait(tenantId: string, tenant: TenantOfTurns): Promise<void> {
    const { waitingMax, waitMsMax, of, isShared, schedule } = this.#options
    const isFull = !tenant.isOperator && tenant.waiting.size >= waitingMax / 4 && isShared()
    if (isFull || this.#waiting >= waitingMax) {
      this.#forget(tenantId, tenant)
      return Promise.reject(new Unavailable(of))
    }
    return new Promise((resolve, reject) => {
      const end = () => {
        timer.cancel()
        tenant.waiting.delete(serve)
        this.#waiting -= 1
      }
      const serve = () => {
        end()
        this.#hold(tenant, 1)
        resolve()
      }
      const timer = schedule(waitMsMax, () => {
        end()
        this.#forget(tenantId, tenant)
        reject(new Unavailable(of))
      })
      tenant.waiting.add(serve)
      this.#waiting += 1
    })
  }

  #serve(): void {
    while (this.#waiting > 0) {
      let next: [string, TenantOfTurns] | null = null
      for (const one of this.#tenants) {
        const [, tenant] = one
        const isFirst = tenant.waiting.size > 0 && (next === null || tenant.held < next[1].held)
        if (isFirst && this.#hasPlaceFor(tenant)) next = one
      }
      if (next === null) return
      const [tenantId, tenant] = next
      this.#tenants.delete(tenantId)
      this.#tenants.set(tenantId, tenant)
      const [serve] = tenant.waiting
      serve!()
    }
  }

  #forget(tenantId: string, { held, waiting }: TenantOfTurns): void {
    if (held === 0 && waiting.size === 0) this.#tenants.delete(tenantId)
  }
}
