// How an attempt ended, in the words of the protocol.

import type { JobEnd } from './run-job.ts'
import { cleanText } from './to-json.ts'
import { type Attempt, linesMax, markOf } from './worker-attempt.ts'
import type { Result } from './worker-reports.ts'

/** The server keeps 4 KB of a result; one far beyond that is cut here, so that no report is too large. */
const resultLengthMax = 64 * 1024
const logLengthMax = 300_000

export interface EndedResult extends Result {
  status: 'succeeded' | 'failed' | 'released'
  /** Why it failed; null: it did not. */
  message: string | null
}

/** Null: the handler has not ended. */
export function resultOf(attempt: Attempt, end: JobEnd | { status: 'released' } | null): EndedResult {
  const said = sayEnd(attempt, end)
  const durationMs = Math.round(performance.now() - attempt.startedMs)
  const plain = `${markOf(attempt.claim)},"status":"${said.status}","duration_ms":${durationMs}`
  const error = said.error === null ? '' : `,"error":${JSON.stringify(said.error)}`
  const result = said.result === null ? '' : `,"result":${cutResult(said.result)}`
  const logs = attempt.logLines.next(linesMax, logLengthMax)
  return {
    attempt,
    status: said.status,
    message: said.error?.message ?? null,
    json: `{${plain}${error}${result}${logs === null ? '' : `,"logs":${logs.json}`}}`,
    plainJson: `{${plain}${error}}`,
    madeMs: performance.now(),
  }
}

interface SaidEnd {
  status: 'succeeded' | 'failed' | 'released'
  result: string | null
  error: { type?: 'TIMEOUT'; message: string; final?: true; retry_after_ms?: number } | null
}

function sayEnd(attempt: Attempt, end: JobEnd | { status: 'released' } | null): SaidEnd {
  if (end !== null && 'status' in end) return { status: 'released', result: null, error: null }
  const { stopCause, claim } = attempt
  // A result after the timeout counts for nothing: the next attempt may be on its way.
  if (stopCause === 'timeout') {
    const message = `It took longer than ${claim.timeout_seconds} s.`
    return { status: 'failed', result: null, error: { type: 'TIMEOUT', message } }
  }
  if (end?.kind === 'succeeded') return { status: 'succeeded', result: end.result, error: null }
  // Stopped in the middle because the worker stops: another one takes it.
  if (stopCause === 'draining') return { status: 'released', result: null, error: null }
  if (end === null) {
    return { status: 'failed', result: null, error: { message: 'It did not stop when it was cancelled.' } }
  }
  const { message, isFinal, retryAfterMs } = end
  return {
    status: 'failed',
    result: null,
    error: {
      message,
      ...(isFinal && { final: true }),
      ...(retryAfterMs !== null && { retry_after_ms: retryAfterMs }),
    },
  }
}

function cutResult(json: string): string {
  return json.length <= resultLengthMax ? json : JSON.stringify(cleanText(json.slice(0, resultLengthMax)))
}
