// Runs a handler once: checks its payload, gives it its context, and says how it ended. Used by the worker, the test kit
// and the server's own handlers, so that a job is the same thing in all three. Never rejects.
import type { AnyJob, JobContext, JobLog, JobParent } from './define-job.ts'
import { formatValue, formatValues } from './format-values.ts'
import { readMarks } from './job-errors.ts'
import { describeIssue, type StandardSchema } from './standard-schema.ts'
import { cleanText, toJson } from './to-json.ts'

export const checkpointBytesMax = 64 * 1024
export const messageLengthMax = 8_192
const progressTextLengthMax = 255
const issuesShownMax = 20

export type LogLevel = keyof JobLog

export interface JobCall {
  executionId: string
  jobId: string
  attempt: number
  /** An instant, however it is at hand. */
  scheduledTime: Date | number | string
  idempotencyKey: string
  /** Undefined: it has none. */
  payload: unknown
  /** Undefined: there is none. */
  checkpoint: unknown
  /** Null: it runs alone. */
  graphRunId: string | null
  parents: readonly JobParent[]
}

/** Receives everything that a handler reports. */
export interface JobListener {
  signal: AbortSignal
  log(level: LogLevel, message: string): void
  /** A sign of life with how far it is, or with nothing. */
  note(said: { progress?: number; message?: string }): void
  /** JSON. Resolves when it is where the next attempt finds it. */
  saveCheckpoint(json: string): Promise<void>
}

export type JobEnd =
  /** The result as JSON; null: it has none. */
  | { kind: 'succeeded'; result: string | null }
  | { kind: 'failed'; message: string; isFinal: boolean; retryAfterMs: number | null }

export async function runJob(job: AnyJob, call: JobCall, listener: JobListener): Promise<JobEnd> {
  try {
    const payload = job.schema === undefined ? call.payload : await checkPayload(job.schema, call.payload)
    const result = await job.run(payload, contextOf(call, listener))
    return { kind: 'succeeded', result: resultOf(result, listener) }
  } catch (error) {
    if (error instanceof InvalidPayload) {
      return { kind: 'failed', message: error.message, isFinal: true, retryAfterMs: null }
    }
    if (error instanceof Error && error.stack !== undefined) listener.log('error', error.stack)
    return { kind: 'failed', message: messageOf(error), ...readMarks(error) }
  }
}

class InvalidPayload extends Error {}

async function checkPayload(schema: StandardSchema, payload: unknown): Promise<unknown> {
  const checked = await schema['~standard'].validate(payload)
  if (checked.issues === undefined) return checked.value
  const shown = checked.issues.slice(0, issuesShownMax).map(describeIssue)
  const rest = checked.issues.length - shown.length
  if (rest > 0) shown.push(`and ${rest} more`)
  throw new InvalidPayload(cleanText(`The payload is not valid: ${shown.join('; ')}`, messageLengthMax))
}

function contextOf(call: JobCall, listener: JobListener): JobContext {
  const log =
    (level: LogLevel) =>
    (message: unknown, ...values: unknown[]) =>
      listener.log(level, formatValues([message, ...values]))
  const { executionId, jobId, attempt, idempotencyKey, checkpoint, graphRunId, parents } = call
  return {
    executionId,
    jobId,
    attempt,
    scheduledTime: new Date(call.scheduledTime),
    idempotencyKey,
    checkpoint,
    signal: listener.signal,
    saveCheckpoint: (value) => listener.saveCheckpoint(checkpointOf(value)),
    progress: (fraction, text) => {
      // 0 of 0 is no reason to fail.
      const progress = Number.isNaN(fraction) ? 0 : Math.min(1, Math.max(0, fraction))
      listener.note({
        progress,
        ...(text !== undefined && { message: cleanText(text, progressTextLengthMax) }),
      })
    },
    heartbeat: () => listener.note({}),
    log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    graphRunId,
    parents,
  }
}

function checkpointOf(value: unknown): string {
  const json = toJson(value)
  if (json === null) throw new TypeError('The checkpoint cannot be written as JSON.')
  const bytes = Buffer.byteLength(json)
  if (bytes > checkpointBytesMax) {
    throw new RangeError(`The checkpoint has ${bytes} bytes as JSON: ${checkpointBytesMax} at most.`)
  }
  return json
}

// The work is done: a result that cannot be kept is no reason to do it again.
function resultOf(result: unknown, listener: JobListener): string | null {
  try {
    return toJson(result)
  } catch (error) {
    listener.log('warn', `The result cannot be written as JSON and is not kept: ${messageOf(error)}`)
    return null
  }
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : formatValue(error)
  return cleanText(text, messageLengthMax)
}
