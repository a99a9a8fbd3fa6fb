// This process's share of each tenant's limit on requests a second. All processes with the role api report the requests that
// they get, and divide each limit by them: see domain/tenants/request-shares.ts. No request waits for the store: it takes a
// token at the share that is known, and while the store is away the last shares hold.
//
// States of a tenant here: new (it has sent a request, and no report with it has been answered), joining (the others learn
// of it), joined. Until it has joined, its share is no more than it began with: an even part of the limit if no process was
// known to have requests of it, or else a floor. Alone it joins after `aloneMs`, because others that begin in the same
// moment have reported by then; beside others after `joinMs`, because they have reported by then, and taken less.
//
// Without tenants that have limits nothing is counted, and nothing is reported while there is a single tenant.
import {
  apiProcessTermMs,
  floorOf,
  ownShareOf,
  reportRequestsEveryMs,
} from '../../domain/tenants/request-shares.ts'
import { type ApiProcesses, reportedTenantsMax } from '../../ports/api-processes.ts'
import type { Clock } from '../../ports/clock.ts'

export interface RequestSharesDeps {
  clock: Pick<Clock, 'monotonicMs'>
  apiProcesses: ApiProcesses
  processId: string
  /** Whether there are tenants besides the first one. Default: no. */
  isShared?: () => boolean
}

interface Demand {
  /** Requests since the window began, and in the window before. */
  count: number
  before: number
  beganMs: number
  /** The share that it began with, as a part of the limit. */
  firstPart: number
  /** It has used a good part of its first share: the next report should not wait. */
  isUrgent: boolean
  /** When a report with it was first answered; null: not yet. */
  reportedMs: number | null
  /** Requests a second in the last report, and in the one before; null: it was not in it. */
  rate: number | null
  rateBefore: number | null
  /** The share by the last report, of this limit; null: not computed yet. */
  share: { limit: number; perSecond: number } | null
}

const unknown = {
  ...{ count: 0, before: 0, isUrgent: false },
  ...{ reportedMs: null, rate: null, rateBefore: null, share: null },
}
const aloneMs = 300
const joinMs = reportRequestsEveryMs
/** Urgent reports come at once, but not more often than this. */
const reportMsMin = 100
/** A tenant is urgent once it has sent, in one window, as many requests as its first share allows in this time. */
const urgentSeconds = 1 / 2
/** Requests count as spread over this time at least: one request is no thousand a second. */
const windowMsMin = 250
/** For how long the processes go on reporting after the last request of a tenant with a limit. */
const idleMs = 60_000

export class RequestShares {
  readonly #deps: RequestSharesDeps
  readonly #demands = new Map<string, Demand>()
  /** Requests a second at other processes, by tenant. */
  #others = new Map<string, number[]>()
  /** Processes that are up, this one included. */
  #processes = 1
  #windowMs: number
  #windowBeforeMs = 0
  #reportedMs = Number.NEGATIVE_INFINITY
  #countedMs = Number.NEGATIVE_INFINITY
  #onUrgent = () => {}

  constructor(deps: RequestSharesDeps) {
    this.#deps = deps
    this.#windowMs = deps.clock.monotonicMs()
  }

  /** `listener`: the next report should not wait. */
  onUrgent(listener: () => void): void {
    this.#onUrgent = listener
  }

  /** Counts a request of the tenant, and returns how many a second this process may admit. */
  count(tenantId: string, limit: number): number {
    this.#countedMs = this.#deps.clock.monotonicMs()
    const demand = this.#demands.get(tenantId) ?? this.#add(tenantId)
    // More tenants than can be reported: an even part is always safe.
    if (demand === null) return limit / this.#processes
    demand.count += 1
    if (demand.reportedMs === null && !demand.isUrgent) this.#noteUrgent(demand, limit)
    if (demand.share?.limit !== limit)
      demand.share = { limit, perSecond: this.#shareOf(tenantId, demand, limit) }
    return demand.share.perSecond
  }

  /** Reports the requests, and learns of the others'. A step for a Loop. */
  async report(): Promise<'idle' | number> {
    const { clock, apiProcesses, processId, isShared = () => false } = this.#deps
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#countedMs > idleMs && !isShared()) {
      this.#windowMs = nowMs
      this.#windowBeforeMs = 0
      return 'idle'
    }
    const waitMs = this.#reportedMs + reportMsMin - nowMs
    if (waitMs > 0) return waitMs
    const rates = this.#measure(nowMs)
    const others = await apiProcesses.report({ processId, rates }, apiProcessTermMs)
    this.#reportedMs = nowMs
    this.#processes = 1 + others.length
    this.#others = ratesByTenant(others)
    this.#learn(rates, nowMs)
    return this.#isAnyJoining(nowMs) ? aloneMs : 'idle'
  }

  /** The others need not wait until the last report is old. */
  async leave(): Promise<void> {
    if (this.#reportedMs > Number.NEGATIVE_INFINITY) await this.#deps.apiProcesses.leave(this.#deps.processId)
  }

  #add(tenantId: string): Demand | null {
    if (this.#demands.size >= reportedTenantsMax) return null
    const others = this.#others.get(tenantId)?.length ?? 0
    const firstPart = others === 0 ? 1 / this.#processes : floorOf(1, others + 1)
    const demand = { ...unknown, firstPart, beganMs: this.#countedMs }
    this.#demands.set(tenantId, demand)
    return demand
  }

  #noteUrgent(demand: Demand, limit: number): void {
    if (demand.count < limit * demand.firstPart * urgentSeconds) return
    demand.isUrgent = true
    this.#onUrgent()
  }

  #shareOf(tenantId: string, demand: Demand, limit: number): number {
    const others = this.#others.get(tenantId) ?? []
    const { rate, rateBefore } = demand
    // The others know of the report before: when requests become more everywhere, nobody is ahead of them.
    const known = rate === null ? null : Math.min(rate, rateBefore ?? rate)
    const own = ownShareOf(limit, { own: known, others, processes: this.#processes })
    return this.#hasJoined(demand, others.length) ? own : Math.min(own, demand.firstPart * limit)
  }

  #hasJoined({ reportedMs }: Demand, others: number): boolean {
    return reportedMs !== null && this.#reportedMs - reportedMs >= (others === 0 ? aloneMs : joinMs)
  }

  /** Requests a second in this window; while it is young, with the one before. */
  #measure(nowMs: number): Map<string, number> {
    const isOver = this.#isWindowOver(nowMs)
    const fromMs = isOver ? this.#windowMs : this.#windowMs - this.#windowBeforeMs
    const rates = new Map<string, number>()
    for (const [tenantId, { count, before, beganMs }] of this.#demands) {
      const requests = isOver ? count : count + before
      const seconds = Math.max(windowMsMin, nowMs - Math.max(fromMs, beganMs)) / 1_000
      if (requests > 0) rates.set(tenantId, requests / seconds)
    }
    return rates
  }

  #isWindowOver(nowMs: number): boolean {
    return nowMs - this.#windowMs >= reportRequestsEveryMs / 2
  }

  /** Requests that came while the report was under way belong to the next one. */
  #learn(rates: ReadonlyMap<string, number>, nowMs: number): void {
    const isOver = this.#isWindowOver(nowMs)
    for (const [tenantId, demand] of this.#demands) {
      if (isOver) demand.rateBefore = demand.rate
      demand.rate = rates.get(tenantId) ?? null
      demand.share = null
      if (demand.rate !== null) demand.reportedMs ??= nowMs
      else if (demand.count === 0) this.#demands.delete(tenantId)
      if (!isOver) continue
      demand.before = demand.count
      demand.count = 0
    }
    if (!isOver) return
    this.#windowBeforeMs = nowMs - this.#windowMs
    this.#windowMs = nowMs
  }

  #isAnyJoining(nowMs: number): boolean {
    return this.#demands
      .values()
      .some(({ isUrgent, reportedMs }) => isUrgent && (reportedMs === null || nowMs - reportedMs < aloneMs))
  }
}

function ratesByTenant(processes: readonly { rates: ReadonlyMap<string, number> }[]): Map<string, number[]> {
  const byTenant = new Map<string, number[]>()
  for (const { rates } of processes) {
    for (const [tenantId, rate] of rates) {
      const known = byTenant.get(tenantId)
      if (known === undefined) byTenant.set(tenantId, [rate])
      else known.push(rate)
    }
  }
  return byTenant
}
