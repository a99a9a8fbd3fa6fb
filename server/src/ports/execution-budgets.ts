// The budgets of tenants with a limit on executions a minute, and the executions that wait for one. A draw is a short
// transaction of its own, before the write that it is for: a crash in between forfeits that draw and nothing else. Tenants
// without a limit have no row and no draw.
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import type { BudgetGrant, BudgetOrder } from '../domain/tenants/execution-budget.ts'

export interface ExecutionBudgets {
  /** The tenants among these with a limit on executions a minute, or on waiting ones. At most 1,000 at once. */
  limits(tenantIds: readonly string[]): Promise<BudgetLimit[]>
  /** Grows with each change that may concern `limits`. */
  limitsRevision(): Promise<number>
  /** Charges tenants, in the order of their orders. A grant for each order; the limits are the ones stored now. */
  draw(orders: readonly BudgetOrder[]): Promise<BudgetGrant[]>
  /** Executions that were charged and not made after all. */
  giveBack(charges: readonly BudgetCharge[]): Promise<void>
  /**
   * Charges executions that wait for the budgets of tenants after `after` (by id, at most `tenants` of them) and makes them
   * claimable, in the order of their rank, at most `each` of a tenant and `total` of all, because draws of these tenants
   * wait meanwhile; none that is to be skipped by now. Tenants that another process is charging are left out.
   */
  letGo(order: LetGoOrder): Promise<LetGo>
  /** Ends executions that waited for a budget until their misfire window was over, at most so many. */
  skipExpired(limit: number): Promise<SettledAttempt[]>
  /** Null: nothing was ever charged. */
  spent(tenantId: string): Promise<number | null>
}

export interface BudgetLimit {
  tenantId: string
  executionsPerMinute: number | null
  waitingExecutionsMax: number | null
}

export interface BudgetCharge {
  tenantId: string
  count: number
}

export interface LetGoOrder {
  after: string | null
  tenants: number
  each: number
  total: number
}

export interface LetGo {
  /** Executions that became claimable. */
  ready: number
  /** The last tenant looked at, if there may be more behind it; null: there are none. `total` may end a look early. */
  next: string | null
  /** How soon one more of these tenants has budget; null: none of them has anything left waiting. */
  againInMs: number | null
}
