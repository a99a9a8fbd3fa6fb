// Whether a failed attempt is followed by another one, and when. Pure: randomness is handed in.
import { type Backoff, type ErrorType, retryAfterMsMax } from '@carillon/contract/constants.ts'

export type { Backoff, ErrorType } from '@carillon/contract/constants.ts'

export interface RetryPolicy {
  /** Attempts after the first. */
  max_retries: number
  backoff: Backoff
  initial_delay_ms: number
  max_delay_ms: number
  /** A dead letter is redriven automatically, once, after this time; absent: only a person redrives it. */
  auto_redrive_after_seconds?: number
}

/** An execution that was lost with its worker this often is a dead letter. */
export const lossesMax = 5

const retriedTypes: readonly ErrorType[] = [
  'TIMEOUT',
  'CONNECTION_REFUSED',
  'CONNECTION_RESET',
  'DNS_RESOLUTION_FAILED',
  'HANDLER_ERROR',
  'EXIT_CODE',
  'HEARTBEAT_TIMEOUT',
  'WORKER_LOST',
]

export function isRetried(type: ErrorType, httpStatus: number | null): boolean {
  if (type === 'HTTP_ERROR') return httpStatus === 429 || (httpStatus !== null && httpStatus >= 500)
  return retriedTypes.includes(type)
}

/** The wait after attempt number `attempt` (1, 2, …; lost ones not counted). `random` is uniform in [0, 1). */
export function retryDelayMs(
  policy: RetryPolicy,
  { attempt, random, retryAfterMs }: { attempt: number; random: number; retryAfterMs: number | null },
): number {
  const { initial_delay_ms: initialMs, max_delay_ms: maxMs } = policy
  // 2^40 ms is 34 years: beyond it only the cap matters.
  const factor =
    policy.backoff === 'FIXED' ? 1 : policy.backoff === 'LINEAR' ? attempt : 2 ** Math.min(attempt - 1, 40)
  const delayMs = Math.min(maxMs, initialMs * factor * (0.75 + random / 2))
  return Math.round(Math.max(delayMs, Math.min(retryAfterMs ?? 0, retryAfterMsMax)))
}

export const workerLostMessage = 'The worker that ran this attempt went silent and was declared dead.'
export const outageMessage =
  'The worker was without the database for too long and gave this attempt up. Its target may have done the work.'
export const stoppedMessage =
  'The worker was stopped before this attempt had ended. Its target may have done the work.'
