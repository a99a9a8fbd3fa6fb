// The HTTP executor: the parts that are the same for every attempt of a job version are prepared once; an attempt adds
// its own headers and makes one call. 2xx succeeds.
import { STATUS_CODES } from 'node:http'
import type { HttpExecution } from '../../domain/executors/http.ts'
import {
  type AttemptEnd,
  endAttempt,
  messageLengthMax,
  previewBytesMax,
  type Usage,
} from '../../domain/queue/attempt.ts'
import { idempotencyKeyOf } from '../../domain/queue/execution.ts'
import { isOwnHeader } from '../../domain/queue/own-headers.ts'
import type { ErrorType } from '../../domain/queue/retry.ts'
import type { StopSignal } from '../../lib/stop.ts'
import { storable } from '../../lib/storable.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import type { HttpErrorType, HttpOutcome, HttpRequest } from '../../ports/http.ts'
import type { Random } from '../../ports/random.ts'
import type { World } from '../../ports/world.ts'
import type { CallSigner } from '../call-signer.ts'
import { endCancelled, type HeldExecution, timeoutMsOf } from '../held-execution.ts'
import type { PreparedAny, PreparedHttp } from '../prepare.ts'

export interface HttpExecutorDeps extends Pick<World, 'clock' | 'http' | 'random'> {
  signer: Pick<CallSigner, 'sign'>
  /** Of each attempt, for its trace. */
  spanId: () => string
  /** Where targets reach our API; null: nobody has said. */
  publicUrl: () => string | null
}

const responseBytesMax = 1024 * 1024

/** `version`: of the program; it goes into the User-Agent. */
export function prepareHttp(
  execution: HttpExecution,
  version: string,
): Omit<PreparedHttp, keyof PreparedAny> {
  const url = new URL(execution.callback_url)
  const given = Object.keys(execution.headers).map((name) => name.toLowerCase())
  return {
    executor: 'http',
    host: url.host,
    url: execution.callback_url,
    target: { origin: url.origin, path: url.pathname + url.search },
    method: execution.method,
    headers: {
      ...(!given.includes('user-agent') && { 'user-agent': `carillon/${version}` }),
      ...(!given.includes('content-type') && { 'content-type': 'application/json' }),
      ...Object.fromEntries(
        // Ours of every attempt; a job's own in another spelling would go out beside them.
        Object.entries(execution.headers).filter(([name]) => !isOwnHeader(name.toLowerCase())),
      ),
    },
  }
}

/**
 * One attempt. Without an end: its target has accepted it (then its deadline is known), or the call was aborted because
 * the execution is no longer ours, and nobody can say how it ended.
 */
export async function runHttp(
  deps: HttpExecutorDeps,
  held: HeldExecution,
  prepared: PreparedHttp,
  signal: StopSignal,
): Promise<{ end: AttemptEnd | null; outcome: HttpOutcome }> {
  const { clock, http } = deps
  let startedMs = clock.monotonicMs()
  let startedAt = clock.databaseNow()
  held.startedAt = startedAt
  const onStarted = () => {
    startedMs = clock.monotonicMs()
    startedAt = clock.databaseNow()
    held.startedAt = startedAt
  }
  let usage: Usage | undefined
  const onTraffic = (bytesSent: number, bytesReceived: number) => {
    usage = { bytesSent, bytesReceived }
  }
  // Not kept here: it is large, and nobody needs it once it is sent.
  const outcome = await http.send(requestOf(deps, held, prepared, { onStarted, onTraffic }), signal)
  if (isTaken(outcome)) {
    held.awaitingUntil = epochMs(startedAt + timeoutMsOf(held, startedAt))
    return { end: null, outcome }
  }
  const durationMs = Math.max(0, clock.monotonicMs() - startedMs)
  if (outcome.kind === 'answered' || outcome.type !== 'CANCELLED')
    return { end: judge(deps, held, outcome, { startedAt, durationMs, usage }), outcome }
  return { end: held.cancelledMs === null ? null : endCancelled(startedAt, durationMs, usage), outcome }
}

function requestOf(
  deps: HttpExecutorDeps,
  held: HeldExecution,
  prepared: PreparedHttp,
  callbacks: Required<Pick<HttpRequest, 'onStarted' | 'onTraffic'>>,
): HttpRequest {
  const body = held.bodyOverride ?? prepared.body
  return {
    tenantId: prepared.tenantId,
    method: prepared.method,
    url: prepared.url,
    target: prepared.target,
    headers: headersOf(deps, held, prepared, body),
    timeoutMs: timeoutMsOf(held, held.startedAt!),
    responseBytesMax,
    previewBytesMax,
    ...callbacks,
    ...(body !== null && { body }),
  }
}

/** Whether the target will say later how it ended. */
function isTaken(outcome: HttpOutcome): boolean {
  return (
    outcome.kind === 'answered' && outcome.status === 202 && outcome.headers['x-carillon-async'] === 'true'
  )
}

function headersOf(
  { clock, signer, spanId, publicUrl }: HttpExecutorDeps,
  held: HeldExecution,
  prepared: PreparedHttp,
  body: string | null,
): Record<string, string> {
  const { executionId, jobId, kind, slot, attempt, fence, runId } = held
  const { tenantId } = prepared
  // The receiver's limit on the age of a call is in minutes: our estimate of the database's clock is good enough.
  const timestamp = Math.floor(clock.databaseNow() / 1_000)
  const called = { tenantId, executionId, attempt, fence }
  const { token, signature } = signer.sign({ ...called, timestamp, body: body ?? '' })
  const headers: Record<string, string> = {
    ...prepared.headers,
    'x-idempotency-key': held.idempotencyKey ?? idempotencyKeyOf(kind, { jobId, executionId, slot }),
    'x-execution-id': executionId,
    'x-job-id': jobId,
    'x-attempt-number': String(attempt),
    'x-scheduled-time': toRfc3339(slot),
    // The execution is the trace, the attempt a span of it.
    traceparent: `00-${executionId.replaceAll('-', '')}-${spanId()}-01`,
    'webhook-id': executionId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
    'x-carillon-token': token,
  }
  if (runId !== null) headers['x-carillon-graph-run-id'] = runId
  const reachedAt = publicUrl()
  if (reachedAt !== null)
    headers['x-carillon-completion-url'] = `${reachedAt}/api/v1/executions/${executionId}/complete`
  return headers
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
  held: HeldExecution,
  outcome: HttpOutcome,
  { startedAt, durationMs, usage }: { startedAt: EpochMs; durationMs: number; usage: Usage | undefined },
): AttemptEnd {
  const { attempt, losses, totalDeadline } = held
  const now = clock.databaseNow()
  const isAnswered = outcome.kind === 'answered'
  return endAttempt(
    {
      startedAt,
      finishedAt: epochMs(startedAt + durationMs),
      durationMs,
      httpStatus: isAnswered ? outcome.status : null,
      preview: isAnswered ? previewText(outcome.preview) : null,
      ...(usage && { usage }),
      error: errorOf(outcome),
      retryAfterMs: isAnswered ? retryAfterOf(outcome.headers['retry-after'], now) : null,
    },
    {
      ...{ attempt, losses, totalDeadline, now },
      retryPolicy: held.prepared.retryPolicy,
      random: random.next(),
    },
  )
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
