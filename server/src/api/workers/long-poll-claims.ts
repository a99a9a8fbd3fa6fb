// Holds claims of SDK workers until there is something to run. One query serves all waiting claims: it finds the routes
// of their handlers that have work, then each worker that could take it claims: tenants in turn (claim-turns.ts), the
// workers of a tenant in order of arrival. Nothing held here would be missed by another process: claimed executions are
// held in the store, under the worker's name.
import { handlerRoutePrefix, hasLabelsFor, tenantOfRoute } from '../../domain/executors/worker.ts'
import { suspectHost } from '../../domain/queue/route.ts'
import { type Place, TenantShares } from '../../domain/tenants/tenant-shares.ts'
import type { Attempts } from '../../ports/attempts.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Claimed, ClaimOrder, Queue } from '../../ports/queue.ts'
import type { Routes } from '../../ports/routes.ts'
import type { Timer, Timers } from '../../ports/timers.ts'
import type { WakeupSource } from '../../ports/wakeup.ts'
import { takePlace } from '../http/take-place.ts'
import { ClaimTurns, groupsInTurn } from './claim-turns.ts'
import { SuspectsInFlight } from './suspects-in-flight.ts'

export interface LongPollDeps {
  clock: Pick<Clock, 'monotonicMs'>
  timers: Timers
  queue: Pick<Queue, 'waiting' | 'claim'>
  attempts: Pick<Attempts, 'find'>
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
const handsMax = 4
const prefixesPerQuery = 2_000
/** Claims in one look before it is cut short for tenants that came, or have work, since it began. */
const claimsPerLookMin = 32
/** Maximum sets of labels that are queried for each handler. */
const routesPerHandlerMax = 200
/** Routes in one claim; of more, it is another part's turn each time. */
const routesMax = 256
const lanesMax = 256
const batchesMax = 100
const nothing: Claimed = { batches: [], live: [] }

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
}

export class LongPollClaims {
  readonly #deps: LongPollDeps
  readonly #suspects: SuspectsInFlight
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
    this.#suspects = new SuspectsInFlight(deps.attempts)
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

  /** The worker has reported results, so that a claim of it that waits may be served. */
  noteRoom(workerId: string): void {
    for (const parked of this.#serving) if (parked.wish.worker.workerId === workerId) parked.hasRoom = true
    if (this.#fullUntilMs.delete(workerId)) this.#wake()
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
    let waitMs = lookEveryMs
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
      const look: Look = { routes: new Map(), empty: new Set(), claims: 0 }
      const turn = this.#looks++
      for (const prefixes of groupsInTurn(this.#byTenant.values(), { groupMax: prefixesPerQuery, turn })) {
        await this.#serveAll(await this.#findRoutes(prefixes, look), look)
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
      const prefix = route.slice(0, route.lastIndexOf(' ') + 1)
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
    await Promise.all(Array.from({ length: handsMax }, serve))
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
      const claimed = await this.#claim(parked.wish, routes)
      if (claimed === 'empty') look.empty.add(key)
      else if (claimed.batches.length + claimed.live.length > 0) this.#hand(parked, claimed)
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
    const start = this.#turn % all.length
    return [...all.slice(start), ...all.slice(0, start)].slice(0, routesMax)
  }

  async #claim({ worker, limit }: ClaimWish, routes: readonly string[]): Promise<Claimed | 'empty'> {
    const { workerId } = worker
    const waiting = await this.#deps.queue.waiting(routes, lanesMax)
    const hasSuspects = waiting.hosts.includes(suspectHost)
    if (waiting.lanes.length === 0 && !hasSuspects) return 'empty'
    const suspect = hasSuspects && (await this.#suspects.reserve(workerId))
    let claimed = nothing
    try {
      const order = this.#orderOf(waiting.lanes, suspect ? limit - 1 : limit)
      const hosts = suspect ? [{ host: suspectHost, count: 1 }] : []
      if (order.length + hosts.length > 0)
        claimed = await this.#deps.queue.claim({
          ...{ workerId, routes, lanes: order, hosts, batchesMax },
          withinCapacity: true,
        })
    } finally {
      if (suspect) this.#suspects.keep(workerId, claimed.live.find((one) => one.suspect)?.executionId ?? null)
    }
    return claimed
  }

  /** All lanes belong to the same tenant: the shared lane and its own take turns in getting the odd execution. */
  #orderOf(lanes: readonly { lane: string }[], limit: number): ClaimOrder['lanes'] {
    const ordered = this.#turn++ % 2 === 0 ? lanes : lanes.toReversed()
    let left = limit
    return ordered.flatMap(({ lane }, at) => {
      const count = Math.ceil(left / (ordered.length - at))
      left -= count
      return count > 0 ? [{ lane, count }] : []
    })
  }

  #hand(parked: Parked, claimed: Claimed): void {
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
