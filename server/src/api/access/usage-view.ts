// A tenant against the limits of its tier, as clients see it.
import type { TenantUsage, Usage, UsageDay, UsageDays } from '@carillon/contract/tenant.ts'
import { emptyAt } from '../../domain/tenants/execution-budget.ts'
import type { Tenant, Tier } from '../../domain/tenants/tenant.ts'
import { type EpochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import type { ActivityBucket, ActivityPage } from '../../ports/activity.ts'
import type { Total } from '../../ports/jobs.ts'

/** The share of a limit from which on the tenant is warned. */
const alarmShare = 0.8

/** Counts of a tenant. */
export interface UsedParts {
  /** That count against the executions a minute. Null: there is no limit. */
  executionsSpent: number | null
  /** Null: there is no limit. */
  running: number | null
  activeJobs: Total
  waitingExecutions: Total
  /** Null: it is not counted. */
  storageBytes: number | null
  now: EpochMs
}

/** An entry of the answer; null: there is nothing to show. */
type ViewOfLimit = (tier: Tier, parts: UsedParts) => Usage | null

/** Two minutes' worth may come at once. */
const burstMinutes = 2

const executions: ViewOfLimit = ({ executionsPerMinute: limit }, { executionsSpent: spent, now }) =>
  spent === null || limit === null
    ? null
    : {
        ...usageOf('executions_per_minute', limit, { total: Math.ceil(spent), capped: false }),
        resets_at: spent === 0 ? null : toRfc3339(emptyAt({ spent, countedAt: now }, limit, now)),
        alarm: spent >= limit * burstMinutes * alarmShare,
      }

const running: ViewOfLimit = (tier, { running: count }) =>
  count === null
    ? null
    : usageOf('concurrent_executions_max', tier.concurrentExecutionsMax, { total: count, capped: false })

const activeJobs: ViewOfLimit = (tier, parts) =>
  usageOf('active_jobs_max', tier.activeJobsMax, parts.activeJobs)

const waitingExecutions: ViewOfLimit = (tier, parts) =>
  usageOf('waiting_executions_max', tier.waitingExecutionsMax, parts.waitingExecutions)

const storageBytes: ViewOfLimit = (tier, { storageBytes: bytes }) =>
  bytes === null ? null : usageOf('storage_bytes_max', tier.storageBytesMax, { total: bytes, capped: false })

/** In the order of the answer. */
const views: readonly ViewOfLimit[] = [activeJobs, waitingExecutions, storageBytes, executions, running]

export function toUsage({ tenantId, tier }: Tenant, parts: UsedParts): TenantUsage {
  const usage = views.map((view) => view(tier, parts)).filter((one) => one !== null)
  return { tenant_id: tenantId, tier: tier.tier, usage }
}

function usageOf(name: Usage['name'], limit: number | null, { total, capped }: Total): Usage {
  return { name, limit, used: total, capped, resets_at: null, alarm: isAlarming(limit, total) }
}

function isAlarming(limit: number | null, used: number): boolean {
  return limit !== null && used >= limit * alarmShare
}

export function toUsageDays(tenantId: string, { asOf, buckets }: ActivityPage): UsageDays {
  return { tenant_id: tenantId, as_of: toRfc3339(asOf), days: buckets.map(toUsageDay) }
}

function toUsageDay(bucket: ActivityBucket): UsageDay {
  const { succeeded, failed, timedOut, cancelled, skipped, retries, deadLetters } = bucket
  return {
    date: toRfc3339(bucket.at).slice(0, 10),
    executions: succeeded + failed + timedOut + cancelled,
    succeeded,
    failed,
    timed_out: timedOut,
    cancelled,
    skipped,
    retries,
    dead_letters: deadLetters,
  }
}
