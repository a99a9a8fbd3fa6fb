// Tenants as operators make and change them. Their end is in tenant-ends.ts.
import type { Tenant, Tier } from '../domain/tenants/tenant.ts'
import type { Total } from './jobs.ts'

export interface Tenants {
  create(tenant: NewTenant): Promise<TenantOutcome>
  /** Also one that is deleted or purged. */
  get(tenantId: string): Promise<Tenant | null>
  /** Newest first, behind `before` (a tenant id). `deleted`: the ones that are deleted and not purged, instead of the others. */
  list(query: { before: string | null; limit: number; deleted?: boolean }): Promise<TenantPage>
  /** How many tenants have jobs, or had some before they were deleted; counted up to `max`. */
  countWithJobs(max: number): Promise<number>
  /** The limits that workers keep, of these tenants; the ones without any are left out. At most 1,000 at once. */
  workLimits(tenantIds: readonly string[]): Promise<WorkLimits[]>
  /**
   * Of a tenant that is there. A count of some seconds' age is taken as it is; without a limit counting stops at
   * `usageCountedMax`.
   */
  usage(tenantId: string, limits: Pick<Tier, 'activeJobsMax'>): Promise<TenantUsage>
  /** Absent fields stay unchanged. A deleted tenant is not changed. */
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
