// The end of tenants on PostgreSQL. The order of locks: the work on the tenant, the tenant, and last the fence, behind which
// all fires wait until the commit.
import type { JobStatus } from '../../domain/jobs/job.ts'
import type { TenantOperationKind } from '../../domain/jobs/operation.ts'
import type { TenantStage, TenantWork } from '../../domain/tenants/tenant-end.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type {
  DeleteOrder,
  TenantEndOutcome,
  TenantEnds,
  TenantOrder,
  TenantProgress,
  TenantStep,
} from '../../ports/tenant-ends.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import { withToday } from '../connection/daily-partitions.ts'
import { type Queries, type Transactions, within } from '../connection/database.ts'
import { PostgresJobs } from '../jobs/jobs.ts'
import { PostgresOperations } from '../jobs/operations.ts'
import { storesOn } from '../jobs/requests.ts'
import { purgeSome } from './purge-tenant.ts'
import * as statements from './tenant-ends.sql.ts'
import { PostgresTenants } from './tenants.ts'

export class PostgresTenantEnds implements TenantEnds {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  delete(order: DeleteOrder): Promise<TenantEndOutcome> {
    const { tenantId, operationId, requestedBy, cancelRunning, purgeAfterMs } = order
    return this.#database.transaction(async (queries) => {
      const found = await lock(queries, tenantId)
      if (found === null) return 'not_found'
      if (found.isPurging) return 'purging'
      if (found.isDeleted) return answer(queries, tenantId, found.work!.operation_id)
      if (found.work !== null) return 'busy'
      const total = await countJobs(queries, tenantId, 'ACTIVE')
      await queries.query(statements.fenceTenants, [])
      await queries.query(statements.markDeleted, [
        tenantId,
        purgeAfterMs,
        operationId,
        requestedBy,
        cancelRunning,
      ])
      await begin(queries, order, { kind: 'tenant_delete', total })
      return answer(queries, tenantId, operationId)
    })
  }

  restore(order: TenantOrder): Promise<TenantEndOutcome> {
    const { tenantId, operationId, requestedBy } = order
    return this.#database.transaction(async (queries) => {
      const found = await lock(queries, tenantId)
      if (found === null) return 'not_found'
      if (found.isPurging) return 'purging'
      if (!found.isDeleted) return 'not_deleted'
      if (found.work!.stage !== 'keep') return 'busy'
      await queries.query(statements.markRestored, [tenantId, operationId, requestedBy])
      const total = await countJobs(queries, tenantId, 'PAUSED')
      await begin(queries, order, { kind: 'tenant_restore', total })
      return answer(queries, tenantId, operationId)
    })
  }

  purge(order: TenantOrder): Promise<TenantEndOutcome> {
    return this.#database.transaction(async (queries) => {
      const found = await lock(queries, order.tenantId)
      if (found === null) return 'not_found'
      if (!found.isDeleted) return 'not_deleted'
      if (found.work === null) return 'purging'
      if (found.isPurging) return answer(queries, order.tenantId, found.work.operation_id)
      if (found.work.stage !== 'keep') return 'busy'
      await beginPurge(queries, order)
      return answer(queries, order.tenantId, order.operationId)
    })
  }

  async step(work: TenantStep, newOperationId: string): Promise<TenantStage | null> {
    let taken: string | null = null
    try {
      return await withToday(this.#database, () =>
        this.#database.transaction(async (queries) => {
          const { rows } = await queries.query<Columns<TenantWork>>(statements.takeTenantWork, [])
          if (rows[0] === undefined) return null
          const one = fromColumns<TenantWork>(rows[0])
          taken = one.tenantId
          if (one.stage === 'stop') await queries.query(statements.cancelTenantOperations, [one.tenantId])
          const stores = storesOn(within(queries))
          const progress = await work(one, {
            ...stores,
            purgeSome: (tenantId) => purgeSome(queries, tenantId, one.operationId),
          })
          await advance(queries, { one, progress, newOperationId })
          return one.stage
        }),
      )
    } catch (error) {
      // The step is undone; that it failed is written apart. It is never given up: others go first meanwhile.
      if (taken !== null) await this.#database.query(statements.delayTenantWork, [taken]).catch(() => {})
      throw error
    }
  }

  async nextAt(): Promise<EpochMs | null> {
    const { rows } = await this.#database.query<{ at: EpochMs | null }>(statements.selectNextTenantWork, [])
    return rows[0]!.at
  }
}

interface Locked {
  isDeleted: boolean
  isPurging: boolean
  /** Null: there is none. */
  work: { stage: TenantStage; operation_id: string } | null
}

/** The work before the tenant, as a step that is under way has it. */
async function lock(queries: Queries, tenantId: string): Promise<Locked | null> {
  const first = await lockWork(queries, tenantId)
  const { rows } = await queries.query<LockedRow>(statements.lockTenant, [tenantId])
  if (rows[0] === undefined) return null
  const { deleted_at, purge_begun_at } = rows[0]
  // Another delete may have begun it since.
  const work = first ?? (await lockWork(queries, tenantId))
  return { isDeleted: deleted_at !== null, isPurging: purge_begun_at !== null, work }
}

async function lockWork(queries: Queries, tenantId: string): Promise<Locked['work']> {
  const { rows } = await queries.query<NonNullable<Locked['work']>>(statements.lockWork, [tenantId])
  return rows[0] ?? null
}

async function countJobs(queries: Queries, tenantId: string, status: JobStatus | null) {
  return new PostgresJobs(within(queries)).count(tenantId, { status, tag: null, q: null })
}

async function begin(
  queries: Queries,
  { tenantId, operationId, requestedBy }: TenantOrder,
  { kind, total }: { kind: TenantOperationKind; total: { total: number; capped: boolean } },
): Promise<void> {
  const values = [tenantId, operationId, kind, total.total, total.capped, requestedBy]
  await queries.query(statements.insertTenantOperation, values)
}

async function beginPurge(queries: Queries, order: TenantOrder): Promise<void> {
  const { tenantId, operationId, requestedBy } = order
  await queries.query(statements.markPurging, [tenantId, operationId, requestedBy])
  await begin(queries, order, { kind: 'tenant_purge', total: await countJobs(queries, tenantId, null) })
}

async function answer(queries: Queries, tenantId: string, operationId: string): Promise<TenantEndOutcome> {
  const tenant = await new PostgresTenants(within(queries)).get(tenantId)
  const operation = await new PostgresOperations(within(queries)).get(tenantId, operationId)
  return tenant === null || operation === null ? 'not_found' : { tenant, operation }
}

interface Advance {
  one: TenantWork
  progress: TenantProgress
  newOperationId: string
}

async function advance(queries: Queries, { one, progress, newOperationId }: Advance): Promise<void> {
  const { tenantId, stage, operationId, requestedBy } = one
  const { done, skipped, after, waitMs, isOver } = progress
  if (stage !== 'keep')
    await queries.query(statements.advanceTenantOperation, [operationId, done, skipped, isOver])
  if (!isOver) await queries.query(statements.advanceTenantWork, [tenantId, after, waitMs, null])
  else if (stage === 'stop')
    await queries.query(statements.advanceTenantWork, [tenantId, null, waitMs, 'keep'])
  else if (stage === 'keep') await beginPurge(queries, { tenantId, operationId: newOperationId, requestedBy })
  else if (stage === 'restore') await queries.query(statements.deleteTenantWork, [tenantId])
  else await queries.query(statements.markPurged, [tenantId])
}

interface LockedRow {
  deleted_at: EpochMs | null
  purge_begun_at: EpochMs | null
}
