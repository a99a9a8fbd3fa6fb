// The definition of defineJob, in the words of the API.
import type { JobRequest } from '#contract/job.ts'
import type { JobOptions } from './define-job.ts'
import { readDependencies } from './dependencies.ts'
import { durationMs, durationSeconds } from './duration.ts'

type Said = Omit<JobOptions<never, unknown>, 'run'>

const keyPattern = /^[a-z0-9._-]{1,128}$/
const labelPattern = /^[A-Za-z0-9._:/-]{1,64}$/

/**
 * The job alone: without its dependencies, and a job without a schedule as if it ran now. The server judges the rest:
 * it knows the tier.
 */
export function toJobRequest(job: Said): JobRequest {
  const { key, labels = [], priority, tags, metadata, overlap, misfire, jitter, description } = job
  if (typeof key !== 'string' || !keyPattern.test(key)) {
    throw new TypeError(`key is ${JSON.stringify(key)}: it must be 1 to 128 of a-z 0-9 . _ -`)
  }
  const wrong = labels.find((label) => !labelPattern.test(label))
  if (wrong !== undefined) {
    throw new TypeError(`labels of ${key}: ${JSON.stringify(wrong)} must be 1 to 64 of A-Z a-z 0-9 . _ : / -`)
  }
  const request: JobRequest = {
    name: job.name ?? key,
    schedule: toSchedule(job),
    execution: toExecution(job),
  }
  const retryPolicy = toRetryPolicy(job)
  if (retryPolicy !== null) request.retry_policy = retryPolicy
  if (description !== undefined) request.description = description
  if (priority !== undefined) request.priority = priority
  if (tags !== undefined) request.tags = [...tags]
  if (metadata !== undefined) request.metadata = { ...metadata }
  if (overlap !== undefined) request.overlap_policy = overlap
  if (misfire !== undefined) request.misfire_policy = misfire
  if (jitter !== undefined) request.jitter_seconds = durationSeconds(jitter, `jitter of ${key}`)
  if (job.concurrencyLimit !== undefined) request.concurrency_limit = job.concurrencyLimit
  if (job.concurrencyKey !== undefined) request.concurrency_key = job.concurrencyKey
  return request
}

/** The job as it is in the API, with its dependencies; `jobIds`: by key, for all jobs that were put before it. */
export function toPutRequest(job: Said, jobIds: ReadonlyMap<string, string>): JobRequest {
  const dependencies = readDependencies(job)
  const { schedule, ...request } = toJobRequest(job)
  if (dependencies.length === 0) return { ...request, schedule: schedule! }
  return {
    ...request,
    ...(job.schedule !== undefined && { schedule: schedule! }),
    depends_on: dependencies.map((one) => ({
      job_id: 'job' in one ? idOf(one.job.key, job.key, jobIds) : one.jobId,
      on: one.on,
    })),
  }
}

/** The job of the list that has this key may be another one than that which dependsOn names. */
function idOf(key: string, dependent: string, jobIds: ReadonlyMap<string, string>): string {
  const jobId = jobIds.get(key)
  if (jobId !== undefined) return jobId
  throw new TypeError(
    `dependsOn of ${dependent}: the job ${key} of the list has neither a schedule nor dependsOn.`,
  )
}

function toExecution(job: Said): JobRequest['execution'] {
  const { key, labels, payload, timeout, totalTimeout, heartbeatTimeout } = job
  const seconds = (value: Parameters<typeof durationSeconds>[0], name: string) =>
    durationSeconds(value, `${name} of ${key}`)
  return {
    type: 'worker',
    handler: key,
    ...(labels !== undefined && { labels: [...labels] }),
    ...(payload !== undefined && { payload }),
    ...(timeout !== undefined && { timeout_seconds: seconds(timeout, 'timeout') }),
    ...(totalTimeout !== undefined && { total_timeout_seconds: seconds(totalTimeout, 'totalTimeout') }),
    ...(heartbeatTimeout !== undefined && {
      heartbeat_timeout_seconds: seconds(heartbeatTimeout, 'heartbeatTimeout'),
    }),
  }
}

function toRetryPolicy({ key, retry }: Said): NonNullable<JobRequest['retry_policy']> | null {
  if (retry === undefined) return null
  const { maxRetries, backoff, initialDelay, maxDelay } = retry
  const ms = (value: Parameters<typeof durationMs>[0], name: string) =>
    durationMs(value, `retry.${name} of ${key}`)
  return {
    ...(maxRetries !== undefined && { max_retries: maxRetries }),
    ...(backoff !== undefined && { backoff }),
    ...(initialDelay !== undefined && { initial_delay_ms: ms(initialDelay, 'initialDelay') }),
    ...(maxDelay !== undefined && { max_delay_ms: ms(maxDelay, 'maxDelay') }),
  }
}

/** A text stays one unless a zone goes with it: that is a field of the object. */
export function toSchedule({ key, schedule, timezone }: Said): NonNullable<JobRequest['schedule']> {
  if (schedule === undefined) return { type: 'IMMEDIATE' }
  if (timezone === undefined) return schedule
  if (typeof schedule !== 'string') return { timezone, ...schedule }
  const text = schedule.trim()
  if (/^(P[\dT]|R-?\d*\/)/i.test(text)) return { type: 'INTERVAL', interval: text, timezone }
  const isCron = /^@(?!every\s)/i.test(text) || /^[\d*/,\-?()HLW#]+\s+[\d*/,\-?()HLW#]+/i.test(text)
  if (isCron) return { type: 'CRON', cron_expression: text, timezone }
  throw new TypeError(
    `timezone of ${key} goes with cron, an ISO interval or an object; say the zone of ${JSON.stringify(text)} in its text, such as "every day at 10:00 in ${timezone}".`,
  )
}
