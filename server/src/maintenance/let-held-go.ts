// Lets executions go that wait for the budget of their tenant, in the order of their rank and at the rate of its tier.
// Slots that waited until their misfire window was over are skipped. Every scheduler runs it: the budget is charged in the
// transaction that lets them go, so several of them let no more go than one.
import type { ExecutionBudgets } from '../ports/execution-budgets.ts'
import { emitSettled } from '../telemetry/emit-settled.ts'

export interface LetHeldGoDeps {
  executionBudgets: Pick<ExecutionBudgets, 'letGo' | 'skipExpired'>
  /** Called after a commit that made something claimable. */
  onReady: () => void
  /** Called after a commit that ended executions. */
  onSkipped: () => void
}

/** The floor while nothing waits. */
export const letHeldGoEveryMs = 1_000
/** Between two looks while something waits: a token of the fastest tier comes sooner, and some of them go together. */
const waitMsMin = 50
const waitMsMax = 1_000
const tenantsMax = 500
/** Of one tenant in a step: its rows are locked until the commit. */
const eachMax = 500
/** In a step: draws of these tenants, and fires behind them, wait for the commit ([m] 20,000: 1.6 s). */
const totalMax = 1_000
const skippedMax = 500

export class HeldBackReleaser {
  readonly #deps: LetHeldGoDeps
  /** Where the round is; null: at its beginning. */
  #after: string | null = null
  /** How soon a tenant of this round has budget again. */
  #againInMs = Number.POSITIVE_INFINITY

  constructor(deps: LetHeldGoDeps) {
    this.#deps = deps
  }

  async step(): Promise<'more' | 'idle' | number> {
    const { executionBudgets, onReady } = this.#deps
    const order = { after: this.#after, tenants: tenantsMax, each: eachMax, total: totalMax }
    const { ready, next, againInMs } = await executionBudgets.letGo(order)
    if (ready > 0) onReady()
    this.#after = next
    const skipped = againInMs === null ? 0 : await this.#skipExpired()
    if (againInMs !== null) this.#againInMs = Math.min(this.#againInMs, againInMs)
    if (next !== null || skipped === skippedMax) return 'more'
    const waitMs = this.#againInMs
    this.#againInMs = Number.POSITIVE_INFINITY
    if (waitMs === Number.POSITIVE_INFINITY) return 'idle'
    return Math.min(waitMsMax, Math.max(waitMsMin, waitMs))
  }

  async #skipExpired(): Promise<number> {
    const { executionBudgets, onSkipped } = this.#deps
    const skipped = await executionBudgets.skipExpired(skippedMax)
    emitSettled(skipped)
    if (skipped.length > 0) onSkipped()
    return skipped.length
  }
}
