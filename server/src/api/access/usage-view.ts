// A tenant against the limits of its tier, as clients see it.
import type { TenantUsage, Usage } from '@carillon/contract/tenant.ts'
import type { Tenant } from '../../domain/tenants/tenant.ts'
import type * as ports from '../../ports/tenants.ts'

/** The share of a limit from which on the tenant is warned. */
const alarmShare = 0.8

export function toUsage({ tenantId, tier }: Tenant, { activeJobs }: ports.TenantUsage): TenantUsage {
  const activeJobsUsage: Usage = {
    name: 'active_jobs_max',
    limit: tier.activeJobsMax,
    used: activeJobs.total,
    capped: activeJobs.capped,
    resets_at: null,
    alarm: isAlarming(tier.activeJobsMax, activeJobs.total),
  }
  return { tenant_id: tenantId, tier: tier.tier, usage: [activeJobsUsage] }
}

function isAlarming(limit: number | null, used: number): boolean {
  return limit !== null && used >= limit * alarmShare
}
