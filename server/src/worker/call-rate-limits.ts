// The limits of calls a second to one host, by the tier of each tenant: fetched with the first claim of an execution of the
// tenant, and again every few seconds, so that a tenant that moves to another tier has its new limit soon.
import { CallRates, rateKeyOf } from '../domain/queue/call-rates.ts'
import type { Clock } from '../ports/clock.ts'
import type { Tenants } from '../ports/tenants.ts'
import type { HeldExecution } from './held-execution.ts'

export interface CallRateLimitsDeps {
  clock: Pick<Clock, 'monotonicMs'>
  tenants: Pick<Tenants, 'callLimits'>
}

/** Tenants in one query. */
const tenantsMax = 1_000

export class CallRateLimits {
  readonly rates = new CallRates()
  readonly #deps: CallRateLimitsDeps
  /** By tenant: whether it was called for since the last refresh. */
  readonly #known = new Map<string, boolean>()

  constructor(deps: CallRateLimitsDeps) {
    this.#deps = deps
  }

  /** Makes sure that the limits of these tenants are known. */
  async load(tenantIds: ReadonlySet<string>): Promise<void> {
    const missing: string[] = []
    for (const tenantId of tenantIds) {
      if (this.#known.has(tenantId)) this.#known.set(tenantId, true)
      else missing.push(tenantId)
    }
    if (missing.length > 0) await this.#fetch(missing)
  }

  /** Fetches the limits that are in use again, and forgets the others. When it fails, the known limits hold. */
  async refresh(): Promise<void> {
    for (const [tenantId, isUsed] of this.#known) {
      if (isUsed) continue
      this.#known.delete(tenantId)
      this.rates.setLimit(tenantId, null)
    }
    const used = [...this.#known.keys()]
    await this.#fetch(used)
    for (const tenantId of used) this.#known.set(tenantId, false)
    this.rates.forgetIdle(this.#deps.clock.monotonicMs())
  }

  /** Marks executions that have no token: they go back to wait. Only after `load` of their tenants. */
  mark(executions: readonly HeldExecution[]): void {
    if (!this.rates.isLimited) return
    const nowMs = this.#deps.clock.monotonicMs()
    for (const held of executions) {
      const { prepared } = held
      if (prepared.executor === 'http' && !this.rates.tryCall(prepared.host, nowMs))
        held.waitsAs = rateKeyOf(prepared.host)
    }
  }

  async #fetch(tenantIds: readonly string[]): Promise<void> {
    for (let at = 0; at < tenantIds.length; at += tenantsMax) {
      const asked = tenantIds.slice(at, at + tenantsMax)
      const found = await this.#deps.tenants.callLimits(asked)
      const limits = new Map(found.map(({ tenantId, hostCallsPerSecond }) => [tenantId, hostCallsPerSecond]))
      for (const tenantId of asked) {
        this.rates.setLimit(tenantId, limits.get(tenantId) ?? null)
        if (!this.#known.has(tenantId)) this.#known.set(tenantId, true)
      }
    }
  }
}
