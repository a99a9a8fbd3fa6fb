// defineJob: a handler with its key, the type of its payload, and when and how it runs.
import type { Parent } from '#contract/graph-run.ts'
import type { JobRequest } from '#contract/job.ts'
import { type JobDependency, readDependencies } from './dependencies.ts'
import type { Duration } from './duration.ts'
import { toJobRequest } from './job-request.ts'
import { checkOptionNames, type OptionNames } from './known-options.ts'
import type { InputOf, OutputOf, StandardSchema } from './standard-schema.ts'

export interface JobLog {
  debug(message: unknown, ...values: unknown[]): void
  info(message: unknown, ...values: unknown[]): void
  warn(message: unknown, ...values: unknown[]): void
  error(message: unknown, ...values: unknown[]): void
}

/** The knowledge and the abilities of a handler besides its payload. */
export interface JobContext {
  readonly executionId: string
  readonly jobId: string
  /** From 1. */
  readonly attempt: number
  /** The slot, or when it was triggered. */
  readonly scheduledTime: Date
  /** The same for every attempt: pass it on to operations that must happen once. */
  readonly idempotencyKey: string
  /** Aborts when the time is over, somebody cancelled it, or it is not ours any more. Stop then. */
  readonly signal: AbortSignal
  /** The last checkpoint of the attempt before; undefined: none. */
  readonly checkpoint: unknown
  /**
   * Hands a value (JSON, at most 64 KB) to the next attempt, should there be one. Await it when the next step may only
   * happen once the server has it; it is also sent when it is not awaited.
   */
  saveCheckpoint(value: unknown): Promise<void>
  /** How far it is, 0 to 1, perhaps in words. Sent with the next heartbeat. */
  progress(fraction: number, text?: string): void
  /** A sign of life, for jobs with a `heartbeatTimeout`. */
  heartbeat(): void
  /** Kept with the attempt, up to 256 KB. */
  readonly log: JobLog
  /** The graph run it belongs to; null: it runs alone. */
  readonly graphRunId: string | null
  /** The executions it runs after, with their outcomes; empty: it runs alone, or after nothing. */
  readonly parents: readonly JobParent[]
}

/** An execution that this one runs after. */
export interface JobParent {
  readonly jobId: string
  /** As `defineJob` was given it; null: the job has none. */
  readonly jobKey: string | null
  /** Null: nothing of it had ended. */
  readonly executionId: string | null
  readonly status: Parent['status']
  /** Its return value, if that is JSON, else the first 4 KB as text; absent: nothing, or more than 1 MiB in all. */
  readonly result?: unknown
}

export interface RetryOptions {
  /** Attempts after the first. 0 to 100, default 3. */
  maxRetries?: number
  /** How the delay grows: not at all, by the attempt, or twofold. Default EXPONENTIAL. */
  backoff?: 'FIXED' | 'LINEAR' | 'EXPONENTIAL'
  /** The delay after the first attempt, times 0.75 to 1.25. Default 1s. */
  initialDelay?: Duration
  /** Default 60s. */
  maxDelay?: Duration
}

export interface JobOptions<Payload, Result> {
  /** Its name in the API, for jobs and workers: 1 to 128 of `a-z 0-9 . _ -`. */
  key: string
  /** For people. Default: the key. */
  name?: string
  description?: string
  /** When it runs by itself: cron, an ISO 8601 interval, English, or the object of the API. Absent: when it is asked to. */
  schedule?: NonNullable<JobRequest['schedule']>
  /**
   * Jobs that it runs after, each once, in graph runs that start with the first of them; all must have ended as they must,
   * by default well. Then it has no slots of its own, and needs no schedule: one that it has does not fire.
   */
  dependsOn?: readonly JobDependency[]
  /** The IANA zone of a schedule that names none. Default UTC. */
  timezone?: string
  /** The payload of scheduled executions. */
  payload?: unknown
  /** Limit for each attempt. 1s to 7d, default 5m. */
  timeout?: Duration
  /** Of all attempts together. Default: no limit. */
  totalTimeout?: Duration
  /** An attempt of which nothing is heard for longer is over: log, progress, checkpoint or heartbeat. Default: off. */
  heartbeatTimeout?: Duration
  retry?: RetryOptions
  /** A worker must have all of them to run it. */
  labels?: readonly string[]
  /** 1 (highest) to 10, default 5. */
  priority?: number
  tags?: readonly string[]
  /** A slot that comes while an earlier execution is under way. Default SKIP. */
  overlap?: NonNullable<JobRequest['overlap_policy']>
  /** Slots that could not fire within a minute. Default FIRE_ONCE. */
  misfire?: NonNullable<JobRequest['misfire_policy']>
  /** A slot fires up to this much later. */
  jitter?: Duration
  /** Executions that may be under way at once. */
  concurrencyLimit?: number
  /** A limit that several jobs share. */
  concurrencyKey?: NonNullable<JobRequest['concurrency_key']>
  metadata?: Readonly<Record<string, string>>
  /**
   * Its return value is the result: JSON, of which 4 KB are kept. An error it throws is the reason of the failure, and
   * is retried.
   */
  run(payload: Payload, context: JobContext): Result | Promise<Result>
}

const jobOptions: OptionNames<JobOptions<never, unknown> & { schema: unknown }> = {
  key: true,
  name: true,
  description: true,
  schedule: true,
  dependsOn: true,
  timezone: true,
  payload: true,
  timeout: true,
  totalTimeout: true,
  heartbeatTimeout: true,
  retry: true,
  labels: true,
  priority: true,
  tags: true,
  overlap: true,
  misfire: true,
  jitter: true,
  concurrencyLimit: true,
  concurrencyKey: true,
  metadata: true,
  run: true,
  schema: true,
}
const retryOptions: OptionNames<RetryOptions> = {
  maxRetries: true,
  backoff: true,
  initialDelay: true,
  maxDelay: true,
}

const jobMark = Symbol.for('carillon.job')

export interface DefinedJob<Input = unknown, Payload = Input, Result = unknown>
  extends JobOptions<Payload, Result> {
  readonly [jobMark]: true
  readonly schema?: StandardSchema<Input, Payload> | undefined
}

/** A job of any types. */
// biome-ignore lint/suspicious/noExplicitAny: the payload is where a handler's type goes in, so nothing else fits all.
export type AnyJob = DefinedJob<any, any, unknown>
/** A job that takes this. */
// biome-ignore lint/suspicious/noExplicitAny: the output of its schema is the handler's own.
export type JobReservation<Input> = DefinedJob<Input, any, unknown>

export function defineJob<Schema extends StandardSchema, Result = unknown>(
  options: JobOptions<OutputOf<Schema>, Result> & { schema: Schema },
): DefinedJob<InputOf<Schema>, OutputOf<Schema>, Result>
export function defineJob<Payload = unknown, Result = unknown>(
  options: JobOptions<Payload, Result> & { schema?: undefined },
): DefinedJob<Payload, Payload, Result>
export function defineJob(
  options: JobOptions<never, unknown> & { schema?: StandardSchema | undefined },
): AnyJob {
  checkOptionNames('defineJob', options, jobOptions)
  if (options.retry !== undefined) checkOptionNames(`retry of ${options.key}`, options.retry, retryOptions)
  if (typeof options.run !== 'function') throw new TypeError('run must be a function.')
  const schema = options.schema
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    throw new TypeError('schema must be a Standard Schema, such as one of zod, valibot or arktype.')
  }
  const { dependsOn } = options
  const job = Object.freeze({
    ...options,
    ...(Array.isArray(dependsOn) && { dependsOn: [...dependsOn] }),
    [jobMark]: true as const,
  }) as AnyJob
  // An error in the definition should be reported where it is written, not when a worker starts.
  toJobRequest(job)
  readDependencies(job)
  return job
}

export function isDefinedJob(value: unknown): value is AnyJob {
  return typeof value === 'object' && value !== null && (value as Partial<AnyJob>)[jobMark] === true
}
