// How many executions of a tenant its own workers may claim, by the tier's limit on running executions. The store is asked
// for the running ones at most every `countedMsMax`, for all tenants that have claims to serve at once; executions that
// this process has handed out since then count too. Nothing is counted down: a report makes the count due again.
import { allowanceOf } from '../../domain/queue/concurrency-limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Peers } from '../../ports/peers.ts'

export interface ClaimLimitsDeps {
  clock: Pick<Clock, 'monotonicMs'>
  peers: Pick<Peers, 'countRunning'>
}

interface Count {
  max: number
  /** Of the tenant's own workers, all together, when it was counted. */
  room: number
  countedMs: number
  /** Executions handed out since then. */
  claimed: number
  /** Results have been reported since then. */
  hasReports: boolean
}

/** As long as other processes may claim without being seen here. */
const countedMsMax = 1_000
/** With reports: so that each of them does not cost a query. */
const countedMsMin = 100
const tenantsMax = 1_000

export class ClaimLimits {
  readonly #deps: ClaimLimitsDeps
  readonly #counts = new Map<string, Count>()

  constructor(deps: ClaimLimitsDeps) {
    this.#deps = deps
  }

  /** Makes sure that the room of these tenants is known, by their limits. Others are forgotten once their counts are old. */
  async load(limits: ReadonlyMap<string, number>): Promise<void> {
    if (limits.size === 0 && this.#counts.size === 0) return
    const nowMs = this.#deps.clock.monotonicMs()
    for (const [tenantId, count] of this.#counts)
      if (!limits.has(tenantId) && this.#isDue(count, nowMs)) this.#counts.delete(tenantId)
    const due = [...limits].filter(([tenantId, max]) => {
      const count = this.#counts.get(tenantId)
      return count === undefined || count.max !== max || this.#isDue(count, nowMs)
    })
    for (let at = 0; at < due.length; at += tenantsMax)
      await this.#count(new Map(due.slice(at, at + tenantsMax)), nowMs)
  }

  /** How many more executions workers of the tenant may claim here. Infinity: no limit of it was loaded. */
  roomOf(tenantId: string): number {
    const count = this.#counts.get(tenantId)
    return count === undefined ? Number.POSITIVE_INFINITY : Math.max(0, count.room - count.claimed)
  }

  /** Before a claim: as many as it may bring. Behind it, a negative number for the ones that it did not bring. */
  noteClaimed(tenantId: string, executions: number): void {
    const count = this.#counts.get(tenantId)
    if (count !== undefined) count.claimed = Math.max(0, count.claimed + executions)
  }

  /** A worker of the tenant has reported results. Says whether claims may be waiting for them. */
  noteReport(tenantId: string): boolean {
    const count = this.#counts.get(tenantId)
    if (count === undefined) return false
    count.hasReports = true
    return this.roomOf(tenantId) === 0
  }

  /** When a tenant without room is worth another look; null: none is. */
  get waitMs(): number | null {
    const isAwaited = (count: Count) => count.hasReports && count.room <= count.claimed
    return this.#counts.values().some(isAwaited) ? countedMsMin : null
  }

  #isDue({ countedMs, hasReports }: Count, nowMs: number): boolean {
    return nowMs - countedMs >= (hasReports ? countedMsMin : countedMsMax)
  }

  async #count(limits: ReadonlyMap<string, number>, nowMs: number): Promise<void> {
    const running = await this.#deps.peers.countRunning([...limits.keys()], [])
    const byTenant = new Map(running.map((one) => [one.tenantId, one]))
    for (const [tenantId, max] of limits) {
      const { calls, commands, own } = byTenant.get(tenantId) ?? { calls: 0, commands: 0, own: 0 }
      const room = Math.max(0, allowanceOf(max, 'own', { calls, commands, own }))
      this.#counts.set(tenantId, { max, room, countedMs: nowMs, claimed: 0, hasReports: false })
    }
  }
}
