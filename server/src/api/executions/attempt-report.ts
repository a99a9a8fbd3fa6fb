// How an attempt ended, as its runner said it: a worker's report, or the completion by its token.
import {
  type AttemptError,
  type AttemptReport,
  checkpointBytesMax,
  messageLengthMax,
  previewBytesMax,
} from '../../domain/queue/attempt.ts'
import type { Outcome } from '../../domain/queue/execution.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { ExecutionView } from '../../ports/history.ts'
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

/** What belongs to another status is refused rather than ignored. `place`: the pointer to what holds it. */
export function checkEnd({ status, result, error }: EndGiven, place: string): void {
  if (status === 'failed' && error === undefined)
    throw refuseField(`${place}/error`, 'is required with failed')
  if (status !== 'failed' && error !== undefined)
    throw refuseField(`${place}/error`, `does not go with ${status}`)
  if (status !== 'succeeded' && result !== undefined)
    throw refuseField(`${place}/result`, `does not go with ${status}`)
}

/**
 * Who ended the attempt so, if this was said of it before: then it is answered as if it were said for the first time.
 * Null: it was not.
 */
export function findSaid(
  execution: ExecutionView,
  { attempt, status }: { attempt: number; status: EndGiven['status'] },
): { outcome: Outcome; workerId: string | null } | null {
  // One that was cancelled and never said when it started is not among the attempts.
  if (execution.status === 'CANCELLED' && execution.attempt === attempt)
    return { outcome: 'cancelled', workerId: execution.workerId }
  const record = execution.attempts.find((one) => one.attempt === attempt)
  const outcomes: readonly Outcome[] = status === 'succeeded' ? ['succeeded'] : ['failed', 'timed_out']
  return record !== undefined && outcomes.includes(record.outcome) ? record : null
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
    preview: result === undefined ? null : cutBytes(JSON.stringify(result), previewBytesMax),
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

function toError({ type = 'HANDLER_ERROR', message }: NonNullable<EndGiven['error']>): AttemptError {
  // Half of a character at the cut could not be stored.
  return { type, message: message.slice(0, messageLengthMax).toWellFormed() }
}

/** Cut between two characters. */
function cutBytes(text: string, bytesMax: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytesMax), { stream: true })
}
