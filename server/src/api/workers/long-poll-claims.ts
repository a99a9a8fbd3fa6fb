// Holds claims of SDK workers until there is something to run. One query serves all waiting claims: it finds the routes
// of their handlers that have work, then each worker that could take it claims: tenants in turn (claim-turns.ts), the
// workers of a tenant in order of arrival, each within a limit and a share (take-claim.ts). Nothing held here would be missed by another process: claimed executions are
// held in the store, under the worker's name.
import { handlerRoutePrefix, hasLabelsFor, tenantOfRoute } from '../../domain/executors/worker.ts'
import { waitingCountMax } from '../../domain/queue/spread.ts'
import { type Place, TenantShares } from '../../domain/tenants/tenant-shares.ts'
import type { Claimed } from '../../ports/queue.ts'
import type { Routes } from '../../ports/routes.ts'
import type { Timer, Timers } from '../../ports/timers.ts'
import type { WakeupSource } from '../../ports/wakeup.ts'
import { takePlace } from '../http/take-place.ts'
import { ClaimLimits, type ClaimLimitsDeps } from './claim-limits.ts'
import { ClaimShares } from './claim-shares.ts'
import { ClaimTurns, groupsInTurn } from './claim-turns.ts'
import { nothing, sizeOf, TakeClaim, type TakeClaimDeps } from './take-claim.ts'

export interface LongPollDeps extends ClaimLimitsDeps, Pick<TakeClaimDeps, 'queue' | 'attempts'> {
  timers: Timers
  routes: Routes
  wakeup: WakeupSource
  isStopping: () => boolean
  /** Whether a second tenant exists. */
  isShared: () => boolean
}

export interface ClaimWish {
  worker: { workerId: string; tenantId: string; handlers: readonly string[]; labels: readonly string[] }
  /** Whether its key is an operator's. */
  operator: boolean
  /** Executions of the tenant that may run at once, by its tier. Null: no limit. */
  concurrentMax: number | null
  /** Executions, at most. */
  limit: number
  /** How long to wait when there is nothing. */
  waitMs: number
  /** The client is gone: nothing is claimed for it any more. */
  signal: AbortSignal
  /** It went away while its claim was under way. */
  onUnclaimed: (claimed: Claimed) => void
}

/** Every worker that a single tenant may have (10,000), at one server, beside the tenth that is kept for operators. */
export const parkedMax = 12_000
/** The floor: a hint that was lost costs at most this. */
const lookEveryMs = 1_000
/** Claims under way at once: more would only wait for each other in the database. */
const claimsAtOnceMax = 4
const prefixesPerQuery = 2_000
/** Claims in one look before it is cut short for tenants that came, or have work, since it began. */
const claimsPerLookMin = 32
/** Maximum sets of labels that are queried for each handler. */
const routesPerHandlerMax = 200
/** Routes in one claim; of more, it is another part's turn each time. */
const routesMax = 256
/** Parked claims that are looked at to count the workers that wait for the same. */
const parkedLooksMax = 1_000

interface Parked {
  wish: ClaimWish
  place: Place
  /** Grows with each arrival, and with each claim that found nothing although something waited. */
  arrival: number
  prefixes: readonly string[]
  labels: ReadonlySet<string>
  untilMs: number
  /** Its worker has reported results since its claim began. */
  hasRoom: boolean
  resolve: (claimed: Claimed) => void
  reject: (error: unknown) => void
}

/** One look at all that is parked. */
interface Look {
  /** The routes that have something, by their prefix. */
  routes: Map<string, string[]>
  /** Sets of routes in which nothing is left. */
  empty: Set<string>
  /** Claims sent to the store. */
  claims: number
  shares: ClaimShares
}

export class LongPollClaims {
  readonly #deps: LongPollDeps
  readonly #limits: ClaimLimits
  readonly #takes: TakeClaim
  /** In order of arrival, the first in front. */
  readonly #parked = new Set<Parked>()
  /** The same by worker: each has one. */
  readonly #byWorker = new Map<string, Parked>()
  readonly #shares: TenantShares
  /** The same by tenant and by the prefixes of their routes: a look has nothing to do with the others. */
  readonly #byTenant = new Map<string, Map<string, Set<Parked>>>()
  /** By worker with a parked claim: it was full, and is not asked about before this time or until it reports. */
  readonly #fullUntilMs = new Map<string, number>()
  /** Claims under way. */
  readonly #serving = new Set<Parked>()
  #arrivals = 0
  #isLooking = false
  #lookAgain = false
  #isClosed = false
  #timer: Timer | null = null
  #turn = 0
  #looks = 0

  constructor(deps: LongPollDeps) {
    this.#deps = deps
    this.#shares = new TenantShares({ placesMax: parkedMax, isShared: deps.isShared })
    this.#limits = new ClaimLimits(deps)
    this.#takes = new TakeClaim({ ...deps, limits: this.#limits })
    deps.wakeup.on('queue', () => this.#wake())
  }

  get parked(): number {
    return this.#parked.size
  }

  /**
   * Resolves with the claimed executions, or with nothing when the time is over. A worker has one claim here: a later
   * one ends the one before with nothing. The later one is the one to keep, as the connection of a worker that
   * reconnects may have broken without our knowing, and the claim on it would take executions that never arrive.
   */
  claim(wish: ClaimWish): Promise<Claimed> {
    if (this.#isClosed || wish.signal.aborted) return Promise.resolve(nothing)
    const former = this.#byWorker.get(wish.worker.workerId)
    if (former !== undefined) this.#settle(former, nothing)
    const holder = { tenantId: wish.worker.tenantId, operator: wish.operator }
    const place = takePlace(this.#shares, holder, 'claims waiting')
    const { promise, resolve, reject } = Promise.withResolvers<Claimed>()
    const { tenantId, handlers, labels } = wish.worker
    const parked: Parked = {
      wish,
      place,
      arrival: this.#arrivals++,
      prefixes: handlers.map((handler) => handlerRoutePrefix(tenantId, handler)),
      labels: new Set(labels),
      untilMs: this.#deps.clock.monotonicMs() + wish.waitMs,
      hasRoom: false,
      resolve,
      reject,
    }
    this.#park(parked)
    wish.signal.addEventListener('abort', () => this.#settle(parked, nothing), { once: true })
    this.#wake()
    return promise
  }

  /** The worker has reported results, so that a claim that waits, of it or of another of its tenant, may be served. */
  noteRoom({ workerId, tenantId }: { workerId: string; tenantId: string }): void {
    for (const parked of this.#serving) if (parked.wish.worker.workerId === workerId) parked.hasRoom = true
    const isAwaited = this.#limits.noteReport(tenantId)
    if (this.#fullUntilMs.delete(workerId) || isAwaited) this.#wake()
  }

  /** Everybody is sent away with nothing. */
  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    for (const parked of this.#parked) this.#settle(parked, nothing)
  }

  #wake(): void {
    if (this.#parked.size === 0) return
    if (this.#isLooking) this.#lookAgain = true
    else void this.#lookWhileAsked()
  }

  async #lookWhileAsked(): Promise<void> {
    this.#isLooking = true
    this.#timer?.cancel()
    do {
      this.#lookAgain = false
      await this.#look([...this.#parked])
    } while (this.#lookAgain && this.#parked.size > 0)
    this.#isLooking = false
    if (this.#parked.size > 0 && !this.#isClosed) this.#lookLater()
  }

  #lookLater(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    let waitMs = Math.min(lookEveryMs, this.#limits.waitMs ?? lookEveryMs)
    for (const { untilMs } of this.#parked) waitMs = Math.min(waitMs, untilMs - nowMs)
    this.#timer = this.#deps.timers.schedule(Math.max(0, waitMs), () => this.#wake())
  }

  async #look(group: readonly Parked[]): Promise<void> {
    // Claims that have run out of time by now are answered when this poll ends.
    const nowMs = this.#deps.clock.monotonicMs()
    if (this.#deps.isStopping()) {
      for (const parked of group) this.#settle(parked, nothing)
      return
    }
    try {
      const shares = new ClaimShares(this.#deps.routes)
      const look: Look = { routes: new Map(), empty: new Set(), claims: 0, shares }
      const turn = this.#looks++
      for (const prefixes of groupsInTurn(this.#byTenant.values(), { groupMax: prefixesPerQuery, turn })) {
        const found = await this.#findRoutes(prefixes, look)
        await this.#limits.load(limitsOf(found))
        await this.#serveAll(found, look)
        if (this.#lookAgain && this.#byTenant.size > 1) break
      }
    } catch (error) {
      for (const parked of group) this.#refuse(parked, error)
    }
    for (const parked of group) if (parked.untilMs <= nowMs) this.#settle(parked, nothing)
  }

  /** Returns the claims that could be served, in order of arrival. */
  async #findRoutes(prefixes: readonly string[], { routes }: Look): Promise<Parked[]> {
    const found = new Set<Parked>()
    for (const route of await this.#deps.routes.findWaiting(prefixes, routesPerHandlerMax)) {
      const prefix = prefixOf(route)
      const known = routes.get(prefix)
      if (known !== undefined) {
        known.push(route)
        continue
      }
      routes.set(prefix, [route])
      for (const parked of this.#byTenant.get(tenantOfRoute(route))?.get(prefix) ?? []) found.add(parked)
    }
    return [...found].toSorted((a, b) => a.arrival - b.arrival)
  }

  async #serveAll(claims: readonly Parked[], look: Look): Promise<void> {
    const turns = new ClaimTurns(claims, ({ wish }) => wish.worker.tenantId)
    // Of a look that serves thousands of workers of a tenant, others must not wait for the end.
    const isCutShort = () =>
      look.claims >= claimsPerLookMin && this.#lookAgain && turns.waitingTenants < this.#byTenant.size
    const serve = async () => {
      while (!isCutShort()) {
        const turn = turns.next()
        if (turn === null) return
        await this.#serve(turn.claim, look)
        turn.leave()
      }
    }
    await Promise.all(Array.from({ length: claimsAtOnceMax }, serve))
  }

  async #serve(parked: Parked, look: Look): Promise<void> {
    const { workerId } = parked.wish.worker
    if ((this.#fullUntilMs.get(workerId) ?? 0) > this.#deps.clock.monotonicMs()) return
    const routes = this.#chooseRoutes(parked, look)
    const key = routes.join('\n')
    // Of a hundred workers with the same handler, the ones that come too late need not query one by one.
    if (routes.length === 0 || look.empty.has(key) || !this.#parked.has(parked)) return
    parked.hasRoom = false
    look.claims += 1
    this.#serving.add(parked)
    try {
      const share = look.shares.of(routes, () => this.#countParked(routes))
      const claimed = await this.#takes.take({ ...parked.wish, routes, share })
      if (claimed === 'empty') look.empty.add(key)
      else if (sizeOf(claimed) > 0) this.#deliver(parked, claimed)
      else if (claimed.isFull === true) this.#noteFull(parked)
      else parked.arrival = this.#arrivals++
    } catch (error) {
      this.#refuse(parked, error)
    } finally {
      this.#serving.delete(parked)
    }
  }

  #noteFull(parked: Parked): void {
    // A report that was written while the store counted is told before the count is: the worker may have room already.
    if (parked.hasRoom) this.#lookAgain = true
    else if (this.#parked.has(parked))
      this.#fullUntilMs.set(parked.wish.worker.workerId, this.#deps.clock.monotonicMs() + lookEveryMs)
  }

  #chooseRoutes({ prefixes, labels }: Parked, { routes }: Look): string[] {
    const all = prefixes
      .flatMap((prefix) => routes.get(prefix) ?? [])
      .filter((route) => hasLabelsFor(route, labels))
    if (all.length <= routesMax) return all
    const start = this.#turn++ % all.length
    return [...all.slice(start), ...all.slice(0, start)].slice(0, routesMax)
  }

  /** Workers with a parked claim that could be served from these routes; counting ends where it makes no difference. */
  #countParked(routes: readonly string[]): number {
    const nowMs = this.#deps.clock.monotonicMs()
    const found = new Set<string>()
    let looks = 0
    for (const route of routes) {
      for (const { wish, labels } of this.#byTenant.get(tenantOfRoute(route))?.get(prefixOf(route)) ?? []) {
        if (found.size === waitingCountMax || looks++ === parkedLooksMax) return found.size
        const { workerId } = wish.worker
        const isFull = (this.#fullUntilMs.get(workerId) ?? 0) > nowMs
        if (!isFull && hasLabelsFor(route, labels)) found.add(workerId)
      }
    }
    return found.size
  }

  #deliver(parked: Parked, claimed: Claimed): void {
    if (!this.#settle(parked, claimed)) parked.wish.onUnclaimed(claimed)
  }

  #settle(parked: Parked, claimed: Claimed): boolean {
    if (!this.#leave(parked)) return false
    parked.resolve(claimed)
    return true
  }

  #refuse(parked: Parked, error: unknown): void {
    if (this.#leave(parked)) parked.reject(error)
  }

  #park(parked: Parked): void {
    this.#parked.add(parked)
    this.#byWorker.set(parked.wish.worker.workerId, parked)
    const { tenantId } = parked.wish.worker
    const byPrefix = this.#byTenant.get(tenantId) ?? new Map<string, Set<Parked>>()
    this.#byTenant.set(tenantId, byPrefix)
    for (const prefix of parked.prefixes) {
      const waiting = byPrefix.get(prefix)
      if (waiting === undefined) byPrefix.set(prefix, new Set([parked]))
      else waiting.add(parked)
    }
  }

  /** Whether it was parked. */
  #leave(parked: Parked): boolean {
    if (!this.#parked.delete(parked)) return false
    parked.place.leave()
    this.#byWorker.delete(parked.wish.worker.workerId)
    this.#fullUntilMs.delete(parked.wish.worker.workerId)
    const { tenantId } = parked.wish.worker
    const byPrefix = this.#byTenant.get(tenantId)!
    for (const prefix of parked.prefixes) {
      const waiting = byPrefix.get(prefix)
      waiting?.delete(parked)
      if (waiting?.size === 0) byPrefix.delete(prefix)
    }
    if (byPrefix.size === 0) this.#byTenant.delete(tenantId)
    return true
  }
}

/** Up to the labels. */
function prefixOf(route: string): string {
  return route.slice(0, route.lastIndexOf(' ') + 1)
}

/** The limits of the tenants of these claims. */
function limitsOf(parked: readonly Parked[]): Map<string, number> {
  const limits = new Map<string, number>()
  for (const { wish } of parked)
    if (wish.concurrentMax !== null) limits.set(wish.worker.tenantId, wish.concurrentMax)
  return limits
}
