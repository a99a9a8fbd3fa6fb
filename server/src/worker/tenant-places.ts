// The places of a worker by tenant: how many each has in flight, how many of its calls last, and how many ended quickly.
// `WorkerShares` decides by these counts. While only one tenant has jobs nothing is decided, and only executions in
// flight are counted.
//
// States: alone (all executions were of one tenant) or shared. A worker becomes shared with the first execution of a
// second tenant, before that one is put in flight, or when the store says that two tenants have jobs. Only the store's
// word makes it alone again.
//
// Invariants: the executions in flight of all tenants together are the executions of the worker; a tenant with nothing in
// flight is remembered for as long as its quick ends count, and no more than `tenantsMax` tenants are.
import { longMs, reservedOf, type TenantLoad, WorkerShares } from '../domain/queue/worker-shares.ts'
import type { HeldExecution } from './held-execution.ts'
import { RecentEndings } from './recent-endings.ts'

interface Places {
  inFlight: number
  /** Null: none has ended quickly while tenants shared the worker. */
  quickEndings: RecentEndings | null
}

export interface TenantPlacesOptions {
  /** Places of the worker, as configured. */
  capacity: number
  /** Whether there may be places besides the configured ones: see `measureExtra`. False for executions on this machine. */
  mayExceed: boolean
}

/** Below this part of the capacity no tenant can be at its bound. */
const unboundShare = 1 / 4
const tenantsMax = 10_000

export class TenantPlaces {
  readonly #options: TenantPlacesOptions
  readonly #tenants = new Map<string, Places>()
  #isShared = false
  /** The tenant of the first execution since the worker was last alone; null: there was none. */
  #first: string | null = null

  constructor(options: TenantPlacesOptions) {
    this.#options = options
  }

  get isShared(): boolean {
    return this.#isShared
  }

  /** Executions of these tenants are about to be in flight. */
  see(executions: readonly HeldExecution[]): void {
    if (this.#isShared) return
    for (const { prepared } of executions) {
      this.#first ??= prepared.tenantId
      if (prepared.tenantId === this.#first) continue
      this.#isShared = true
      return
    }
  }

  /** Two tenants or more have jobs. */
  share(): void {
    this.#isShared = true
  }

  /** One tenant has all jobs. */
  unshare(): void {
    this.#isShared = false
    this.#first = null
  }

  inFlight(tenantId: string): number {
    return this.#tenants.get(tenantId)?.inFlight ?? 0
  }

  add(tenantId: string): void {
    const places = this.#tenants.get(tenantId)
    if (places === undefined) this.#tenants.set(tenantId, { inFlight: 1, quickEndings: null })
    else places.inFlight += 1
  }

  remove(tenantId: string): void {
    const places = this.#tenants.get(tenantId)!
    places.inFlight -= 1
    if (places.inFlight > 0) return
    if (places.quickEndings === null || this.#tenants.size > tenantsMax) this.#tenants.delete(tenantId)
  }

  /** A call has ended, `heldMs` after its claim. */
  countEnd(tenantId: string, nowMs: number, heldMs: number): void {
    if (!this.#isShared || heldMs > longMs) return
    const places = this.#tenants.get(tenantId)
    if (places === undefined) return
    places.quickEndings ??= new RecentEndings(longMs)
    places.quickEndings.count(nowMs)
  }

  /** Forgets tenants that have nothing in flight and no quick ends that count. */
  forgetIdle(nowMs: number): void {
    for (const [tenantId, { inFlight, quickEndings }] of this.#tenants)
      if (inFlight === 0 && (quickEndings?.measure(nowMs) ?? 0) === 0) this.#tenants.delete(tenantId)
  }

  clear(): void {
    this.#tenants.clear()
  }

  /**
   * Places besides the configured ones: where a tenant took the last tenth while it was alone, there is another tenth for
   * the others. Only of calls: the number of commands is limited for the sake of the machine. `size`: executions in flight.
   */
  measureExtra(size: number): number {
    const { capacity, mayExceed } = this.#options
    const ownMax = capacity - reservedOf(capacity)
    if (!this.#isShared || !mayExceed || size <= ownMax) return 0
    let most = 0
    for (const { inFlight } of this.#tenants.values()) most = Math.max(most, inFlight)
    return Math.max(0, Math.min(most, capacity) - ownMax)
  }

  /**
   * The rooms of all tenants. Null: no bound applies, because one tenant has all jobs, or so little is in flight that `more`
   * executions fit in any case. `executions`: all in flight, in the order of their claims, nearly.
   */
  measureShares(
    executions: ReadonlySet<HeldExecution>,
    { more, nowMs }: { more: number; nowMs: number },
  ): WorkerShares | null {
    const { capacity } = this.#options
    const { size } = executions
    if (!this.#isShared || size + more <= capacity * unboundShare) return null
    const loads = new Map<string, TenantLoad>()
    for (const [tenantId, { inFlight, quickEndings }] of this.#tenants)
      loads.set(tenantId, { inFlight, long: 0, endedQuickly: quickEndings?.measure(nowMs) ?? 0 })
    for (const { claimedMs, status, prepared } of executions) {
      if (nowMs - claimedMs <= longMs) break
      if (status === 'running') loads.get(prepared.tenantId)!.long += 1
    }
    const free = capacity + this.measureExtra(size) - size
    return new WorkerShares({ capacity, free }, loads)
  }
}
