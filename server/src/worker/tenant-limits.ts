// The limits that a worker keeps for each tenant, by its tier: calls a second to one host (`CallRates`) and executions that
// run at once (`ConcurrencyLimits`). Fetched with the first claim of an execution of the tenant, and again every few
// seconds, so that a tenant that moves to another tier has its new limits soon. With a limit on running executions the
// store is asked for the ones that run elsewhere too; while executions wait for room, every second.
import { CallRates, rateKeyOf } from '../domain/queue/call-rates.ts'
import { ConcurrencyLimits, type WorkClass } from '../domain/queue/concurrency-limits.ts'
import { sharedLane } from '../domain/queue/lane.ts'
import type { Clock } from '../ports/clock.ts'
import type { Peers } from '../ports/peers.ts'
import type { Tenants } from '../ports/tenants.ts'
import type { HeldExecution } from './held-execution.ts'

export interface TenantLimitsDeps {
  clock: Pick<Clock, 'monotonicMs'>
  tenants: Pick<Tenants, 'workLimits'>
  peers: Pick<Peers, 'countRunning' | 'findCallers'>
  /** The class of this worker. Default: calls. */
  class?: WorkClass
}

/** Tenants in one query. */
const tenantsMax = 1_000
/** How often running executions are counted while others wait for room: awaited ones end without the word of a worker. */
const recountMs = 1_000

export class TenantLimits {
  readonly rates = new CallRates()
  readonly concurrency: ConcurrencyLimits
  readonly #deps: TenantLimitsDeps
  readonly #class: WorkClass
  /** By tenant: whether it was asked for since the last refresh. */
  readonly #known = new Map<string, boolean>()
  /** This worker, and the others among which the limits are divided; empty: no lease is held. */
  #workerIds: readonly string[] = []
  /** Null: no lease is held. */
  #workerId: string | null = null
  #countedMs = Number.NEGATIVE_INFINITY

  constructor(deps: TenantLimitsDeps) {
    this.#deps = deps
    this.#class = deps.class ?? 'calls'
    this.concurrency = new ConcurrencyLimits(this.#class)
  }

  /**
   * The other workers like this one. With limits all workers that call targets divide them, with any labels: these are
   * asked for by `load` and `refresh`, and stay the group until then. `workerId`: null: no lease is held.
   */
  setGroup(workerId: string | null, peerIds: readonly string[]): void {
    const isSame = workerId === this.#workerId
    this.#workerId = workerId
    if (!isSame || !this.#asksForCallers) this.#divideAmong(peerIds)
  }

  get #asksForCallers(): boolean {
    const isLimited = this.concurrency.isLimited || this.rates.isLimited
    return this.#class === 'calls' && this.#workerId !== null && isLimited
  }

  async #findGroup(): Promise<void> {
    const workerId = this.#workerId
    if (!this.#asksForCallers || workerId === null) return
    const callers = await this.#deps.peers.findCallers(workerId)
    if (workerId === this.#workerId) this.#divideAmong(callers)
  }

  #divideAmong(others: readonly string[]): void {
    const workerId = this.#workerId
    this.rates.workers = 1 + others.length
    this.#workerIds = workerId === null ? [] : [workerId, ...others]
    const nth = workerId === null ? 0 : others.filter((id) => id < workerId).length
    this.concurrency.group = { size: 1 + others.length, nth }
  }

  /** Makes sure that the limits of these tenants are known. */
  async load(tenantIds: Iterable<string>): Promise<void> {
    const missing: string[] = []
    for (const tenantId of tenantIds) {
      if (this.#known.has(tenantId)) this.#known.set(tenantId, true)
      else missing.push(tenantId)
    }
    if (missing.length === 0) return
    const knewGroup = this.#asksForCallers
    const limited = await this.#fetch(missing)
    if (!knewGroup) await this.#findGroup()
    await this.#count(limited)
  }

  /** Fetches the limits that are in use again, and forgets the others. When it fails, the known limits hold. */
  async refresh(): Promise<void> {
    for (const [tenantId, isUsed] of this.#known) {
      if (isUsed) continue
      this.#known.delete(tenantId)
      this.rates.setLimit(tenantId, null)
      this.concurrency.setLimit(tenantId, null)
    }
    const used = [...this.#known.keys()]
    await this.#fetch(used)
    await this.#findGroup()
    for (const tenantId of used) this.#known.set(tenantId, false)
    this.rates.forgetIdle(this.#deps.clock.monotonicMs())
    await this.#recount()
  }

  /** Before a pass of claims over these lanes, by a look that began at `askedMs`. */
  async look(lanes: readonly string[], askedMs: number): Promise<void> {
    // A lane of a tenant may be long: its limits must be known before a part of it is claimed.
    if (lanes.length > 0) await this.load(lanes.filter((lane) => lane !== sharedLane))
    const { concurrency } = this
    if (!concurrency.isBehind) return
    concurrency.see(new Set(lanes), askedMs)
    if (concurrency.isBehind && askedMs - this.#countedMs >= recountMs) await this.#recount()
  }

  /**
   * Marks executions without room or without a token: they go back to wait. Only after `load` of their tenants. In the order of
   * their rank; `inFlightOf`: executions of a tenant that are in flight already.
   */
  mark(executions: readonly HeldExecution[], inFlightOf: (tenantId: string) => number): void {
    const nowMs = this.#deps.clock.monotonicMs()
    if (this.concurrency.isLimited) this.#markBeyond(executions, inFlightOf, nowMs)
    if (!this.rates.isLimited) return
    for (const held of executions) {
      const { prepared } = held
      if (prepared.executor !== 'http' || held.isBeyondShare) continue
      if (!this.rates.tryCall(prepared.host, nowMs)) held.waitsAs = rateKeyOf(prepared.host)
    }
  }

  #markBeyond(
    executions: readonly HeldExecution[],
    inFlightOf: (tenantId: string) => number,
    nowMs: number,
  ): void {
    const { concurrency } = this
    const taken = new Map<string, number>()
    for (const held of executions) {
      const { tenantId } = held.prepared
      const before = taken.get(tenantId) ?? 0
      const room = concurrency.roomOf(tenantId, inFlightOf(tenantId) + before)
      if (room === Number.POSITIVE_INFINITY) continue
      const isOvertaking = held.lane !== tenantId && concurrency.isBehindOf(tenantId)
      // A suspect has no lane to go back to: it would be claimed again at once.
      if ((room > 0 && !isOvertaking) || held.isSuspect) taken.set(tenantId, before + 1)
      else {
        held.isBeyondShare = true
        concurrency.fallBehind(tenantId, nowMs)
      }
    }
  }

  /** Returns the tenants among these with a limit on running executions. */
  async #fetch(tenantIds: readonly string[]): Promise<string[]> {
    const limited: string[] = []
    for (let at = 0; at < tenantIds.length; at += tenantsMax) {
      const asked = tenantIds.slice(at, at + tenantsMax)
      const found = await this.#deps.tenants.workLimits(asked)
      const limits = new Map(found.map((one) => [one.tenantId, one]))
      for (const tenantId of asked) {
        const { hostCallsPerSecond = null, concurrentExecutionsMax = null } = limits.get(tenantId) ?? {}
        this.rates.setLimit(tenantId, hostCallsPerSecond)
        this.concurrency.setLimit(tenantId, concurrentExecutionsMax)
        if (concurrentExecutionsMax !== null) limited.push(tenantId)
        if (!this.#known.has(tenantId)) this.#known.set(tenantId, true)
      }
    }
    return limited
  }

  async #recount(): Promise<void> {
    if (!this.concurrency.isLimited) return
    await this.#count(this.concurrency.tenantIds)
    this.#countedMs = this.#deps.clock.monotonicMs()
  }

  async #count(tenantIds: readonly string[]): Promise<void> {
    for (let at = 0; at < tenantIds.length; at += tenantsMax) {
      const asked = tenantIds.slice(at, at + tenantsMax)
      const before = this.concurrency.beginCount(asked)
      const found = await this.#deps.peers.countRunning(asked, this.#workerIds)
      this.concurrency.setElsewhere(before, new Map(found.map((one) => [one.tenantId, one])))
    }
  }
}
