// From a request to a job that can be stored: the rules a schema cannot say, the defaults, and the first slot.
import { type JobRequest, jobDefaults, payloadBytesMax } from '@carillon/contract/job.ts'
import type { FieldError } from '@carillon/contract/problem.ts'
import type { StoredSchedule } from '../domain/job.ts'
import { misfireWindowMs } from '../domain/misfire.ts'
import { compileSchedule, type ScheduleAnswer } from '../domain/schedule/compile-schedule.ts'
import { nextSlot } from '../domain/schedule/next-run.ts'
import { refuse } from '../domain/schedule/schedule-error.ts'
import { checkCallbackUrl } from '../lib/callback-url.ts'
import { type EpochMs, toRfc3339 } from '../lib/epoch.ts'
import type { NewJob } from '../ports/jobs.ts'
import { ApiError } from './api-error.ts'
import { checkHeaders } from './callback-headers.ts'
import { escapePointer } from './problem.ts'
import { refuseSchedule } from './schedule-refusal.ts'

export interface NewJobContext {
  jobId: string
  tenantId: string
  now: EpochMs
  /** Called when the job runs at once: its execution and lane. */
  enqueue: () => { executionId: string; lane: string }
}

const metadataNameMax = 64

/** Throws what is wrong with the request. */
export function planJob(request: JobRequest, context: NewJobContext): NewJob {
  checkRequest(request)
  const { jobId, tenantId, now } = context
  const answer = compileSchedule(request.schedule, { createdAt: now, jobId })
  if (!answer.ok) throw refuseSchedule(answer.error, request)
  const schedule: StoredSchedule = answer.value.definition
  const slot = firstSlot(answer.value, request, now)
  const immediate = schedule.type === 'IMMEDIATE' ? { ...context.enqueue(), slot } : null
  return {
    jobId,
    version: 1,
    tenantId,
    name: request.name,
    description: request.description ?? null,
    tags: request.tags ?? [],
    schedule,
    anchorAt: now,
    execution: executionOf(request),
    retryPolicy: retryPolicyOf(request),
    priority: request.priority ?? jobDefaults.priority,
    overlapPolicy: request.overlap_policy ?? jobDefaults.overlap_policy,
    misfirePolicy: request.misfire_policy ?? jobDefaults.misfire_policy,
    misfireWindowSeconds: request.misfire_window_seconds ?? null,
    metadata: request.metadata ?? {},
    createdAt: now,
    status: immediate === null ? 'ACTIVE' : 'COMPLETED',
    slotAt: immediate === null ? slot : null,
    immediate,
  }
}

function checkRequest({ execution, metadata = {} }: JobRequest): void {
  const headers = checkHeaders(execution.headers ?? {})
  if (headers !== null) throw refuseField(headers)
  const target = checkCallbackUrl(execution.callback_url)
  if (target !== null) {
    const errors = [{ pointer: '/execution/callback_url', detail: target }]
    throw new ApiError('INVALID_REQUEST', `/execution/callback_url: ${target}.`, errors)
  }
  if (execution.payload !== undefined) {
    checkPayload(execution.payload, '/execution/payload', execution.method ?? jobDefaults.method)
  }
  for (const name of Object.keys(metadata)) {
    if (name.length > 0 && name.length <= metadataNameMax) continue
    const pointer = `/metadata/${escapePointer(name.slice(0, metadataNameMax))}`
    throw refuseField({ pointer, detail: `must have a name of 1 to ${metadataNameMax} characters` })
  }
}

/** Of a job, or of a trigger that brings its own. */
export function checkPayload(payload: unknown, pointer: string, method: string): void {
  if (method === 'GET') throw refuseField({ pointer, detail: 'cannot be sent with GET, which has no body' })
  const bytes = Buffer.byteLength(JSON.stringify(payload))
  if (bytes > payloadBytesMax) {
    throw refuseField({ pointer, detail: `has ${bytes} bytes as JSON; at most ${payloadBytesMax} are taken` })
  }
}

function refuseField(error: FieldError): ApiError {
  return new ApiError('INVALID_REQUEST', `${error.pointer} ${error.detail}.`, [error])
}

function firstSlot({ compiled, definition }: ScheduleAnswer, request: JobRequest, now: EpochMs): EpochMs {
  const isOnce = compiled.kind === 'once'
  const slot = nextSlot(compiled, isOnce ? (-1 as EpochMs) : now)
  if (slot === null) {
    const never = refuse('NEVER_MATCHES', 'All slots of this schedule lie in the past.', {
      field: 'schedule',
    })
    throw refuseSchedule(never.error, request)
  }
  const windowMs = misfireWindowMs(compiled, request.misfire_window_seconds ?? null)
  if (definition.type === 'ONE_TIME' && slot < now - windowMs) {
    const pointer = typeof request.schedule === 'string' ? '/schedule' : '/schedule/scheduled_time'
    const detail = `is ${toRfc3339(slot)}, more than ${windowMs / 1_000} s ago`
    throw new ApiError('SCHEDULED_TIME_TOO_OLD', `${pointer} ${detail}.`, [{ pointer, detail }])
  }
  return slot
}

function executionOf({ execution }: JobRequest): NewJob['execution'] {
  const { callback_url, method = jobDefaults.method, headers = {}, payload } = execution
  const { timeout_seconds = jobDefaults.timeout_seconds } = execution
  const call = { type: 'http', callback_url, method, headers, timeout_seconds } as const
  return payload === undefined ? call : { ...call, payload }
}

function retryPolicyOf({ retry_policy: policy = {} }: JobRequest): NewJob['retryPolicy'] {
  return {
    max_retries: policy.max_retries ?? jobDefaults.max_retries,
    backoff: policy.backoff ?? jobDefaults.backoff,
    initial_delay_ms: policy.initial_delay_ms ?? jobDefaults.initial_delay_ms,
    max_delay_ms: policy.max_delay_ms ?? jobDefaults.max_delay_ms,
  }
}
