// Tenants as operators make and change them. None is ever deleted: its history keeps its name.
import type { Tenant, Tier } from '../domain/tenants/tenant.ts'
import type { Total } from './jobs.ts'

export interface Tenants {
  create(tenant: NewTenant): Promise<TenantOutcome>
  get(tenantId: string): Promise<Tenant | null>
  /** Newest first, behind `before` (a tenant id). */
  list(query: { before: string | null; limit: number }): Promise<TenantPage>
  /** How many tenants have jobs, or had some before they were deleted; counted up to `max`. */
  countWithJobs(max: number): Promise<number>
  /** The limits that workers keep, of these tenants; the ones without any are left out. At most 1,000 at once. */
  workLimits(tenantIds: readonly string[]): Promise<WorkLimits[]>
  /**
   * Of a tenant that is there. A count of some seconds' age is taken as it is; without a limit counting stops at
   * `usageCountedMax`.
   */
  usage(tenantId: string, limits: Pick<Tier, 'activeJobsMax'>): Promise<TenantUsage>
  /** Absent fields stay unchanged. */
  change(tenantId: string, changes: { name?: string; tier?: string }): Promise<TenantOutcome | 'not_found'>
}

/** See `Tier`. */
export interface WorkLimits extends Pick<Tier, 'hostCallsPerSecond' | 'concurrentExecutionsMax'> {
  tenantId: string
}

export const usageCountedMax = 100_000

export interface TenantUsage {
  /** See domain/jobs/active-jobs.ts. `capped`: there are more. */
  activeJobs: Total
}

export interface NewTenant {
  tenantId: string
  /** Unique. */
  name: string
  /** The name of a tier. */
  tier: string
}

export type TenantOutcome = Tenant | 'name_taken' | 'unknown_tier'

export interface TenantPage {
  tenants: Tenant[]
  more: boolean
  /** `totalMax` + 1 stands for more. */
  total: number
}
