// Holds claims of SDK workers until there is something to run. One query serves all waiting claims: it finds the routes
// of their handlers that have work, then each worker that could take it claims, in order of arrival. Nothing held here
// would be missed by another process: claimed executions are held in the store, under the worker's name.
import { handlerRoutePrefix, hasLabelsFor } from '../../domain/executors/worker.ts'
import { suspectHost } from '../../domain/queue/route.ts'
import type { Attempts } from '../../ports/attempts.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Claimed, ClaimOrder, Queue } from '../../ports/queue.ts'
import type { Routes } from '../../ports/routes.ts'
import type { Timer, Timers } from '../../ports/timers.ts'
import type { WakeupSource } from '../../ports/wakeup.ts'
import { ApiError } from '../http/api-error.ts'
import { SuspectsInFlight } from './suspects-in-flight.ts'

export interface LongPollDeps {
  clock: Pick<Clock, 'monotonicMs'>
  timers: Timers
  queue: Pick<Queue, 'waiting' | 'claim'>
  attempts: Pick<Attempts, 'find'>
  routes: Routes
  wakeup: WakeupSource
  isStopping: () => boolean
}

export interface ClaimWish {
  worker: { workerId: string; tenantId: string; handlers: readonly string[]; labels: readonly string[] }
  /** Executions, at most. */
  limit: number
  /** How long to wait when there is nothing. */
  waitMs: number
  /** The client is gone: nothing is claimed for it any more. */
  signal: AbortSignal
  /** It went away while its claim was under way. */
  onUnclaimed: (claimed: Claimed) => void
}

export const parkedMax = 2_000
/** The floor: a hint that was lost costs at most this. */
const lookEveryMs = 1_000
/** Claims under way at once: more would only wait for each other in the database. */
const handsMax = 4
const prefixesPerLook = 2_000
/** Maximum sets of labels that are queried for each handler. */
const routesPerHandlerMax = 200
/** Routes in one claim; of more, it is another part's turn each time. */
const routesMax = 256
const lanesMax = 256
const batchesMax = 100
const nothing: Claimed = { batches: [], live: [] }

interface Parked {
  wish: ClaimWish
  prefixes: readonly string[]
  labels: ReadonlySet<string>
  untilMs: number
  resolve: (claimed: Claimed) => void
  reject: (error: unknown) => void
}

/** One look at all that is parked. */
interface Look {
  routes: ReadonlyMap<string, readonly string[]>
  /** Sets of routes in which nothing is left. */
  empty: Set<string>
}

export class LongPollClaims {
  readonly #deps: LongPollDeps
  readonly #suspects: SuspectsInFlight
  /** In order of arrival, the first in front. */
  readonly #parked = new Set<Parked>()
  #isLooking = false
  #lookAgain = false
  #isClosed = false
  #timer: Timer | null = null
  #turn = 0

  constructor(deps: LongPollDeps) {
    this.#deps = deps
    this.#suspects = new SuspectsInFlight(deps.attempts)
    deps.wakeup.on('queue', () => this.#wake())
  }

  get parked(): number {
    return this.#parked.size
  }

  /** Resolves with the claimed executions, or with nothing when the time is over. */
  claim(wish: ClaimWish): Promise<Claimed> {
    if (this.#isClosed || wish.signal.aborted) return Promise.resolve(nothing)
    if (this.#parked.size >= parkedMax) {
      const detail = `This server has ${parkedMax} claims waiting already.`
      throw new ApiError('UNAVAILABLE', detail, [], { retryAfterSeconds: 1 })
    }
    const { promise, resolve, reject } = Promise.withResolvers<Claimed>()
    const { tenantId, handlers, labels } = wish.worker
    const parked: Parked = {
      wish,
      prefixes: handlers.map((handler) => handlerRoutePrefix(tenantId, handler)),
      labels: new Set(labels),
      untilMs: this.#deps.clock.monotonicMs() + wish.waitMs,
      resolve,
      reject,
    }
    this.#parked.add(parked)
    wish.signal.addEventListener('abort', () => this.#settle(parked, nothing), { once: true })
    this.#wake()
    return promise
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
      const look: Look = { routes: await this.#findRoutes(group), empty: new Set() }
      const waiting = group.values()
      const serve = async () => {
        for (const parked of waiting) await this.#serve(parked, look)
      }
      await Promise.all(Array.from({ length: handsMax }, serve))
    } catch (error) {
      for (const parked of group) this.#refuse(parked, error)
    }
    for (const parked of group) if (parked.untilMs <= nowMs) this.#settle(parked, nothing)
  }

  /** The routes that have something, by their prefix. */
  async #findRoutes(group: readonly Parked[]): Promise<Map<string, string[]>> {
    const prefixes = [...new Set(group.flatMap((parked) => parked.prefixes))]
    const found = new Map<string, string[]>()
    for (let at = 0; at < prefixes.length; at += prefixesPerLook) {
      const some = prefixes.slice(at, at + prefixesPerLook)
      for (const route of await this.#deps.routes.findWaiting(some, routesPerHandlerMax)) {
        const prefix = route.slice(0, route.lastIndexOf(' ') + 1)
        found.set(prefix, [...(found.get(prefix) ?? []), route])
      }
    }
    return found
  }

  async #serve(parked: Parked, look: Look): Promise<void> {
    const routes = this.#chooseRoutes(parked, look)
    const key = routes.join('\n')
    // Of a hundred workers with the same handler, the ones that come too late need not query one by one.
    if (routes.length === 0 || look.empty.has(key) || !this.#parked.has(parked)) return
    try {
      const claimed = await this.#claim(parked.wish, routes)
      if (claimed === 'empty') look.empty.add(key)
      else if (claimed.batches.length + claimed.live.length > 0) this.#hand(parked, claimed)
    } catch (error) {
      this.#refuse(parked, error)
    }
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
        claimed = await this.#deps.queue.claim({ workerId, routes, lanes: order, hosts, batchesMax })
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
    if (!this.#parked.delete(parked)) return false
    parked.resolve(claimed)
    return true
  }

  #refuse(parked: Parked, error: unknown): void {
    if (this.#parked.delete(parked)) parked.reject(error)
  }
}
