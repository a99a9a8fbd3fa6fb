// Tenants and the limits of their tier.

import { TENANT_STATUSES } from './constants.ts'
import { expected } from './expected.ts'
import { Operation } from './operation.ts'
import { pageOf, pageParameters } from './pagination.ts'
import {
  describedObject,
  instant,
  instantOrNull,
  integerOrNull,
  oneOf,
  strict,
  strictObject,
  time,
  uuid,
} from './shapes.ts'
import * as Type from './type.ts'

/** The tier of a tenant when none is given. */
export const tierDefault = 'unlimited'

/** A limit in a request or a reply. */
const limitOrNull = (maximum: number, description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, maximum, description })

const name = Type.String({ minLength: 1, maxLength: 128, description: 'Unique among tenants.' })
const tierName = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The name of a tier: unlimited, free, pro, enterprise, or one that an operator added.',
})

export const TenantRequest = Type.Object(
  { name, tier: Type.Optional(tierName) },
  { ...strict, examples: [{ name: 'sales', tier: 'pro' }] },
)
export type TenantRequest = Type.Static<typeof TenantRequest>

export const TenantChange = Type.Object(
  { name: Type.Optional(name), tier: Type.Optional(tierName) },
  {
    ...strict,
    minProperties: 1,
    description: 'Fields that are left out stay unchanged.',
    examples: [{ tier: 'enterprise' }],
  },
)
export type TenantChange = Type.Static<typeof TenantChange>

const tierFields = {
  weight: Type.Integer({
    minimum: 1,
    maximum: 1_000,
    description: 'Its share of the workers, relative to other tenants with work.',
  }),
  history_days: Type.Integer({ minimum: 1, maximum: 365 }),
  payload_bytes_max: Type.Integer({ minimum: 1, maximum: 262_144 }),
  retries_max: Type.Integer({ minimum: 0, maximum: 100 }),
  interval_seconds_min: Type.Integer({ minimum: 1, maximum: 31_536_000 }),
  priority_best: Type.Integer({
    minimum: 1,
    maximum: 10,
    description: 'The smallest number allowed; 1 is the most urgent.',
  }),
  dead_letters: Type.Boolean({ description: 'Whether the tenant may see its dead letters.' }),
  requests_per_second: limitOrNull(
    1_000_000,
    'Average rate of API requests, to all servers together; bursts may be twice as large. Null: no limit.',
  ),
  host_calls_per_second: limitOrNull(
    1_000_000,
    'Average rate of calls to one host; bursts may be twice as large. Executions beyond it wait. Null: no limit.',
  ),
  active_jobs_max: limitOrNull(1_000_000_000, 'Jobs that are ACTIVE, or PAUSED with an end. Null: no limit.'),
  timeout_seconds_max: limitOrNull(604_800, 'The longest `timeout_seconds` of a job. Null: no limit.'),
  executions_per_minute: limitOrNull(
    10_000_000,
    'Average rate of executions; bursts may be twice as large. Slots beyond it wait, triggers are refused. Null: no limit.',
  ),
  concurrent_executions_max: limitOrNull(
    1_000_000,
    'Executions that run at once, on all workers together. Others wait. Null: no limit.',
  ),
  waiting_executions_max: limitOrNull(
    100_000_000,
    'Executions that wait to be started. Slots beyond it are skipped, triggers are refused. Null: no limit.',
  ),
  storage_bytes_max: limitOrNull(
    1_000_000_000_000_000,
    'Bundles, versions of jobs, payloads of waiting executions and logs together. Null: no limit.',
  ),
}

export const Tier = strictObject({ name: Type.String(), ...tierFields })
export type Tier = Type.Static<typeof Tier>

/** A tier as a whole: nothing is left out, so that nothing changes unnoticed. */
export const TierRequest = Type.Object(tierFields, {
  ...strict,
  description: 'All limits of the tier.',
  examples: [
    {
      weight: 3,
      history_days: 180,
      payload_bytes_max: 10_240,
      retries_max: 5,
      interval_seconds_min: 10,
      priority_best: 3,
      dead_letters: true,
      requests_per_second: 100,
      host_calls_per_second: 500,
      active_jobs_max: 100_000,
      timeout_seconds_max: 86_400,
      executions_per_minute: 1_000,
      concurrent_executions_max: 1_000,
      waiting_executions_max: 100_000,
      storage_bytes_max: 1_073_741_824,
    },
  ],
})
export type TierRequest = Type.Static<typeof TierRequest>

export const tierNameForm = {
  pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
  ...expected(
    'a name of 1 to 64 lowercase letters, digits, underscores and hyphens, the first a letter or digit, such as pro',
  ),
}

export const TierList = describedObject('All tiers, by name.', { tiers: Type.Array(Tier) })
export type TierList = Type.Static<typeof TierList>

/** The limits that an excess is looked up for. */
export const EXCEEDED_LIMITS = [
  'active_jobs_max',
  'waiting_executions_max',
  'storage_bytes_max',
  'timeout_seconds_max',
  'retries_max',
  'priority_best',
  'payload_bytes_max',
] as const

export const Excess = strictObject({
  limit: oneOf(EXCEEDED_LIMITS, 'The field of the tier.'),
  allowed: Type.Integer({ description: 'Its value in the tier.' }),
  used: Type.Integer({
    description: 'The value of the tenant: of the job that is furthest beyond the limit.',
  }),
  jobs: integerOrNull('Jobs beyond the limit, of the latest 10,000. Null: the limit is one of the tenant.'),
})
export type Excess = Type.Static<typeof Excess>

export const TierChanged = describedObject(
  'The tier as it is now, and the tenants that are beyond its limits.',
  {
    tier: Tier,
    exceeding: Type.Array(
      strictObject({ tenant_id: uuid, name: Type.String(), limits: Type.Array(Excess) }),
      {
        description:
          'At most 100 tenants. They keep their jobs; a change that would take them further beyond a limit is refused. Intervals between slots are not looked up.',
      },
    ),
    unchecked_tenants: Type.Integer({
      description: 'Tenants of the tier that were not looked at, because there are many. Usually 0.',
    }),
  },
)
export type TierChanged = Type.Static<typeof TierChanged>

export const Tenant = describedObject('The tenant.', {
  tenant_id: uuid,
  name: Type.String(),
  status: oneOf(
    TENANT_STATUSES,
    'DELETED: it can be restored. PURGING: its rows are being deleted. PURGED: they are gone.',
  ),
  tier: Tier,
  created_at: instant('Time of creation.'),
  deleted_at: instantOrNull('Time of the delete. Null: it is not deleted.'),
  purge_at: instantOrNull('Time at which the purge of its rows begins, or began. Null: it is not deleted.'),
  purged_at: instantOrNull('Time at which the purge was over.'),
})
export type Tenant = Type.Static<typeof Tenant>

/** The limits of a tier that a tenant uses up. */
export const USED_LIMITS = [
  'executions_per_minute',
  'concurrent_executions_max',
  'active_jobs_max',
  'waiting_executions_max',
  'storage_bytes_max',
] as const

export const Usage = strictObject({
  name: oneOf(USED_LIMITS, 'The field of the tier.'),
  limit: integerOrNull('Its value in the tier. Null: no limit.'),
  used: Type.Integer({
    description:
      'The part of it that the tenant uses. It may be some seconds old. Of `executions_per_minute`: the executions that count against it by now, at most two minutes’ worth.',
  }),
  capped: Type.Boolean({ description: 'Whether it is more: without a limit counting stops at 100,000.' }),
  resets_at: instantOrNull('When the used part is zero again. Null: when the tenant uses less.'),
  alarm: Type.Boolean({ description: 'Whether 80 % of the limit or more is used.' }),
})
export type Usage = Type.Static<typeof Usage>

export const TenantUsage = describedObject('The tenant against the limits of its tier.', {
  tenant_id: uuid,
  tier: Type.String({ description: 'The name of its tier.' }),
  usage: Type.Array(Usage, {
    description: 'Storage is counted under a limit only, and left out without one.',
  }),
})
export type TenantUsage = Type.Static<typeof TenantUsage>

/** How far an answer reaches, and how far it does by default. */
export const usageDaysMax = 400
export const usageDaysDefault = 30

export const UsageDaysQuery = strictObject({
  from: Type.Optional(time('The first day contains this instant. Default: 30 days before `to`.')),
  to: Type.Optional(time('The last day begins before this instant. Default: now.')),
})
export type UsageDaysQuery = Type.Static<typeof UsageDaysQuery>

export const UsageDay = strictObject({
  date: Type.String({ format: 'date', description: 'The day in UTC.' }),
  executions: Type.Integer({
    description: 'Executions that ended on this day: the sum of the four that follow.',
  }),
  succeeded: Type.Integer(),
  failed: Type.Integer({ description: 'Including executions given up after their workers were lost.' }),
  timed_out: Type.Integer(),
  cancelled: Type.Integer(),
  skipped: Type.Integer({ description: 'Skipped executions of graph runs, which never ran.' }),
  retries: Type.Integer({ description: 'Attempts that were not the first of their execution.' }),
  dead_letters: Type.Integer({ description: 'Executions that became a dead letter.' }),
})
export type UsageDay = Type.Static<typeof UsageDay>

export const UsageDays = describedObject('The executions of the tenant by day.', {
  tenant_id: uuid,
  as_of: instant('The counts include everything recorded before this instant.'),
  days: Type.Array(UsageDay, { description: 'Oldest first; days on which nothing ended are left out.' }),
})
export type UsageDays = Type.Static<typeof UsageDays>

/** The answer to a change. */
export const TenantChanged = describedObject('The tenant as it is now.', {
  ...Tenant.properties,
  exceeding: Type.Optional(
    Type.Array(Excess, {
      description: 'After a change of the tier: the limits of the new one that the tenant is beyond.',
    }),
  ),
})
export type TenantChanged = Type.Static<typeof TenantChanged>

/** The answer to a delete, a restore and a purge. */
export const TenantEnding = describedObject(
  'The tenant as it is now, and the operation that does the rest; to read it, name the tenant in `X-Tenant-ID`.',
  { tenant: Tenant, operation: Operation },
)
export type TenantEnding = Type.Static<typeof TenantEnding>

export const TenantPurgeRequest = Type.Object(
  { name: Type.String({ maxLength: 128, description: 'The name of the tenant, to confirm it.' }) },
  { ...strict, examples: [{ name: 'sales' }] },
)
export type TenantPurgeRequest = Type.Static<typeof TenantPurgeRequest>

export const TenantListQuery = strictObject({
  ...pageParameters,
  status: Type.Optional(
    oneOf(['ACTIVE', 'DELETED'], 'DELETED: the tenants that are deleted and not purged yet.'),
  ),
})
export type TenantListQuery = Type.Static<typeof TenantListQuery>

export const TenantList = pageOf('A page of the list.', { tenants: Type.Array(Tenant) })
export type TenantList = Type.Static<typeof TenantList>
