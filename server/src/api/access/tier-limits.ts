// The limits of the tenant's tier. A value beyond them is refused, never reduced behind the client's back. A job that is
// beyond them already, since the tier was changed, may keep its values or come nearer to the limits.
import { executionDefaults } from '@carillon/contract/constants.ts'
import { type JobRequest, jobDefaults, payloadBytesMax } from '@carillon/contract/job.ts'
import type { FastifyRequest } from 'fastify'
import { EXECUTOR_KINDS } from '../../domain/executors/list.ts'
import type { ActiveJobsRefusal } from '../../domain/jobs/active-jobs.ts'
import { type Execution, hasSchedule, type JobVersion } from '../../domain/jobs/job.ts'
import { compileStored } from '../../domain/schedule/compile-schedule.ts'
import type { CompiledSchedule } from '../../domain/schedule/next-run.ts'
import { shortestGapSeconds } from '../../domain/schedule/shortest-gap.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import { ApiError } from '../http/api-error.ts'
import { refuseField } from '../http/problem.ts'

/** The values of omitted fields: the usual default, or the nearest that the tier allows. */
export function defaultsOf({ priorityBest, retriesMax, timeoutSecondsMax }: Tier) {
  return {
    ...jobDefaults,
    timeout_seconds: Math.min(
      executionDefaults.timeout_seconds,
      timeoutSecondsMax ?? Number.POSITIVE_INFINITY,
    ),
    priority: Math.max(jobDefaults.priority, priorityBest),
    max_retries: Math.min(jobDefaults.max_retries, retriesMax),
  }
}

export interface PayloadContext {
  /** Where the payload stands in the body. */
  pointer: string
  /** The call that the payload goes with. Undefined: there is no such job, or there are several, which may differ. */
  execution: Execution | undefined
  tier: Tier
  /** The bytes that the job has already. Absent: none. */
  formerBytes?: number
}

/** Checks the payload of a job, or of a request that brings its own. Returns it as JSON. */
export function checkPayload(
  payload: unknown,
  { pointer, execution, tier, formerBytes = 0 }: PayloadContext,
): string {
  const refusal = execution && EXECUTOR_KINDS[execution.type].refusePayload?.(execution)
  if (refusal) throw refuseField(pointer, refusal)
  const json = JSON.stringify(payload)
  const bytes = Buffer.byteLength(json)
  if (bytes > payloadBytesMax) {
    throw refuseField(pointer, `has ${bytes} bytes as JSON; at most ${payloadBytesMax} are taken`)
  }
  if (bytes > Math.max(tier.payloadBytesMax, formerBytes)) {
    throw refuseTier(tier, pointer, `has ${bytes} bytes as JSON; at most ${tier.payloadBytesMax} are allowed`)
  }
  return json
}

interface JudgedJob {
  request: JobRequest
  /** Undefined, here and below: the field is wrong, and is not judged. */
  maxRetries: number | undefined
  priority: number | undefined
  timeoutSeconds: number | undefined
  /** Null: the job has no schedule. */
  compiled: CompiledSchedule | null | undefined
  /** The job as it is. Null: it is new. */
  former: JobVersion | null
}

/** Of a job that is about to be stored. */
export function tierRefusals(tier: Tier, judged: JudgedJob): ApiError[] {
  const { request, maxRetries = 0, priority = lastPriority, timeoutSeconds = 0, compiled, former } = judged
  const refusals: ApiError[] = []
  if (maxRetries > Math.max(tier.retriesMax, former?.retryPolicy.max_retries ?? 0)) {
    refusals.push(refuseTier(tier, '/retry_policy/max_retries', `must be at most ${tier.retriesMax}`))
  }
  if (priority < Math.min(tier.priorityBest, former?.priority ?? lastPriority)) {
    refusals.push(refuseTier(tier, '/priority', `must be ${tier.priorityBest} or a larger number`))
  }
  const { timeoutSecondsMax } = tier
  const isLong = timeoutSecondsMax !== null && timeoutSeconds > timeoutSecondsMax
  if (isLong && timeoutSeconds > (former?.execution.timeout_seconds ?? 0)) {
    refusals.push(refuseTier(tier, '/execution/timeout_seconds', `must be at most ${timeoutSecondsMax}`))
  }
  const gap = gapOf(compiled)
  if (gap < tier.intervalSecondsMin && gap < gapOf(former && compileFormer(former))) {
    const detail = `has slots ${gap} s apart; at least ${tier.intervalSecondsMin} s are needed`
    refusals.push(refuseTier(tier, pointerToPace(request), detail))
  }
  return refusals
}

const lastPriority = 10

/** In seconds. */
function gapOf(compiled: CompiledSchedule | null | undefined): number {
  return compiled === null || compiled === undefined ? Number.POSITIVE_INFINITY : shortestGapSeconds(compiled)
}

function compileFormer(former: JobVersion): CompiledSchedule | null {
  return hasSchedule(former) ? compileStored(former) : null
}

/** A hook: whether the tenant gets to see its dead letters. They are kept either way. */
export async function requireDeadLetters({ caller }: FastifyRequest): Promise<void> {
  if (caller.tier.deadLetters) return
  const detail = 'Dead letters are kept, and are not shown'
  throw new ApiError('TIER_LIMIT', `${detail} on the tier ${caller.tier.tier}.`)
}

function refuseTier({ tier }: Tier, pointer: string, detail: string): ApiError {
  return new ApiError('TIER_LIMIT', `${pointer} ${detail} on the tier ${tier}.`, [{ pointer, detail }])
}

/** A job would become active beyond the limit. */
export function refuseActiveJobs({ tier, activeJobsMax }: Tier, { used }: ActiveJobsRefusal): ApiError {
  const detail = `The tenant has ${used} active jobs; active_jobs_max is ${activeJobsMax} on the tier ${tier}.`
  return new ApiError('TIER_LIMIT', detail)
}

/** The field that says how often. */
function pointerToPace({ schedule }: JobRequest): string {
  if (typeof schedule !== 'object') return '/schedule'
  const field = (['cron_expression', 'every_seconds', 'interval'] as const).find((name) =>
    Object.hasOwn(schedule, name),
  )
  return field === undefined ? '/schedule' : `/schedule/${field}`
}
