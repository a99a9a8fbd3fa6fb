// The HTTP executor: what is the same for every attempt of a job version is prepared once; an attempt adds its own
// headers and makes one call. 2xx succeeds.
import { STATUS_CODES } from 'node:http'
import { idempotencyKeyOf } from '../../domain/execution.ts'
import { type ErrorType, isRetried, type RetryPolicy, retryDelayMs } from '../../domain/retry.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/epoch.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Http, HttpErrorType, HttpOutcome, HttpRequest } from '../../ports/http.ts'
import type { AttemptEnd, Definition } from '../../ports/queue.ts'
import type { Random } from '../../ports/random.ts'
import { endCancelled, type Task } from '../task.ts'

export interface HttpExecutorDeps {
  clock: Clock
  http: Http
  random: Random
  /** Of each attempt, for its trace. */
  spanId: () => string
  /** Of the program: goes into the User-Agent. */
  version: string
}

/** What every attempt of one job version shares. */
export interface Prepared {
  /** Host and port: what the cap and the circuit breaker count. */
  readonly host: string
  readonly url: string
  readonly target: { origin: string; path: string }
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** Null: no body is sent. */
  readonly body: string | null
  readonly timeoutMs: number
  readonly retryPolicy: RetryPolicy
  readonly jitterSeconds: number
  /** About how much memory it takes. */
  readonly bytes: number
}

/** Of every attempt; a job's own in another spelling would go out beside them. */
const ours: ReadonlySet<string> = new Set([
  'x-idempotency-key',
  'x-execution-id',
  'x-job-id',
  'x-attempt-number',
  'x-scheduled-time',
  'traceparent',
])
const previewBytesMax = 4_096
const responseBytesMax = 1024 * 1024
const messageLengthMax = 1_024

export function prepareHttp(
  { execution, retryPolicy, jitterSeconds }: Pick<Definition, 'execution' | 'retryPolicy' | 'jitterSeconds'>,
  version: string,
): Prepared {
  const url = new URL(execution.callback_url)
  const body = 'payload' in execution ? JSON.stringify(execution.payload) : null
  const given = Object.keys(execution.headers).map((name) => name.toLowerCase())
  return {
    host: url.host,
    url: execution.callback_url,
    target: { origin: url.origin, path: url.pathname + url.search },
    method: execution.method,
    headers: {
      ...(!given.includes('user-agent') && { 'user-agent': `carillon/${version}` }),
      ...(!given.includes('content-type') && { 'content-type': 'application/json' }),
      ...Object.fromEntries(
        Object.entries(execution.headers).filter(([name]) => !ours.has(name.toLowerCase())),
      ),
    },
    body,
    timeoutMs: execution.timeout_seconds * 1_000,
    retryPolicy,
    jitterSeconds,
    bytes: 1_000 + 2 * (execution.callback_url.length + (body?.length ?? 0)),
  }
}

/** One attempt. Null: it was aborted because it is no longer ours, and nobody can say how it ended. */
export async function runHttp(
  deps: HttpExecutorDeps,
  task: Task,
  signal: AbortSignal,
): Promise<{ end: AttemptEnd | null; outcome: HttpOutcome }> {
  const { clock, http } = deps
  const { prepared } = task
  const body = task.bodyOverride ?? prepared.body
  let startedMs = clock.monotonicMs()
  task.startedAt = clock.databaseNow()
  const request: HttpRequest = {
    method: prepared.method,
    url: prepared.url,
    target: prepared.target,
    headers: headersOf(deps.spanId(), task),
    timeoutMs: prepared.timeoutMs,
    responseBytesMax,
    previewBytesMax,
    onStarted() {
      startedMs = clock.monotonicMs()
      task.startedAt = clock.databaseNow()
    },
  }
  if (body !== null) request.body = body
  const outcome = await http.send(request, signal)
  const times = { startedAt: task.startedAt, durationMs: Math.max(0, clock.monotonicMs() - startedMs) }
  if (outcome.kind === 'answered' || outcome.type !== 'CANCELLED')
    return { end: judge(deps, task, outcome, times), outcome }
  const wasCancelled = task.cancelledMs !== null
  return { end: wasCancelled ? endCancelled(times.startedAt, times.durationMs) : null, outcome }
}

function headersOf(spanId: string, task: Task): Record<string, string> {
  const { executionId, jobId, kind, slot } = task
  return {
    ...task.prepared.headers,
    'x-idempotency-key': task.idempotencyKey ?? idempotencyKeyOf(kind, { jobId, executionId, slot }),
    'x-execution-id': executionId,
    'x-job-id': jobId,
    'x-attempt-number': String(task.attempt),
    'x-scheduled-time': toRfc3339(slot),
    // The execution is the trace, the attempt a span of it.
    traceparent: `00-${executionId.replaceAll('-', '')}-${spanId}-01`,
  }
}

/** Unique, not secret: a random half for each four billion, and a count. */
export function createSpanIds(random: Random): () => string {
  let prefix = ''
  let count = 0
  return () => {
    if (count === 0) prefix = Buffer.from(random.bytes(4)).toString('hex')
    count = (count + 1) % 2 ** 32
    return prefix + count.toString(16).padStart(8, '0')
  }
}

function judge(
  { clock, random }: HttpExecutorDeps,
  task: Task,
  outcome: HttpOutcome,
  times: { startedAt: EpochMs; durationMs: number },
): AttemptEnd {
  const end: AttemptEnd = {
    outcome: 'succeeded',
    ...times,
    finishedAt: epochMs(times.startedAt + times.durationMs),
    httpStatus: outcome.kind === 'answered' ? outcome.status : null,
    error: null,
    preview: outcome.kind === 'answered' ? previewText(outcome.preview) : null,
    retryAt: null,
    deadReason: null,
  }
  const error = errorOf(outcome)
  if (error === null) return end
  end.error = error
  end.outcome = error.type === 'TIMEOUT' ? 'timed_out' : 'failed'
  const { retryPolicy } = task.prepared
  const attempt = task.attempt - task.losses
  if (!isRetried(error.type, end.httpStatus)) end.deadReason = 'NOT_RETRYABLE'
  else if (attempt > retryPolicy.max_retries) end.deadReason = 'MAX_RETRIES_EXCEEDED'
  else {
    const now = clock.databaseNow()
    const retryAfterMs =
      outcome.kind === 'answered' ? retryAfterOf(outcome.headers['retry-after'], now) : null
    end.retryAt = epochMs(now + retryDelayMs(retryPolicy, { attempt, random: random.next(), retryAfterMs }))
  }
  return end
}

function errorOf(outcome: HttpOutcome): AttemptEnd['error'] {
  if (outcome.kind === 'answered') {
    const { status } = outcome
    if (status >= 200 && status < 300) return null
    return { type: 'HTTP_ERROR', message: `Callback returned ${status} ${STATUS_CODES[status] ?? ''}`.trim() }
  }
  return { type: typeOf(outcome.type), message: storable(outcome.message.slice(0, messageLengthMax)) }
}

function typeOf(type: HttpErrorType): ErrorType {
  // An answer that is not HTTP is as good as a cut connection; a request we cannot even write was never sent.
  if (type === 'INVALID_RESPONSE') return 'CONNECTION_RESET'
  if (type === 'INVALID_REQUEST' || type === 'CANCELLED') return 'HTTP_ERROR'
  return type
}

/** Seconds, or a date. Null: absent or unreadable. */
function retryAfterOf(value: string | undefined, now: EpochMs): number | null {
  if (value === undefined) return null
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1_000
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}

function previewText(preview: Uint8Array): string | null {
  return preview.length === 0
    ? null
    : storable(Buffer.from(preview.buffer, preview.byteOffset, preview.length).toString())
}

/** PostgreSQL's text holds neither NUL nor half a surrogate pair. */
function storable(text: string): string {
  const whole = text.toWellFormed()
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole
}
