// The end of an attempt, and its consequence: nothing, another attempt, or a dead letter. Pure: the clock and
// randomness are passed in, so workers, the API and maintenance decide alike.
import type { DeadReason } from '@carillon/contract/constants.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { Executor } from '../jobs/job.ts'
import type { ExecutionKind } from './execution.ts'
import { type ErrorType, isRetried, type RetryPolicy, retryDelayMs } from './retry.ts'

export type { DeadReason } from '@carillon/contract/constants.ts'

/** The end of an attempt. Times are by the database's clock. */
export interface AttemptEnd {
  /**
   * cancelled: it was stopped because somebody cancelled it. lost: its own worker gave it up, and nobody can say how it
   * would have ended; it costs no retry.
   */
  outcome: 'succeeded' | 'failed' | 'timed_out' | 'cancelled' | 'lost'
  /** Null: nobody can say any more. */
  startedAt: EpochMs | null
  finishedAt: EpochMs
  durationMs: number | null
  httpStatus: number | null
  /** Null: it succeeded. */
  error: AttemptError | null
  /** Head of the response, or of the result as JSON. */
  preview: string | null
  /** Absent: not known. */
  usage?: Usage
  /** When the next attempt may start; null: this was the last one. */
  retryAt: EpochMs | null
  /** Why it goes to the dead letters; null: it does not. */
  deadReason: DeadReason | null
}

/** The use of an attempt. A part that is not known, or does not apply, is absent. */
export interface Usage {
  /** CPU time of all processes of a command or a bundle. */
  cpuMs?: number
  /** Bytes of an HTTP request and of its answer, with their heads and framing. TLS adds more. */
  bytesSent?: number
  bytesReceived?: number
}

export interface AttemptError {
  type: ErrorType
  message: string
}

/**
 * An attempt that the store recorded without a word of its runner: its worker was lost, or its execution was cancelled or
 * skipped before it ran.
 */
export interface SettledAttempt {
  executionId: string
  attempt: number
  kind: ExecutionKind
  executor: Executor
  outcome: 'lost' | 'cancelled' | 'skipped'
  /** False: it was lost, and another attempt follows at once. */
  isFinal: boolean
  enqueuedAt: EpochMs
  recordedAt: EpochMs
}

export const previewBytesMax = 4_096
export const messageLengthMax = 1_024
export const checkpointBytesMax = 64 * 1024
export const progressTextLengthMax = 255

/** The report on an attempt from the process that ran it. */
export interface AttemptReport
  extends Pick<
    AttemptEnd,
    'startedAt' | 'finishedAt' | 'durationMs' | 'httpStatus' | 'preview' | 'usage' | 'error'
  > {
  /** The runner says that trying again is no use. */
  isFinal?: boolean
  /** No next attempt before so long. */
  retryAfterMs?: number | null
}

export interface AttemptContext {
  attempt: number
  losses: number
  retryPolicy: RetryPolicy
  /** When the time of all attempts together is over; null: it is not limited. */
  totalDeadline: EpochMs | null
  now: EpochMs
  /** Uniform in [0, 1). */
  random: number
}

export function endAttempt(word: AttemptReport, context: AttemptContext): AttemptEnd {
  const { startedAt, finishedAt, durationMs, httpStatus, preview, usage, error } = word
  const end: AttemptEnd = {
    outcome: 'succeeded',
    startedAt,
    finishedAt,
    durationMs,
    httpStatus,
    error,
    preview,
    retryAt: null,
    deadReason: null,
  }
  if (usage !== undefined) end.usage = usage
  if (error === null) return end
  end.outcome = isTimeout(error.type) ? 'timed_out' : 'failed'
  const { retryPolicy, now, random, totalDeadline } = context
  const attempt = context.attempt - context.losses
  if (word.isFinal === true || !isRetried(error.type, httpStatus)) end.deadReason = 'NOT_RETRYABLE'
  else if (attempt > retryPolicy.max_retries) end.deadReason = 'MAX_RETRIES_EXCEEDED'
  else {
    const delayMs = retryDelayMs(retryPolicy, { attempt, random, retryAfterMs: word.retryAfterMs ?? null })
    const retryAt = epochMs(now + delayMs)
    if (totalDeadline === null || retryAt < totalDeadline) end.retryAt = retryAt
    // No time is left for another one: it ends here, and not later with nothing done.
    else {
      end.outcome = 'timed_out'
      end.deadReason = 'TOTAL_TIMEOUT'
    }
  }
  return end
}

function isTimeout(type: ErrorType): boolean {
  return type === 'TIMEOUT' || type === 'HEARTBEAT_TIMEOUT'
}
