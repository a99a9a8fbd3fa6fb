// The tenants that are beyond the limits of their tier, for the operator that has just set them.
import type { Excess, TierChanged } from '@carillon/contract/tenant.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import type { Clock } from '../../ports/clock.ts'
import type { JobsBeyond, TenantMeasure, Tiers } from '../../ports/tiers.ts'

const tenantsMax = 100
/** Counting the jobs of a tenant takes up to 0.1 s: the answer does not wait for more than some of them. */
const measuringMsMax = 2_000

type Found = Pick<TierChanged, 'exceeding' | 'unchecked_tenants'>

export async function findExceeding(
  { clock, tiers }: { clock: Pick<Clock, 'monotonicMs'>; tiers: Pick<Tiers, 'listTenants' | 'measure'> },
  tier: Tier,
): Promise<Found> {
  const untilMs = clock.monotonicMs() + measuringMsMax
  const { tenants, total } = await tiers.listTenants(tier.tier, tenantsMax)
  const exceeding: Found['exceeding'] = []
  let checked = 0
  for (const { tenantId, name } of tenants) {
    if (clock.monotonicMs() >= untilMs) break
    const limits = excessOf(await tiers.measure(tenantId, tier), tier)
    if (limits.length > 0) exceeding.push({ tenant_id: tenantId, name, limits })
    checked += 1
  }
  return { exceeding, unchecked_tenants: total - checked }
}

export function excessOf(measure: TenantMeasure, tier: Tier): Excess[] {
  const { timeoutSecondsMax, retriesMax, priorityBest, payloadBytesMax } = tier
  const used: [Excess['limit'], number | null, number][] = [
    ['active_jobs_max', tier.activeJobsMax, measure.activeJobs],
    ['waiting_executions_max', tier.waitingExecutionsMax, measure.waitingExecutions],
    ['storage_bytes_max', tier.storageBytesMax, measure.storageBytes],
  ]
  const counted = used.flatMap(([limit, allowed, count]): Excess[] =>
    allowed !== null && count > allowed ? [{ limit, allowed, used: count, jobs: null }] : [],
  )
  const found: [Excess['limit'], number | null, JobsBeyond | null][] = [
    ['timeout_seconds_max', timeoutSecondsMax, measure.timeoutSeconds],
    ['retries_max', retriesMax, measure.retries],
    ['priority_best', priorityBest, measure.priority],
    ['payload_bytes_max', payloadBytesMax, measure.payloadBytes],
  ]
  const byJob = found.flatMap(([limit, allowed, one]) =>
    one === null || allowed === null ? [] : [{ limit, allowed, used: one.furthest, jobs: one.jobs }],
  )
  return [...counted, ...byJob]
}
