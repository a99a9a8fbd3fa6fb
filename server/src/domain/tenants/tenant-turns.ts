// Places that are waited for, such as the connections of a pool: while a second tenant exists, one tenant has at most its
// share of them, and a free place goes to the waiting tenant that holds the fewest. Tenants with as many take turns.
import { Unavailable } from '../../lib/unavailable.ts'

export interface TenantTurnsOptions {
  /** For all tenants together. */
  placesMax: number
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

/** Gives the place back; to be called once. */
export type LeavePlace = () => void

interface TenantOfTurns {
  held: number
  waiting: Set<() => void>
}

export class TenantTurns {
  readonly #options: TenantTurnsOptions
  /** With at least one place or one waiting call; the tenant that was served last is the last one. */
  readonly #tenants = new Map<string, TenantOfTurns>()
  #held = 0
  #waiting = 0

  constructor(options: TenantTurnsOptions) {
    this.#options = options
  }

  /** Rejects with Unavailable when too many wait, or when it was waited too long. */
  async take(tenantId: string): Promise<LeavePlace> {
    const tenant = this.#tenants.get(tenantId) ?? { held: 0, waiting: new Set() }
    this.#tenants.set(tenantId, tenant)
    if (tenant.waiting.size > 0 || !this.#hasPlaceFor(tenant)) await this.#wait(tenantId, tenant)
    else this.#hold(tenant)
    return () => {
      tenant.held -= 1
      this.#held -= 1
      this.#serve()
      this.#forget(tenantId, tenant)
    }
  }

  #hasPlaceFor({ held }: TenantOfTurns): boolean {
    const { placesMax, shareMax, isShared } = this.#options
    return this.#held < placesMax && (held < shareMax || !isShared())
  }

  #hold(tenant: TenantOfTurns): void {
    tenant.held += 1
    this.#held += 1
  }

  /** Holds a place when it resolves. */
  #wait(tenantId: string, tenant: TenantOfTurns): Promise<void> {
    const { waitingMax, waitMsMax, of, isShared, schedule } = this.#options
    const isFull = tenant.waiting.size >= waitingMax / 4 && isShared()
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
        this.#hold(tenant)
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
