// Budgets of tenants with a limit on executions a minute, in memory.
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import {
  type BudgetGrant,
  type BudgetOrder,
  type BudgetTerms,
  drawFrom,
  giveBackTo,
  quotaSkipMessage,
  spentAt,
} from '../../src/domain/tenants/execution-budget.ts'
import type {
  BudgetCharge,
  BudgetLimit,
  ExecutionBudgets,
  LetGo,
  LetGoOrder,
} from '../../src/ports/execution-budgets.ts'
import { recordAttempt, skippedEnd, toSettled } from './record-attempt.ts'
import type { LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export class MemoryExecutionBudgets implements ExecutionBudgets {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async limits(tenantIds: readonly string[]): Promise<BudgetLimit[]> {
    return tenantIds.flatMap((tenantId) => {
      const { executionsPerMinute = null, waitingExecutionsMax = null } = this.#store.tierOf(tenantId) ?? {}
      const isLimited = executionsPerMinute !== null || waitingExecutionsMax !== null
      return isLimited ? [{ tenantId, executionsPerMinute, waitingExecutionsMax }] : []
    })
  }

  async limitsRevision(): Promise<number> {
    return this.#store.tiersRevision
  }

  async draw(orders: readonly BudgetOrder[]): Promise<BudgetGrant[]> {
    const grants = new Map<BudgetOrder, BudgetGrant>()
    for (const [tenantId, own] of Map.groupBy(orders, (order) => order.tenantId)) {
      const isBehind = this.#store.heldBack.has(tenantId)
      const drawn = this.#draw(tenantId, own, isBehind)
      for (const [index, order] of own.entries()) grants.set(order, drawn[index]!)
    }
    return orders.map((order) => grants.get(order)!)
  }

  #draw(
    tenantId: string,
    orders: readonly Pick<BudgetOrder, 'use' | 'count' | 'whole'>[],
    isBehind: boolean,
  ): BudgetGrant[] {
    const { budget, grants } = drawFrom(
      this.#store.budgets.get(tenantId) ?? null,
      { ...this.#termsOf(tenantId), isBehind },
      orders,
    )
    this.#store.budgets.set(tenantId, budget)
    return grants
  }

  async giveBack(charges: readonly BudgetCharge[]): Promise<void> {
    for (const { tenantId, count } of charges) {
      const budget = this.#store.budgets.get(tenantId)
      if (budget !== undefined) this.#store.budgets.set(tenantId, giveBackTo(budget, count))
    }
  }

  async letGo({ after, tenants, each, total }: LetGoOrder): Promise<LetGo> {
    const all = this.#store.heldBack.tenants()
    const found = all.filter((tenantId) => after === null || tenantId > after).slice(0, tenants)
    const next = found.length < tenants ? null : found.at(-1)!
    let ready = 0
    let againInMs: number | null = null
    for (const [at, tenantId] of found.entries()) {
      if (ready === total) return { ready, next: found[at - 1]!, againInMs }
      const now = this.#store.now()
      const open = this.#store.heldBack.of(tenantId).filter(({ skipAt }) => skipAt === null || skipAt > now)
      const order = { use: 'slot', count: Math.min(each, total - ready, open.length), whole: false } as const
      const [{ granted, restInMs }] = this.#draw(tenantId, [order], false) as [BudgetGrant]
      for (const row of open.slice(0, granted)) this.#store.changeLive(row, { host: null, skipAt: null })
      ready += granted
      againInMs = Math.min(againInMs ?? Number.POSITIVE_INFINITY, restInMs ?? Number.POSITIVE_INFINITY)
    }
    return { ready, next, againInMs }
  }

  async skipExpired(limit: number): Promise<SettledAttempt[]> {
    const now = this.#store.now()
    const isExpired = ({ skipAt }: LiveRow) => skipAt !== null && skipAt <= now
    const tenants = this.#store.heldBack.tenants()
    const expired = tenants.flatMap((tenantId) => this.#store.heldBack.of(tenantId).filter(isExpired))
    const first = expired.toSorted(
      (a, b) => a.skipAt! - b.skipAt! || compareText(a.executionId, b.executionId),
    )
    return first.slice(0, limit).map((row) => {
      this.#store.deleteLive(row)
      const end = skippedEnd(this.#store, { reason: 'quota', message: quotaSkipMessage })
      return toSettled(this.#store, recordAttempt(this.#store, row, null, end))
    })
  }

  async spent(tenantId: string): Promise<number | null> {
    const budget = this.#store.budgets.get(tenantId)
    const { executionsPerMinute, now } = this.#termsOf(tenantId)
    if (budget === undefined || executionsPerMinute === null) return null
    return spentAt(budget, executionsPerMinute, now)
  }

  #termsOf(tenantId: string): BudgetTerms {
    const executionsPerMinute = this.#store.tierOf(tenantId)?.executionsPerMinute ?? null
    return { executionsPerMinute, now: this.#store.now() }
  }
}
