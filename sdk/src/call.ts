// One call of the API: headers, time limit, and the repeats that are safe. A repeat is safe when the server cannot have
// acted yet, or when acting twice is acting once.
import type { Problem } from '#contract/problem.ts'
import { CarillonError, ConnectionError } from './carillon-error.ts'
import { checkOptionNames, type OptionNames } from './known-options.ts'
import { type HttpAnswer, reasonOf, type Send, wasNeverSent } from './send.ts'

export interface CallOptions {
  /** Ends the call; it then rejects with the reason of the signal. */
  signal?: AbortSignal
  /** The longest the call may take, repeats included. Default: that of the client. */
  timeoutMs?: number
}

export interface WriteOptions extends CallOptions {
  /** Nothing is done; the answer is the one that a real call would have had. */
  dryRun?: boolean
}

export interface PostOptions extends WriteOptions {
  /** Under one key a request is done once, however often it is sent. Default: a fresh one for each call. */
  idempotencyKey?: string
}

export interface CallRequest {
  method?: string
  path: string
  query?: object
  /** Sent as JSON; bytes are sent as they are. */
  body?: unknown
  /** The body, when it is JSON already. */
  json?: string
  headers?: Record<string, string>
  /**
   * The effect of acting twice. `same`: nothing new, so it is repeated when the answer is lost. `keyed`: the same, by
   * an idempotency key. `once`: harm, so it is repeated only while the server cannot have acted.
   */
  repeat: 'same' | 'keyed' | 'once'
  /** Statuses that are an answer though they say no success. */
  alsoExpected?: readonly number[]
}

export type Call = <T>(request: CallRequest, options?: PostOptions) => Promise<T>

export interface CallerOptions {
  url: string
  key?: string
  tenantId?: string
  timeoutMs?: number
  retries?: number
}

/** Options of any call. Options that bind a change to a version, or are part of the path, have been read by then. */
const callOptions: OptionNames<
  PostOptions & { ifMatch: unknown; ifNoneMatch: unknown; cancelRunning: unknown }
> = {
  signal: true,
  timeoutMs: true,
  dryRun: true,
  idempotencyKey: true,
  ifMatch: true,
  ifNoneMatch: true,
  cancelRunning: true,
}
const retryMsMin = 250
const retryMsMax = 8_000
/** A server may ask for more patience than any call has. */
const retryAfterMsMax = 3_600_000

export function createCaller(options: CallerOptions, send: Send): Call {
  const { url, key, tenantId, timeoutMs: defaultMs = 30_000, retries = 4 } = options
  const common: Record<string, string> = { accept: 'application/json' }
  if (key !== undefined) common['authorization'] = `Bearer ${key}`
  if (tenantId !== undefined) common['x-tenant-id'] = tenantId

  return async <T>(request: CallRequest, given: PostOptions = {}): Promise<T> => {
    const { method = 'GET', body, repeat, alsoExpected = [] } = request
    checkOptionNames(`${method} ${request.path}`, given, callOptions)
    const headers = { ...common, ...request.headers }
    if (repeat === 'keyed') headers['idempotency-key'] = given.idempotencyKey ?? crypto.randomUUID()
    const sent =
      body === undefined ? (request.json ?? null) : body instanceof Uint8Array ? body : JSON.stringify(body)
    if (sent !== null) headers['content-type'] ??= 'application/json'
    const exchange = { method, url: addressOf(url, request, given.dryRun), headers, body: sent }
    const timeoutMs = given.timeoutMs ?? defaultMs
    const deadline = AbortSignal.timeout(timeoutMs)
    const signal = given.signal === undefined ? deadline : AbortSignal.any([given.signal, deadline])
    const startedMs = performance.now()
    for (let tried = 0; ; tried++) {
      const ending = await attempt<T>(() => send({ ...exchange, signal }), { url, repeat, alsoExpected })
      if (ending.kind === 'answer') return ending.body
      given.signal?.throwIfAborted()
      const waitMs = Math.max(ending.error.retryAfterMs ?? 0, backoffMs(tried))
      const leftMs = timeoutMs - (performance.now() - startedMs)
      if (!ending.mayRepeat || tried >= retries || waitMs >= leftMs) throw ending.error
      await pause(waitMs, given.signal)
    }
  }
}

type Ending<T> = { kind: 'answer'; body: T } | { kind: 'error'; error: CarillonError; mayRepeat: boolean }

async function attempt<T>(
  send: () => Promise<HttpAnswer>,
  { url, repeat, alsoExpected }: { url: string } & Required<Pick<CallRequest, 'repeat' | 'alsoExpected'>>,
): Promise<Ending<T>> {
  const isSafe = repeat !== 'once'
  let answer: HttpAnswer
  try {
    answer = await send()
  } catch (cause) {
    const error = new ConnectionError(`No answer from ${url}: ${reasonOf(cause)}`, { cause })
    return { kind: 'error', error, mayRepeat: isSafe || wasNeverSent(cause) }
  }
  const { status, text } = answer
  const isGood = status >= 200 && status < 300
  let body: unknown
  try {
    body = text === '' ? undefined : JSON.parse(text)
  } catch (cause) {
    const said = isGood ? 'the answer is not JSON' : `it answered ${status}`
    const error = new ConnectionError(`No answer from ${url}: ${said}`, { cause, status })
    return { kind: 'error', error, mayRepeat: isSafe && [502, 503, 504].includes(status) }
  }
  if (isGood) return { kind: 'answer', body: body as T }
  // A server that is stopping answers any path with a problem document.
  const isProblem = answer.header('content-type')?.startsWith('application/problem+json') === true
  if (alsoExpected.includes(status) && !isProblem) return { kind: 'answer', body: body as T }
  const problem = isProblem ? (body as Problem) : null
  const retryAfterMs = readRetryAfter(answer.header('retry-after'))
  const error = new CarillonError(problem?.detail ?? `${url} answered ${status}`, {
    status,
    problem,
    retryAfterMs,
  })
  // 429 refuses before anything is done. Of 503 nobody knows. A key in use is our own first try, still under way.
  const mayRepeat =
    status === 429 ||
    (isSafe && [502, 503, 504].includes(status)) ||
    (repeat === 'keyed' && problem?.code === 'IDEMPOTENCY_KEY_IN_USE')
  return { kind: 'error', error, mayRepeat }
}

function addressOf(url: string, { path, query = {} }: CallRequest, dryRun = false): URL {
  const address = new URL(path, url)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) address.searchParams.set(name, String(value))
  }
  if (dryRun) address.searchParams.set('dry_run', 'true')
  return address
}

/** Seconds, or a date; null: neither. */
function readRetryAfter(text: string | null): number | null {
  if (text === null) return null
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), retryAfterMsMax) : null
}

/** Doubles with each try; half of it is chance, so that many clients do not come back at once. */
export function backoffMs(tried: number): number {
  return Math.min(retryMsMin * 2 ** Math.min(tried, 10), retryMsMax) * (0.5 + Math.random() / 2)
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
