// Tenants on PostgreSQL.
import type { Tenant, Tier } from '../../domain/tenants/tenant.ts'
import { lastId } from '../../lib/id.ts'
import type { Sql } from '../../lib/sql.ts'
import { totalMax } from '../../ports/executions.ts'
import {
  type NewTenant,
  type TenantOutcome,
  type TenantPage,
  type Tenants,
  type TenantUsage,
  usageCountedMax,
  type WorkLimits,
} from '../../ports/tenants.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import { countActiveJobs } from '../jobs/active-jobs.sql.ts'
import { readActiveJobs } from '../jobs/active-jobs.ts'
import * as statements from './tenants.sql.ts'

export class PostgresTenants implements Tenants {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async create({ tenantId, name, tier }: NewTenant): Promise<TenantOutcome> {
    const made = await this.#write(statements.insertTenant, [tenantId, name, tier])
    return made ?? 'unknown_tier'
  }

  async get(tenantId: string): Promise<Tenant | null> {
    const { rows } = await this.#database.query<TenantRow>(statements.selectTenant, [tenantId])
    return rows[0] === undefined ? null : toTenant(rows[0])
  }

  async list({ before, limit, deleted = false }: Parameters<Tenants['list']>[0]): Promise<TenantPage> {
    const [select, count] = deleted
      ? [statements.selectDeletedTenantsPage, statements.countDeletedTenants]
      : [statements.selectTenants, statements.countTenants]
    const [listed, counted] = await Promise.all([
      this.#database.query<TenantRow>(select, [before ?? lastId, limit + 1]),
      this.#database.query<{ total: number }>(count, [totalMax + 1]),
    ])
    return {
      tenants: listed.rows.slice(0, limit).map(toTenant),
      more: listed.rows.length > limit,
      total: counted.rows[0]!.total,
    }
  }

  async countWithJobs(max: number): Promise<number> {
    const { rows } = await this.#database.query<{ total: number }>(statements.countTenantsWithJobs, [max])
    return rows[0]!.total
  }

  async workLimits(tenantIds: readonly string[]): Promise<WorkLimits[]> {
    if (tenantIds.length === 0) return []
    const { rows } = await this.#database.query<Columns<WorkLimits>>(statements.selectWorkLimits, [tenantIds])
    return rows.map((row) => fromColumns<WorkLimits>(row))
  }

  async usage(tenantId: string, { activeJobsMax }: Pick<Tier, 'activeJobsMax'>): Promise<TenantUsage> {
    if (activeJobsMax !== null) {
      const limit = { tenantId, activeJobsMax }
      const used = await this.#database.transaction((queries) => readActiveJobs(queries, limit))
      return { activeJobs: { total: used, capped: false } }
    }
    const values = [tenantId, usageCountedMax + 1]
    const { rows } = await this.#database.query<{ used: number }>(countActiveJobs, values)
    const { used } = rows[0]!
    return { activeJobs: { total: Math.min(used, usageCountedMax), capped: used > usageCountedMax } }
  }

  async change(
    tenantId: string,
    { name = null, tier = null }: { name?: string | null; tier?: string | null },
  ): Promise<TenantOutcome | 'not_found'> {
    const changed = await this.#write(statements.updateTenant, [tenantId, name, tier])
    return changed ?? 'not_found'
  }

  // The constraints decide, not a look beforehand: of two that take one name at the same time, one gets it.
  async #write(statement: Sql, values: readonly unknown[]): Promise<TenantOutcome | null> {
    try {
      const { rows } = await this.#database.query<TenantRow>(statement, values)
      return rows[0] === undefined ? null : toTenant(rows[0])
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === uniqueViolation) return 'name_taken'
      if (code === foreignKeyViolation) return 'unknown_tier'
      throw error
    }
  }
}

const uniqueViolation = '23505'
const foreignKeyViolation = '23503'

/** A tenant, its tier in one row with it. */
type TenantRow = Columns<Omit<Tenant, 'tier'>> & Columns<Tier>

function toTenant(row: TenantRow): Tenant {
  const { tenant_id, name, created_at, deleted_at, purge_at, purge_begun_at, purged_at, ...tier } = row
  const end = { deleted_at, purge_at, purge_begun_at, purged_at }
  const own = fromColumns<Omit<Tenant, 'tier'>>({ tenant_id, name, created_at, ...end })
  return { ...own, tier: fromColumns<Tier>(tier) }
}
