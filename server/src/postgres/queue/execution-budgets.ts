// The budgets of tenants with a limit on executions a minute. A draw locks the rows of its tenants, reads them with the
// clock, and lets domain/tenants/execution-budget.ts decide. Draws of one process are gathered: many requests at once are
// one transaction.
import type { SettledAttempt } from '../../domain/queue/attempt.ts'
import {
  type BudgetGrant,
  type BudgetOrder,
  type BudgetTerms,
  drawFrom,
  type ExecutionBudget,
  giveBackTo,
  quotaSkipMessage,
  spentAt,
} from '../../domain/tenants/execution-budget.ts'
import { GroupCommit } from '../../lib/group-commit.ts'
import { firstId } from '../../lib/id.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type {
  BudgetCharge,
  BudgetLimit,
  ExecutionBudgets,
  LetGo,
  LetGoOrder,
} from '../../ports/execution-budgets.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Database, Queries } from '../connection/database.ts'
import * as statements from './execution-budgets.sql.ts'
import { budgetItem, grantItem } from './items.ts'
import { type SettledRow, toSettled } from './settled-row.ts'

/** Draws in one transaction, and waiting for one. */
const drawLimits = { itemsMax: 200, weigh: () => 1, weightMax: 200, waitingMax: 10_000 }

export class PostgresExecutionBudgets implements ExecutionBudgets {
  readonly #database: Database
  readonly #draws: GroupCommit<readonly BudgetOrder[], BudgetGrant[]>

  constructor(database: Database) {
    this.#database = database
    this.#draws = new GroupCommit((items) => this.#draw(items), drawLimits)
  }

  async limits(tenantIds: readonly string[]): Promise<BudgetLimit[]> {
    if (tenantIds.length === 0) return []
    const values = [tenantIds]
    const { rows } = await this.#database.query<Columns<BudgetLimit>>(statements.selectBudgetLimits, values)
    return rows.map((row) => fromColumns<BudgetLimit>(row))
  }

  async limitsRevision(): Promise<number> {
    const { rows } = await this.#database.query<{ revision: number }>(statements.selectTiersRevision, [])
    return rows[0]!.revision
  }

  async draw(orders: readonly BudgetOrder[]): Promise<BudgetGrant[]> {
    return orders.length === 0 ? [] : this.#draws.add(orders)
  }

  async #draw(items: readonly (readonly BudgetOrder[])[]): Promise<BudgetGrant[][]> {
    const orders = items.flat()
    const byTenant = Map.groupBy(orders, ({ tenantId }) => tenantId)
    const grants = new Map<BudgetOrder, BudgetGrant>()
    await this.#database.transaction(async (queries) => {
      const budgets = await lockBudgets(queries, [...byTenant.keys()])
      const changed = [...byTenant].map(([tenantId, own]) => {
        const { budget, ...terms } = budgets.get(tenantId) ?? goneTenant
        const drawn = drawFrom(budget, terms, own)
        for (const [index, order] of own.entries()) grants.set(order, drawn.grants[index]!)
        return { tenantId, ...drawn.budget }
      })
      await writeBudgets(queries, changed)
    })
    return items.map((own) => own.map((order) => grants.get(order)!))
  }

  async giveBack(charges: readonly BudgetCharge[]): Promise<void> {
    if (charges.length === 0) return
    const counts = new Map<string, number>()
    for (const { tenantId, count } of charges) counts.set(tenantId, (counts.get(tenantId) ?? 0) + count)
    await this.#database.transaction(async (queries) => {
      const budgets = await lockBudgets(queries, [...counts.keys()])
      const changed = [...counts].map(([tenantId, count]) => {
        return { tenantId, ...giveBackTo((budgets.get(tenantId) ?? goneTenant).budget, count) }
      })
      await writeBudgets(queries, changed)
    })
  }

  async letGo({ after, tenants, each, total }: LetGoOrder): Promise<LetGo> {
    const values = [after ?? firstId, tenants, each]
    const found = await this.#database.query<HeldBackRow>(statements.selectHeldBack, values)
    const next = found.rows.length < tenants ? null : found.rows.at(-1)!.tenant_id
    if (found.rows.length === 0) return { ready: 0, next, againInMs: null }
    const heldBack = new Map(found.rows.map((row) => [row.tenant_id, row.held_back]))
    const gone = await this.#database.transaction((queries) => letHeldGo(queries, heldBack, total))
    return { ready: gone.ready, next: gone.cutBehind ?? next, againInMs: gone.againInMs }
  }

  async skipExpired(limit: number): Promise<SettledAttempt[]> {
    const { rows } = await withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.query<SettledRow>(statements.skipExpired, [limit, quotaSkipMessage]),
    )
    return rows.map((row) => toSettled(row, 'skipped'))
  }

  async spent(tenantId: string): Promise<number | null> {
    const { rows } = await this.#database.query<SpentRow>(statements.selectSpent, [tenantId])
    const row = rows[0]
    if (row === undefined || row.executions_per_minute === null) return null
    return spentAt({ spent: row.spent, countedAt: row.counted_at }, row.executions_per_minute, row.now)
  }
}

/** A tenant that is purged meanwhile has no limit, and nothing to charge. */
const goneTenant = { budget: { spent: 0, countedAt: epochMs(0) }, executionsPerMinute: null, now: epochMs(0) }

/** Locked budgets, with the limits and the clock as they are under the lock. */
type LockedBudgets = Map<string, BudgetTerms & { budget: ExecutionBudget }>

async function lockBudgets(queries: Queries, tenantIds: readonly string[]): Promise<LockedBudgets> {
  const locked = await queries.query(statements.lockBudgets, [tenantIds])
  if (locked.count < tenantIds.length) {
    await queries.query(statements.beginBudgets, [tenantIds])
    await queries.query(statements.lockBudgets, [tenantIds])
  }
  return readBudgets(queries, tenantIds)
}

async function readBudgets(queries: Queries, tenantIds: readonly string[]): Promise<LockedBudgets> {
  const { rows } = await queries.query<BudgetRow>(statements.selectBudgets, [tenantIds])
  return new Map(
    rows.map(({ tenant_id, spent, counted_at: countedAt, is_behind: isBehind, ...row }) => {
      const terms = { executionsPerMinute: row.executions_per_minute, now: row.now, isBehind }
      return [tenant_id, { budget: { spent, countedAt }, ...terms }]
    }),
  )
}

async function writeBudgets(
  queries: Queries,
  changed: readonly ({ tenantId: string } & ExecutionBudget)[],
): Promise<void> {
  const items = changed.map(({ tenantId, spent, countedAt }) => ({ tenantId, spent, countedMs: countedAt }))
  await queries.query(statements.writeBudgets, [budgetItem.encode(items)], 'last')
}

interface HeldGone {
  ready: number
  againInMs: number
  /** The tenant with the last of as many as may go; null: all tenants had their turn. */
  cutBehind: string | null
}

/** The draw and its use are one transaction: nothing is forfeited. */
async function letHeldGo(
  queries: Queries,
  heldBack: ReadonlyMap<string, number>,
  total: number,
): Promise<HeldGone> {
  const tenantIds = [...heldBack.keys()]
  await queries.query(statements.beginBudgets, [tenantIds])
  const locked = await queries.query<{ tenant_id: string }>(statements.lockFreeBudgets, [tenantIds])
  const ours = locked.rows.map((row) => row.tenant_id)
  if (ours.length === 0) return { ready: 0, againInMs: 0, cutBehind: null }
  const budgets = await readBudgets(queries, ours)
  let againInMs = ours.length < tenantIds.length ? 0 : Number.POSITIVE_INFINITY
  const granted: { tenantId: string; granted: number }[] = []
  let left = total
  let cutBehind: string | null = null
  for (const tenantId of ours) {
    if (left === 0) {
      cutBehind = granted.at(-1)!.tenantId
      break
    }
    const { budget, isBehind: _behind, ...terms } = budgets.get(tenantId)!
    const order = { use: 'slot', count: Math.min(left, heldBack.get(tenantId)!), whole: false } as const
    const [grant] = drawFrom(budget, terms, [order]).grants
    if (grant!.granted > 0) granted.push({ tenantId, granted: grant!.granted })
    left -= grant!.granted
    againInMs = Math.min(againInMs, grant!.restInMs ?? Number.POSITIVE_INFINITY)
  }
  if (granted.length === 0) return { ready: 0, againInMs, cutBehind }
  const values = [grantItem.encode(granted)]
  const gone = await queries.query<{ tenant_id: string; let_go: number }>(statements.letHeldGo, values)
  const changed = gone.rows.map(({ tenant_id: tenantId, let_go: count }) => {
    const { budget, isBehind: _behind, ...terms } = budgets.get(tenantId)!
    return { tenantId, ...drawFrom(budget, terms, [{ use: 'slot', count, whole: true }]).budget }
  })
  await writeBudgets(queries, changed)
  return { ready: gone.rows.reduce((sum, row) => sum + row.let_go, 0), againInMs, cutBehind }
}

interface BudgetRow {
  tenant_id: string
  spent: number
  counted_at: EpochMs
  now: EpochMs
  executions_per_minute: number | null
  is_behind: boolean
}

type SpentRow = Omit<BudgetRow, 'tenant_id' | 'is_behind'>

interface HeldBackRow {
  tenant_id: string
  held_back: number
}
