// The end of tenants in memory. The delete of a tenant is seen by everything at once, and there is no fence to wait for.
import type { NewOperation, TenantOperationKind } from '../../src/domain/jobs/operation.ts'
import type { Tenant } from '../../src/domain/tenants/tenant.ts'
import type { TenantStage, TenantWork } from '../../src/domain/tenants/tenant-end.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import { totalMax } from '../../src/ports/executions.ts'
import type { WriteStores } from '../../src/ports/requests.ts'
import type {
  DeleteOrder,
  TenantEndOutcome,
  TenantEnds,
  TenantOrder,
  TenantProgress,
  TenantStep,
} from '../../src/ports/tenant-ends.ts'
import type { MemoryApiKeys } from './api-keys.ts'
import type { MemoryArtifacts } from './artifacts.ts'
import { purgeSome } from './purge-tenant.ts'
import type { TenantWorkRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'
import { type MemoryTenants, undeleted } from './tenants.ts'

export interface TenantTables {
  tenants: MemoryTenants
  apiKeys: MemoryApiKeys
  artifacts: MemoryArtifacts
}

export class MemoryTenantEnds implements TenantEnds {
  readonly #store: MemoryStore
  readonly #tables: TenantTables
  readonly #stores: () => WriteStores

  constructor(store: MemoryStore, tables: TenantTables, stores: () => WriteStores) {
    this.#store = store
    this.#tables = tables
    this.#stores = stores
  }

  async delete(order: DeleteOrder): Promise<TenantEndOutcome> {
    const { tenantId, cancelRunning, purgeAfterMs, requestedBy } = order
    const tenant = this.#tables.tenants.all.get(tenantId)
    if (tenant === undefined) return 'not_found'
    if (tenant.purgeBegunAt !== null) return 'purging'
    const work = this.#store.tenantWork.get(tenantId)
    if (tenant.deletedAt !== null) return this.#answer(tenantId, work!.operationId)
    if (work !== undefined) return 'busy'
    const now = this.#store.now()
    this.#change(tenant, { deletedAt: now, purgeAt: epochMs(now + purgeAfterMs) })
    this.#store.deletedTenants.add(tenantId)
    const fresh = { failures: 0, inFlight: false, nextAt: now, deletedAt: now, after: null }
    const { operationId } = order
    const stage = { tenantId, stage: 'stop', operationId, requestedBy, cancelRunning } as const
    this.#store.tenantWork.set(tenantId, { ...stage, ...fresh })
    this.#begin(order, 'tenant_delete', this.#countJobs(tenantId, 'ACTIVE'))
    return this.#answer(tenantId, operationId)
  }

  async restore(order: TenantOrder): Promise<TenantEndOutcome> {
    const { tenantId, operationId, requestedBy } = order
    const tenant = this.#tables.tenants.all.get(tenantId)
    if (tenant === undefined) return 'not_found'
    if (tenant.purgeBegunAt !== null) return 'purging'
    if (tenant.deletedAt === null) return 'not_deleted'
    const work = this.#store.tenantWork.get(tenantId)!
    if (work.stage !== 'keep' || work.inFlight) return 'busy'
    const now = this.#store.now()
    this.#change(tenant, undeleted)
    this.#store.deletedTenants.delete(tenantId)
    this.#store.restoredAt.set(tenantId, now)
    const begun = { after: null, failures: 0, nextAt: now }
    Object.assign(work, { stage: 'restore', operationId, requestedBy, ...begun })
    this.#begin(order, 'tenant_restore', this.#countJobs(tenantId, 'PAUSED'))
    return this.#answer(tenantId, operationId)
  }

  async purge(order: TenantOrder): Promise<TenantEndOutcome> {
    const { tenantId, operationId } = order
    const tenant = this.#tables.tenants.all.get(tenantId)
    if (tenant === undefined) return 'not_found'
    if (tenant.deletedAt === null) return 'not_deleted'
    const work = this.#store.tenantWork.get(tenantId)
    if (work === undefined) return 'purging'
    if (tenant.purgeBegunAt !== null) return this.#answer(tenantId, work.operationId)
    if (work.stage !== 'keep' || work.inFlight) return 'busy'
    this.#beginPurge(work, order)
    return this.#answer(tenantId, operationId)
  }

  async step(work: TenantStep, newOperationId: string): Promise<TenantStage | null> {
    const row = this.#takeDue()
    if (row === null) return null
    const { stage, tenantId } = row
    row.inFlight = true
    try {
      if (stage === 'stop') this.#cancelOperations(tenantId)
      const progress = await work(this.#workOf(row), {
        ...this.#stores(),
        purgeSome: async () =>
          purgeSome(this.#store, this.#tables, { tenantId, operationId: row.operationId }),
      })
      this.#advance(row, progress, newOperationId)
      return stage
    } catch (error) {
      row.failures += 1
      row.nextAt = epochMs(this.#store.now() + 1_000 * Math.min(60, 2 ** Math.min(6, row.failures - 1)))
      throw error
    } finally {
      row.inFlight = false
    }
  }

  async nextAt(): Promise<EpochMs | null> {
    const times = [...this.#store.tenantWork.values()].map(({ nextAt }) => nextAt)
    return times.length === 0 ? null : epochMs(Math.min(...times))
  }

  #advance(row: TenantWorkRow, progress: TenantProgress, newOperationId: string): void {
    const { tenantId, stage, requestedBy, operationId } = row
    const { done, skipped, after, waitMs, isOver } = progress
    const now = this.#store.now()
    const operation = this.#store.operations.get(operationId)?.operation
    if (stage !== 'keep' && operation?.status === 'RUNNING') {
      operation.done += done
      operation.skipped += skipped
      if (isOver) Object.assign(operation, { status: 'COMPLETED', finishedAt: now })
    }
    row.failures = 0
    row.after = isOver ? null : after
    row.nextAt = epochMs(now + waitMs)
    if (isOver && stage === 'stop') row.stage = 'keep'
    if (!isOver || stage === 'stop') return
    if (stage === 'keep') this.#beginPurge(row, { tenantId, operationId: newOperationId, requestedBy })
    else this.#store.tenantWork.delete(tenantId)
    if (stage !== 'purge') return
    this.#change(this.#tables.tenants.all.get(tenantId)!, { purgedAt: now })
    this.#store.deletedTenants.delete(tenantId)
    this.#store.restoredAt.delete(tenantId)
    this.#store.signingKeys.delete(tenantId)
  }

  #beginPurge(work: TenantWorkRow, order: TenantOrder): void {
    const { tenantId, operationId, requestedBy } = order
    const now = this.#store.now()
    const tenant = this.#tables.tenants.all.get(tenantId)!
    this.#change(tenant, { purgeBegunAt: now, purgeAt: epochMs(Math.min(tenant.purgeAt!, now)) })
    const begun = { after: null, failures: 0, nextAt: now }
    Object.assign(work, { stage: 'purge', operationId, requestedBy, ...begun })
    this.#begin(order, 'tenant_purge', this.#countJobs(tenantId, null))
  }

  #takeDue(): TenantWorkRow | null {
    const due = [...this.#store.tenantWork.values()].filter(({ inFlight }) => !inFlight)
    const [first] = due.toSorted((a, b) => a.nextAt - b.nextAt || compareText(a.tenantId, b.tenantId))
    return first !== undefined && first.nextAt <= this.#store.now() ? first : null
  }

  #workOf({ nextAt: _next, failures: _failures, inFlight: _inFlight, ...work }: TenantWorkRow): TenantWork {
    const { purgeAt } = this.#tables.tenants.all.get(work.tenantId)!
    return { ...work, purgeAt, restoredAt: this.#store.restoredAt.get(work.tenantId) ?? null }
  }

  #change(tenant: Tenant, changes: Partial<Tenant>): void {
    this.#tables.tenants.all.set(tenant.tenantId, { ...tenant, ...changes })
  }

  #begin({ tenantId, operationId, requestedBy }: TenantOrder, kind: TenantOperationKind, jobs: number): void {
    const total = { total: Math.min(jobs, totalMax), totalCapped: jobs > totalMax }
    const said = { filter: {}, options: {}, createdBy: requestedBy, createdAt: this.#store.now() }
    const given: NewOperation = { operationId, tenantId, kind, ...said, ...total }
    const fresh = {
      status: 'RUNNING',
      done: 0,
      skipped: 0,
      after: null,
      error: null,
      finishedAt: null,
    } as const
    const operation = { ...given, ...fresh }
    this.#store.operations.set(operationId, { operation, nextAt: null, failures: 0, inFlight: false })
  }

  #cancelOperations(tenantId: string): void {
    for (const row of this.#store.operations.values()) {
      const { operation } = row
      if (operation.tenantId !== tenantId || operation.kind.startsWith('tenant_')) continue
      if (operation.status !== 'RUNNING') continue
      Object.assign(operation, { status: 'CANCELLED', finishedAt: this.#store.now() })
      row.nextAt = null
    }
  }

  #countJobs(tenantId: string, status: string | null): number {
    const jobs = [...this.#store.jobs.values()].filter((job) => job.tenantId === tenantId)
    return jobs.filter(({ cursor }) => {
      return status === null ? cursor.status !== 'DELETED' : cursor.status === status
    }).length
  }

  #answer(tenantId: string, operationId: string): TenantEndOutcome {
    const tenant = this.#tables.tenants.all.get(tenantId)!
    const row = this.#store.operations.get(operationId)
    return row === undefined ? 'not_found' : { tenant, operation: structuredClone(row.operation) }
  }
}
