// From a request to a version of a job that can be stored: the rules a schema cannot say, and the defaults. The same
// for a new job and for one that is changed.
import type { JobRequest } from '@carillon/contract/job.ts'
import type { Dependency } from '../../domain/graphs/graph.ts'
import { spellOut } from '../../domain/jobs/clock-rule.ts'
import { type JobVersion, noSchedule } from '../../domain/jobs/job.ts'
import { compileSchedule } from '../../domain/schedule/compile-schedule.ts'
import type { Calendars } from '../../domain/schedule/exclusions.ts'
import type { CompiledSchedule } from '../../domain/schedule/next-run.ts'
import { refuse } from '../../domain/schedule/schedule-error.ts'
import { shortestGapSeconds } from '../../domain/schedule/shortest-gap.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { checkTier, defaultsOf } from '../access/tier-limits.ts'
import type { ApiError } from '../http/api-error.ts'
import { escapePointer, refuseField } from '../http/problem.ts'
import { refuseSchedule } from './schedule-refusal.ts'
import { dependenciesOf } from './validate-dependencies.ts'
import { defineExecution } from './validate-execution.ts'

export interface DefinitionContext {
  jobId: string
  tenantId: string
  tier: Tier
  version: number
  /** Where an interval without a start begins. */
  anchorAt: EpochMs
  /** The calendars that the request may name. */
  calendars: Calendars
}

export interface DefinedJob {
  definition: JobVersion
  /** Null: it has no schedule, and runs after others only. */
  compiled: CompiledSchedule | null
}

const metadataNameMax = 64

/** Throws the refusal of an invalid request. */
export function defineJob(request: JobRequest, context: DefinitionContext): DefinedJob {
  const { jobId, tenantId, tier, version, anchorAt } = context
  const execution = defineExecution(request.execution, tier)
  checkMetadata(request)
  const dependsOn = dependenciesOf(request.depends_on)
  const { compiled, schedule } = defineSchedule(request, dependsOn, context)
  const defaults = defaultsOf(tier)
  const definition: JobVersion = {
    jobId,
    version,
    tenantId,
    name: request.name,
    description: request.description ?? null,
    tags: request.tags ?? [],
    ...spellOut(schedule, jobId),
    anchorAt,
    execution,
    retryPolicy: retryPolicyOf(request, tier),
    priority: request.priority ?? defaults.priority,
    overlapPolicy: request.overlap_policy ?? defaults.overlap_policy,
    misfirePolicy: request.misfire_policy ?? defaults.misfire_policy,
    misfireWindowSeconds: request.misfire_window_seconds ?? null,
    jitterSeconds: request.jitter_seconds ?? defaults.jitter_seconds,
    concurrencyLimit: request.concurrency_limit ?? null,
    concurrencyKey: request.concurrency_key ?? null,
    dependsOn,
    metadata: request.metadata ?? {},
  }
  checkJitter(definition, compiled)
  checkTier(tier, { request, definition, compiled })
  return { definition, compiled }
}

function defineSchedule(
  request: JobRequest,
  dependsOn: readonly Dependency[],
  { anchorAt, jobId, calendars }: DefinitionContext,
): { schedule: JobVersion['schedule']; compiled: CompiledSchedule | null } {
  if (request.schedule === undefined) {
    if (dependsOn.length > 0) return { schedule: noSchedule, compiled: null }
    throw refuseField('/schedule', 'is required, unless depends_on names jobs to run after')
  }
  const answer = compileSchedule(request.schedule, { createdAt: anchorAt, jobId, calendars })
  if (!answer.ok) throw refuseSchedule(answer.error, request)
  const { compiled, definition: schedule } = answer.value
  if (dependsOn.length > 0 && schedule.type === 'IMMEDIATE')
    throw refuseField(
      '/schedule',
      'cannot be IMMEDIATE with depends_on: the job would run at once, not after',
    )
  return { schedule, compiled }
}

/** A schedule that would never fire. */
export function refuseOver(request: JobRequest): ApiError {
  const never = refuse('NEVER_MATCHES', 'All slots of this schedule lie in the past.', { field: 'schedule' })
  return refuseSchedule(never.error, request)
}

/** Where a ONE_TIME schedule says its time. */
export function pointerToTime({ schedule }: JobRequest): string {
  return typeof schedule === 'object' ? '/schedule/scheduled_time' : '/schedule'
}

function checkMetadata({ metadata = {} }: JobRequest): void {
  for (const name of Object.keys(metadata)) {
    if (name.length > 0 && name.length <= metadataNameMax) continue
    const pointer = `/metadata/${escapePointer(name.slice(0, metadataNameMax))}`
    throw refuseField(pointer, `must have a name of 1 to ${metadataNameMax} characters`)
  }
}

/** A slot fires before the next one comes. */
function checkJitter({ jitterSeconds, schedule }: JobVersion, compiled: CompiledSchedule | null): void {
  if (jitterSeconds === 0 || compiled === null) return
  if (schedule.type === 'IMMEDIATE') throw refuseField('/jitter_seconds', 'must be 0 with IMMEDIATE')
  const gap = shortestGapSeconds(compiled)
  if (jitterSeconds < gap) return
  throw refuseField('/jitter_seconds', `must be below the ${gap} s between two slots`)
}

function retryPolicyOf({ retry_policy: policy = {} }: JobRequest, tier: Tier): JobVersion['retryPolicy'] {
  const { auto_redrive_after_seconds: autoRedrive } = policy
  const defaults = defaultsOf(tier)
  return {
    max_retries: policy.max_retries ?? defaults.max_retries,
    backoff: policy.backoff ?? defaults.backoff,
    initial_delay_ms: policy.initial_delay_ms ?? defaults.initial_delay_ms,
    max_delay_ms: policy.max_delay_ms ?? defaults.max_delay_ms,
    ...(autoRedrive === undefined ? {} : { auto_redrive_after_seconds: autoRedrive }),
  }
}
