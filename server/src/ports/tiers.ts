// Tiers as operators read and change them. None is ever deleted: tenants are on it, or were.
import type { Tier } from '../domain/tenants/tenant.ts'

export interface Tiers {
  /** By name; at most `tiersMax`. */
  list(): Promise<Tier[]>
  get(name: string): Promise<Tier | null>
  /** As a whole. 'too_many': it is a new one, and there are `tiersMax`. */
  put(tier: Tier): Promise<'created' | 'changed' | 'too_many'>
  /** Tenants on the tier that are not deleted, oldest first, at most so many; and how many there are in all. */
  listTenants(
    name: string,
    limit: number,
  ): Promise<{ tenants: { tenantId: string; name: string }[]; total: number }>
  /** The tenant against the limits of a tier. Counts its active jobs, waiting executions and storage, and looks at its latest `judgedJobsMax` jobs. */
  measure(tenantId: string, tier: Tier): Promise<TenantMeasure>
}

export const judgedJobsMax = 10_000

export interface TenantMeasure {
  /** See domain/jobs/active-jobs.ts. */
  activeJobs: number
  /** Counted to just beyond the limit. */
  waitingExecutions: number
  /** Counted anew; 0 without a limit. */
  storageBytes: number
  /** Jobs beyond a limit of the tier, with the value that is furthest beyond it; null: none. */
  timeoutSeconds: JobsBeyond | null
  retries: JobsBeyond | null
  priority: JobsBeyond | null
  payloadBytes: JobsBeyond | null
}

export interface JobsBeyond {
  jobs: number
  furthest: number
}
