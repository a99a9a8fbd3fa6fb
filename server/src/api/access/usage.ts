// GET /api/v1/tenants/{tenant_id}/usage and …/usage/days: how much of its limits a tenant uses, and how much it ran.
import {
  TenantUsage,
  UsageDays,
  UsageDaysQuery,
  usageDaysDefault,
  usageDaysMax,
} from '@carillon/contract/tenant.ts'
import type { FastifyInstance } from 'fastify'
import type { Tenant } from '../../domain/tenants/tenant.ts'
import { actForTenant } from '../../domain/tenants/tenant-scope.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Total } from '../../ports/jobs.ts'
import type { StorePorts } from '../../ports/store.ts'
import { usageCountedMax } from '../../ports/tenants.ts'
import type { World } from '../../ports/world.ts'
import { readSpan } from '../http/date-range.ts'
import { refuseField } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { findVisible } from './find-visible.ts'
import { toUsage, toUsageDays, type UsedParts } from './usage-view.ts'

export interface UsageDeps
  extends Pick<World, 'clock'>,
    Pick<StorePorts, 'tenants' | 'tenantRoom' | 'activity' | 'executionBudgets' | 'peers'> {}

const tag = 'operations'
type TenantParams = { tenant_id: string }

export function usageRoutes(app: FastifyInstance, deps: UsageDeps): void {
  const { clock, tenants, activity } = deps

  app.get<{ Params: TenantParams }>(
    '/tenants/:tenant_id/usage',
    route(tag, 'read', 'The usage of the limits of a tenant', {
      description: 'A tenant sees its own; operators see all.',
      querystring: {},
      answer: TenantUsage,
    }),
    async ({ caller, params }): Promise<TenantUsage> => {
      const tenant = await findVisible(tenants, caller, params.tenant_id)
      return toUsage(tenant, await findUsed(deps, tenant))
    },
  )

  app.get<{ Params: TenantParams; Querystring: UsageDaysQuery }>(
    '/tenants/:tenant_id/usage/days',
    route(tag, 'read', 'The executions of a tenant by day', {
      description:
        'A tenant sees its own; operators see all. Days are kept for 400 days, and an answer covers as many at most.',
      querystring: UsageDaysQuery,
      answer: UsageDays,
    }),
    async ({ caller, params, query }): Promise<UsageDays> => {
      const { tenantId } = await findVisible(tenants, caller, params.tenant_id)
      const span = readDays(query, clock.databaseNow())
      // An operator may ask for another tenant than the one it acts for.
      const page = await actForTenant(tenantId, () => activity.ofTenant({ tenantId, step: 'day', ...span }))
      return toUsageDays(tenantId, page)
    },
  )
}

async function findUsed(deps: UsageDeps, { tenantId, tier }: Tenant): Promise<UsedParts> {
  const { clock, tenants, tenantRoom, executionBudgets } = deps
  const waitingMax = Math.max(usageCountedMax, tier.waitingExecutionsMax ?? 0)
  const [{ activeJobs }, waiting, storageBytes, spent, running] = await Promise.all([
    tenants.usage(tenantId, tier),
    tenantRoom.countWaiting(tenantId, waitingMax),
    tier.storageBytesMax === null ? null : tenantRoom.storageUsed(tenantId),
    tier.executionsPerMinute === null ? null : executionBudgets.spent(tenantId),
    tier.concurrentExecutionsMax === null ? null : countRunning(deps, tenantId),
  ])
  const executionsSpent = tier.executionsPerMinute === null ? null : (spent ?? 0)
  const waitingExecutions = capAt(waiting, waitingMax)
  return { activeJobs, waitingExecutions, storageBytes, executionsSpent, running, now: clock.databaseNow() }
}

async function countRunning({ peers }: UsageDeps, tenantId: string): Promise<number> {
  const [{ calls = 0, commands = 0, own = 0 } = {}] = await peers.countRunning([tenantId], [])
  return calls + commands + own
}

function capAt(count: number, max: number): Total {
  return { total: Math.min(count, max), capped: count > max }
}

/** Whole days in UTC. */
function readDays({ from, to }: UsageDaysQuery, now: EpochMs): { from: EpochMs; to: EpochMs } {
  const end = to === undefined ? now : readSpan(to, 'to').first
  const start = from === undefined ? end - usageDaysDefault * dayMs : readSpan(from, 'from').first
  if (start >= end) throw refuseField('from', 'must lie before `to`')
  if (end - start > usageDaysMax * dayMs)
    throw refuseField('from', `lies more than ${usageDaysMax} days before \`to\``)
  return { from: epochMs(Math.floor(start / dayMs) * dayMs), to: end }
}
