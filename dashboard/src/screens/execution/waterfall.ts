// The attempts of an execution on one line of time: when each was ready, began and ended, and the pause before the next.
import type { Execution } from '@carillon/contract/execution.ts'

export interface Bar {
  attempt: number
  outcome: string
  /** Milliseconds since the beginning of the picture. */
  readyMs: number
  startMs: number | null
  endMs: number
  /** Until the next attempt is ready; null: there is none. */
  backoffEndMs: number | null
  queueMs: number
  runMs: number | null
  error: string | null
}

export interface Waterfall {
  fromMs: number
  lengthMs: number
  bars: Bar[]
}

type Ended = Execution['attempts'][number]

export function waterfallOf(execution: Execution, nowMs: number): Waterfall {
  const spans = execution.attempts.map((attempt) => ({
    ...attempt,
    outcome: attempt.outcome as string,
    endMs: Date.parse(attempt.finished_at ?? attempt.started_at ?? attempt.enqueued_at),
  }))
  const current = currentOf(execution, nowMs)
  const all = current === null ? spans : [...spans, current]
  const fromMs = Math.min(
    ...all.map(({ enqueued_at }) => Date.parse(enqueued_at)),
    Date.parse(execution.enqueued_at),
  )
  const bars = all.map((span, index): Bar => {
    const readyMs = Date.parse(span.enqueued_at) - fromMs
    const startMs = span.started_at === null ? null : Math.max(readyMs, Date.parse(span.started_at) - fromMs)
    const endMs = Math.max(startMs ?? readyMs, span.endMs - fromMs)
    const next = all[index + 1]
    const retryMs = next === undefined ? execution.retry_at : next.enqueued_at
    return {
      attempt: span.attempt_number,
      outcome: span.outcome,
      readyMs,
      startMs,
      endMs,
      backoffEndMs: retryMs === null ? null : Math.max(endMs, Date.parse(retryMs) - fromMs),
      queueMs: (startMs ?? endMs) - readyMs,
      runMs: startMs === null ? null : endMs - startMs,
      error: span.error?.message ?? null,
    }
  })
  const lengthMs = Math.max(1, ...bars.map(({ endMs, backoffEndMs }) => Math.max(endMs, backoffEndMs ?? 0)))
  return { fromMs, lengthMs, bars }
}

// The attempt that has not ended: it waits for its turn, or runs.
function currentOf(
  execution: Execution,
  nowMs: number,
): (Omit<Ended, 'outcome'> & { outcome: string; endMs: number }) | null {
  const { status, attempt_number, enqueued_at, started_at, worker_id } = execution
  const isRunning = status === 'RUNNING' || status === 'CANCELLING'
  if (!isRunning && status !== 'PENDING') return null
  return {
    attempt_number: isRunning ? attempt_number : attempt_number + 1,
    outcome: isRunning ? 'running' : 'pending',
    worker_id,
    enqueued_at,
    started_at: isRunning ? (started_at ?? enqueued_at) : null,
    finished_at: null,
    duration_ms: null,
    http_status: null,
    error: null,
    response_preview: null,
    usage: null,
    endMs: Math.max(nowMs, Date.parse(enqueued_at)),
  }
}
