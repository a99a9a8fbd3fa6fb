// The end of tenants: delete, restore and purge. A delete takes effect with its commit: from then on nothing that the
// tenant owns makes an execution, on any server. All the rest is work in bounded steps, each of them one transaction.
import type { Operation } from '../domain/jobs/operation.ts'
import type { Tenant } from '../domain/tenants/tenant.ts'
import type { TenantStage, TenantWork } from '../domain/tenants/tenant-end.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { WriteStores } from './requests.ts'

export interface TenantEnds {
  /** Again: the first time counts. Waits, for less than a lock may be waited for, until fires under way have committed. */
  delete(order: DeleteOrder): Promise<TenantEndOutcome>
  /** Undoes a delete, unless the purge has begun. */
  restore(order: TenantOrder): Promise<TenantEndOutcome>
  /** Begins the purge of a deleted tenant before its time. Again: the first time counts. */
  purge(order: TenantOrder): Promise<TenantEndOutcome>
  /**
   * Takes the work on a tenant that is due and that no other scheduler holds, lets `work` do a part of it, and writes its
   * progress. Null: none is due. An error thrown by `work` undoes the step; it is tried again, later each time.
   * `newOperationId`: of a purge that begins by itself.
   */
  step(work: TenantStep, newOperationId: string): Promise<TenantStage | null>
  /** When the next work is due; null: there is none. */
  nextAt(): Promise<EpochMs | null>
}

export interface TenantOrder {
  tenantId: string
  operationId: string
  requestedBy: string
}

export interface DeleteOrder extends TenantOrder {
  cancelRunning: boolean
  purgeAfterMs: number
}

/**
 * not_deleted: of a tenant that is not deleted there is nothing to restore or purge. busy: its jobs are still being stopped
 * or resumed. purging: the purge has begun, or is over.
 */
export type TenantEndOutcome =
  | { tenant: Tenant; operation: Operation }
  | 'not_found'
  | 'not_deleted'
  | 'busy'
  | 'purging'

/** The stores write in the step's transaction. */
export type TenantStep = (work: TenantWork, stores: TenantStores) => Promise<TenantProgress>

export interface TenantStores extends WriteStores {
  /** Deletes rows of a tenant, a bounded number: jobs and their rows last, and none while an execution is under way. */
  purgeSome(tenantId: string): Promise<Purged | 'under_way'>
}

export interface Purged {
  /** 0: none are left. */
  rows: number
  /** Among them. */
  jobs: number
}

export interface TenantProgress {
  /** Items of its operation since the step before. */
  done: number
  skipped: number
  /** See `TenantWork`. */
  after: string | null
  waitMs: number
  /** The stage is over. */
  isOver: boolean
}
