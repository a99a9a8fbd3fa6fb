// Tenants as operators make and change them. None is ever deleted: its history keeps its name.
import type { Tenant } from '../domain/tenants/tenant.ts'

export interface Tenants {
  create(tenant: NewTenant): Promise<TenantOutcome>
  get(tenantId: string): Promise<Tenant | null>
  /** Newest first, behind `before` (a tenant id). */
  list(query: { before: string | null; limit: number }): Promise<TenantPage>
  /** How many tenants have jobs, or had some before they were deleted; counted up to `max`. */
  countWithJobs(max: number): Promise<number>
  /** Absent fields stay unchanged. */
  change(tenantId: string, changes: { name?: string; tier?: string }): Promise<TenantOutcome | 'not_found'>
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
