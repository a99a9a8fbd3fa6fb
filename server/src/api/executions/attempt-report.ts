// How an attempt ended, as its runner said it: a worker's report, or the completion by its token.
import { isDeepStrictEqual } from 'node:util'
import {
  type AttemptError,
  type AttemptReport,
  checkpointBytesMax,
  messageLengthMax,
  previewBytesMax,
} from '../../domain/queue/attempt.ts'
import type { Outcome } from '../../domain/queue/execution.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { AttemptView, ExecutionView } from '../../ports/executions.ts'
import { refuseField } from '../http/problem.ts'

export interface EndGiven {
  status: 'succeeded' | 'failed' | 'released'
  result?: unknown
  error?: {
    type?: 'HANDLER_ERROR' | 'TIMEOUT'
    message: string
    final?: boolean
    retry_after_ms?: number
  }
}

export interface ReportContext {
  now: EpochMs
  /** Null: nobody has said. */
  durationMs: number | null
  /** As the store knows it; a duration that was said goes before it. */
  startedAt: EpochMs | null
  httpStatus: number | null
}

/**
 * A field that belongs to another status is refused rather than ignored. `place`: the pointer to the object that holds
 * it.
 */
export function checkEnd({ status, result, error }: EndGiven, place: string): void {
  if (status === 'failed' && error === undefined)
    throw refuseField(`${place}/error`, 'is required with failed')
  if (status !== 'failed' && error !== undefined)
    throw refuseField(`${place}/error`, `does not go with ${status}`)
  if (status !== 'succeeded' && result !== undefined)
    throw refuseField(`${place}/result`, `does not go with ${status}`)
}

export interface Said {
  outcome: Outcome
  workerId: string | null
  /** False: another result, or another error, is on record. */
  isSame: boolean
}

/**
 * The attempt on record, if it ended with the same status: the same result again is answered like the first time, and
 * another one is refused. Null: nothing is on record, or the attempt ended with another status.
 */
export function findSaid(execution: ExecutionView, given: EndGiven & { attempt: number }): Said | null {
  // One that was cancelled and never said when it started is not among the attempts.
  if (execution.status === 'CANCELLED' && execution.attempt === given.attempt)
    return { outcome: 'cancelled', workerId: execution.workerId, isSame: true }
  const record = execution.attempts.find((one) => one.attempt === given.attempt)
  const outcomes: readonly Outcome[] = given.status === 'succeeded' ? ['succeeded'] : ['failed', 'timed_out']
  if (record === undefined || !outcomes.includes(record.outcome)) return null
  const { outcome, workerId } = record
  const isSame = given.error === undefined ? hasResult(record, given.result) : hasError(record, given.error)
  return { outcome, workerId, isSame }
}

/** The order of keys makes no other result. Of a result above 4 KB only the head is kept, so only that is compared. */
function hasResult({ preview }: AttemptView, result: unknown): boolean {
  const given = previewOf(result)
  if (given === preview || given === null || preview === null) return given === preview
  const [one, other] = [readJson(given), readJson(preview)]
  return one !== undefined && isDeepStrictEqual(one, other)
}

/** `final` and `retry_after_ms` only decide whether and when a retry follows; they are not stored. */
function hasError({ error }: AttemptView, given: NonNullable<EndGiven['error']>): boolean {
  return isDeepStrictEqual(error, toError(given))
}

/** Undefined: it was cut, or is the answer of an HTTP call. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function toReport(given: EndGiven, context: ReportContext): AttemptReport {
  const { now, durationMs, httpStatus } = context
  const { result, error } = given
  const startedAt = durationMs === null ? context.startedAt : epochMs(now - durationMs)
  return {
    startedAt,
    // Our clock may be behind the one that wrote the start.
    finishedAt: epochMs(Math.max(now, startedAt ?? now)),
    durationMs: durationMs ?? (startedAt === null ? null : Math.max(0, now - startedAt)),
    httpStatus,
    preview: previewOf(result),
    error: error === undefined ? null : toError(error),
    isFinal: error?.final ?? false,
    retryAfterMs: error?.retry_after_ms ?? null,
  }
}

export function checkCheckpoint(checkpoint: unknown, pointer: string): void {
  if (checkpoint === undefined) return
  const bytes = Buffer.byteLength(JSON.stringify(checkpoint))
  if (bytes > checkpointBytesMax)
    throw refuseField(pointer, `has ${bytes} bytes as JSON; at most ${checkpointBytesMax} are taken`)
}

function previewOf(result: unknown): string | null {
  return result === undefined ? null : cutBytes(JSON.stringify(result), previewBytesMax)
}

function toError({ type = 'HANDLER_ERROR', message }: NonNullable<EndGiven['error']>): AttemptError {
  // Half of a character at the cut could not be stored.
  return { type, message: message.slice(0, messageLengthMax).toWellFormed() }
}

/** Cut between two characters. */
function cutBytes(text: string, bytesMax: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytesMax), { stream: true })
}
