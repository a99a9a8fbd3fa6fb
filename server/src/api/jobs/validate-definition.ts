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
import { defaultsOf, tierRefusals } from '../access/tier-limits.ts'
import type { ApiError } from '../http/api-error.ts'
import { escapePointer, refuseField } from '../http/problem.ts'
import { Refusals } from '../http/refusals.ts'
import { refuseSchedule } from './schedule-refusal.ts'
import { dependenciesOf } from './validate-dependencies.ts'
import { defineExecution, type ExecutionContext } from './validate-execution.ts'

export interface DefinitionContext extends ExecutionContext {
  jobId: string
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

/** Throws the refusal of an invalid request, with all its mistakes. */
export function defineJob(request: JobRequest, context: DefinitionContext): DefinedJob {
  const refusals = new Refusals()
  const parts = defineParts(request, context, { refusals, isSound: () => true })
  refusals.throwAny()
  const { execution, dependsOn, scheduled, jitterSeconds, retryPolicy, priority } =
    parts as Required<DefinedParts>
  const { compiled, schedule } = scheduled
  const { jobId, tenantId, tier, version, anchorAt } = context
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
    retryPolicy,
    priority,
    overlapPolicy: request.overlap_policy ?? defaults.overlap_policy,
    misfirePolicy: request.misfire_policy ?? defaults.misfire_policy,
    misfireWindowSeconds: request.misfire_window_seconds ?? null,
    jitterSeconds,
    concurrencyLimit: request.concurrency_limit ?? null,
    concurrencyKey: request.concurrency_key ?? null,
    dependsOn,
    metadata: request.metadata ?? {},
  }
  return { definition, compiled }
}

/** The refusals of a request that its schema refuses too: only fields without a mistake are judged. */
export function findRefusals(
  request: JobRequest,
  context: DefinitionContext,
  isSound: (pointer: string) => boolean,
): readonly ApiError[] {
  const refusals = new Refusals()
  defineParts(request, context, { refusals, isSound })
  return refusals.list
}

interface Scheduled {
  schedule: JobVersion['schedule']
  compiled: CompiledSchedule | null
}

/** Undefined: a field that the part is made of is wrong. */
interface DefinedParts
  extends Pick<JobVersion, 'execution' | 'dependsOn' | 'jitterSeconds' | 'retryPolicy' | 'priority'> {
  scheduled: Scheduled
}

function defineParts(
  request: JobRequest,
  context: DefinitionContext,
  { refusals, isSound }: { refusals: Refusals; isSound: (pointer: string) => boolean },
): { [Part in keyof DefinedParts]: DefinedParts[Part] | undefined } {
  const { tier, former = null } = context
  const defaults = defaultsOf(tier)
  const define = <T>(pointer: string, make: () => T) =>
    isSound(pointer) ? refusals.attempt(make) : undefined
  const execution = define('/execution', () => defineExecution(request.execution, context))
  define('/metadata', () => checkMetadata(request))
  const dependsOn = define('/depends_on', () => dependenciesOf(request.depends_on))
  const scheduled = dependsOn && define('/schedule', () => defineSchedule(request, dependsOn, context))
  const jitterSeconds = define('/jitter_seconds', () => request.jitter_seconds ?? defaults.jitter_seconds)
  if (scheduled !== undefined && jitterSeconds !== undefined)
    refusals.attempt(() => checkJitter(jitterSeconds, scheduled))
  const retryPolicy = define('/retry_policy', () => retryPolicyOf(request, tier))
  const priority = define('/priority', () => request.priority ?? defaults.priority)
  const judged = {
    request,
    maxRetries: retryPolicy?.max_retries,
    priority,
    timeoutSeconds: execution?.timeout_seconds,
    compiled: scheduled?.compiled,
    former,
  }
  for (const refusal of tierRefusals(tier, judged)) refusals.add(refusal)
  return { execution, dependsOn, scheduled, jitterSeconds, retryPolicy, priority }
}

function defineSchedule(
  request: JobRequest,
  dependsOn: readonly Dependency[],
  { anchorAt, jobId, calendars }: DefinitionContext,
): Scheduled {
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
  const refusals = new Refusals()
  for (const name of Object.keys(metadata)) {
    if (name.length > 0 && name.length <= metadataNameMax) continue
    const pointer = `/metadata/${escapePointer(name.slice(0, metadataNameMax))}`
    refusals.add(refuseField(pointer, `must have a name of 1 to ${metadataNameMax} characters`))
  }
  refusals.throwAny()
}

/** A slot fires before the next one comes. */
function checkJitter(jitterSeconds: number, { schedule, compiled }: Scheduled): void {
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
