// The real HTTP port: HTTP/1.1 on sockets of our own. Bounds the time and the size of every call, keeps the head of the
// response, never follows a redirect, never repeats a request, never rejects. With a guard it connects only to addresses the
// guard has checked.
import type { LookupFunction } from 'node:net'
import type { Http, HttpErrorType, HttpOutcome, HttpRequest, HttpTarget } from '../../ports/http.ts'
import type { Timer, Timers } from '../../ports/timers.ts'
import type { StopSignal } from '../stop.ts'
import { checkCallbackUrl, parseTarget } from './callback-url.ts'
import { type ConnectionCall, ConnectTimeout, type HttpConnection, type Place } from './connection.ts'
import { ConnectionPools } from './connection-pools.ts'
import { InvalidRequest, type RequestText, writeRequest } from './request.ts'
import { InvalidResponse, ResponseTooLarge } from './response.ts'
import { ForbiddenTarget, NoCallableAddress, type TargetGuard } from './target-guard.ts'

export interface HttpClientOptions {
  /** Decides which addresses may be called. Default: all. */
  guard?: TargetGuard
  /** Connections per tenant and origin; more calls wait. Default 256: more than a worker sends to one host. */
  connectionsMax?: number
  /** Pairs of tenant and origin with kept connections. Default 10,000. */
  originsMax?: number
  /** Idle connections of all of them together. Default: no limit. */
  idleConnectionsMax?: number
  /** How long an idle connection is kept, in milliseconds. Default 4,000. */
  idleMs?: number
  /** Called with each error of a connection, or of an attempt to open one. */
  onConnectionError?: (error: Error) => void
}

/** Bytes of an answer besides its body: heads, framing. */
const framingBytesMax = 64 * 1024
/** Time to connect, TLS included. A slower target counts as unreachable. */
const connectMsMax = 10_000

export class HttpClient implements Http, AsyncDisposable {
  readonly #timers: Timers
  readonly #guard: TargetGuard | undefined
  readonly #pools: ConnectionPools
  #isClosed = false

  /** `nowMs`: a monotonic clock. */
  constructor(timers: Timers, nowMs: () => number, options: HttpClientOptions = {}) {
    const { guard, connectionsMax = 256, originsMax = 10_000, idleMs = 4_000 } = options
    const { idleConnectionsMax = Infinity, onConnectionError = () => {} } = options
    this.#timers = timers
    this.#guard = guard
    this.#pools = new ConnectionPools(
      {
        timers,
        nowMs,
        placeOf: (tenantId, origin) => placeOf(origin, guard?.lookupOf(tenantId, origin)),
        onError: onConnectionError,
      },
      { connectionsMax, originsMax, idleConnectionsMax, idleMs },
    )
  }

  send(request: HttpRequest, signal?: StopSignal): Promise<HttpOutcome> {
    if (signal?.aborted) return Promise.resolve(cancelled)
    if (this.#isClosed) return Promise.resolve(describeError(aborted))
    const target = request.target ?? parseTarget(request.url)
    if (target === null) {
      const reason = checkCallbackUrl(request.url) ?? 'the URL cannot be called'
      return Promise.resolve(failed('INVALID_REQUEST', reason))
    }
    const refusal = this.#guard?.checkTarget(request.tenantId, target) ?? null
    if (refusal !== null) return Promise.resolve(failed('TARGET_FORBIDDEN', refusal))
    return new Promise((resolve) => {
      try {
        this.#dispatch(request, target, signal, resolve)
      } catch (error) {
        resolve(describeError(error))
      }
    })
  }

  #dispatch(
    request: HttpRequest,
    target: HttpTarget,
    signal: StopSignal | undefined,
    resolve: (outcome: HttpOutcome) => void,
  ): void {
    const { host, connections } = this.#pools.of(request.tenantId, target.origin)
    const tellsDetail = this.#guard?.tellsDetail(request.tenantId) ?? true
    const call = new Call(request, { text: writeRequest(request, host, target.path), tellsDetail }, resolve)
    call.watch(this.#timers, request.timeoutMs, signal)
    try {
      connections.dispatch(call)
    } catch (error) {
      call.end(describeError(error))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#pools.destroy(aborted)
  }
}

function placeOf(origin: string, lookup: LookupFunction | undefined): { host: string; place: Place } {
  const { protocol, host, hostname, port } = new URL(origin)
  const isTls = protocol === 'https:'
  const place: Place = {
    isTls,
    hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port: port === '' ? (isTls ? 443 : 80) : Number(port),
    connectMsMax,
    ...(lookup && { lookup }),
  }
  return { host, place }
}

type Limits = Pick<HttpRequest, 'previewBytesMax' | 'responseBytesMax'>

/** One call: collects the response and reports one outcome, whichever of answer, error, timeout, abort is first. */
class Call implements ConnectionCall {
  readonly method: string
  readonly answerBytesMax: number
  #text: RequestText | null
  readonly #limits: Limits
  readonly #onStarted: (() => void) | undefined
  /** Whether an error of the connection is told as it is. */
  readonly #tellsDetail: boolean
  readonly #onTraffic: HttpRequest['onTraffic']
  readonly #resolve: (outcome: HttpOutcome) => void
  #bytesSent = 0
  #bytesReceived = 0
  #timer: Timer | null = null
  #signal: StopSignal | undefined
  #connection: HttpConnection | null = null
  #ended = false
  #kept: Uint8Array[] = []
  #keptBytes = 0
  #bodyBytes = 0

  // Keeps only the parts of the request needed to the end: headers and text are most of a call, and sent at once.
  constructor(
    request: HttpRequest,
    { text, tellsDetail }: { text: RequestText; tellsDetail: boolean },
    resolve: (outcome: HttpOutcome) => void,
  ) {
    const { method, previewBytesMax, responseBytesMax, onStarted, onTraffic } = request
    this.method = method
    this.answerBytesMax = responseBytesMax + framingBytesMax
    this.#limits = { previewBytesMax, responseBytesMax }
    this.#onStarted = onStarted
    this.#onTraffic = onTraffic
    this.#text = text
    this.#tellsDetail = tellsDetail
    this.#resolve = resolve
  }

  get isEnded(): boolean {
    return this.#ended
  }

  /** Ends the call when its time is over or its signal aborts. */
  watch(timers: Timers, timeoutMs: number, signal: StopSignal | undefined): void {
    this.#timer = timers.schedule(timeoutMs, () =>
      this.end(failed('TIMEOUT', `no complete response within ${timeoutMs} ms`)),
    )
    this.#signal = signal
    signal?.addEventListener('abort', this.#cancel)
  }

  readonly #cancel = () => this.end(cancelled)

  end(outcome: HttpOutcome): void {
    if (this.#ended) return
    this.#ended = true
    this.#timer?.cancel()
    this.#signal?.removeEventListener('abort', this.#cancel)
    this.#onTraffic?.(this.#bytesSent, this.#bytesReceived)
    this.#resolve(outcome)
    // While it waits for a connection there is none; it is not sent then.
    this.#connection?.destroy()
  }

  onStarted(connection: HttpConnection): void {
    this.#connection = connection
    this.#onStarted?.()
  }

  takeText(): RequestText {
    const text = this.#text!
    this.#text = null
    this.#bytesSent = text.head.length + (text.body?.length ?? 0)
    return text
  }

  onReceived(bytes: number): void {
    this.#bytesReceived += bytes
  }

  onBody(part: Uint8Array): void {
    const { previewBytesMax, responseBytesMax } = this.#limits
    this.#bodyBytes += part.length
    if (this.#bodyBytes > responseBytesMax) {
      this.end(this.#tooLarge())
      return
    }
    const roomBytes = previewBytesMax - this.#keptBytes
    if (roomBytes <= 0) return
    // A copy: the memory is reused for the next read.
    const kept = Buffer.from(part.subarray(0, roomBytes))
    this.#kept.push(kept)
    this.#keptBytes += kept.length
  }

  onAnswered(status: number, headers: Record<string, string>): void {
    const preview = this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept, this.#keptBytes)
    // Cleared first: the connection is free for others, and ending must not close it.
    this.#connection = null
    this.end({ kind: 'answered', status, headers, preview })
  }

  onFailed(error: Error): void {
    this.#connection = null
    if (error instanceof ResponseTooLarge) this.end(this.#tooLarge())
    else this.end(this.#tellsDetail ? describeError(error) : describeCoarsely(error))
  }

  #tooLarge(): HttpOutcome {
    const { responseBytesMax } = this.#limits
    return failed('RESPONSE_TOO_LARGE', `the response is longer than ${responseBytesMax} bytes`)
  }
}

/** OpenSSL's error codes, as Node spells them. EPROTO: the received bytes are not TLS. */
const tlsCode =
  /^(EPROTO$|ERR_SSL|ERR_TLS|ERR_OSSL|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|INVALID_(CA|PURPOSE)$|PATH_LENGTH|HOSTNAME_|ERROR_IN_)/
const aborted = new Error('the call was ended by its sender')
const cancelled = failed('CANCELLED', 'the call was cancelled')

function failed(type: HttpErrorType, message: string): HttpOutcome {
  return { kind: 'failed', type, message }
}

function describeError(error: unknown): HttpOutcome {
  if (error instanceof ForbiddenTarget) return failed('TARGET_FORBIDDEN', error.message)
  if (error instanceof NoCallableAddress) return failed('DNS_RESOLUTION_FAILED', error.message)
  if (error instanceof InvalidRequest) return failed('INVALID_REQUEST', error.message)
  if (error instanceof InvalidResponse)
    return failed('INVALID_RESPONSE', `the answer is not HTTP: ${error.message}`)
  if (error instanceof ConnectTimeout) return failed('TIMEOUT', error.message)
  const { code = '' } = error as Error & { code?: string }
  const message = messageOf(error)
  return failed(typeOf(code), code && !message.includes(code) ? `${code}: ${message}` : message)
}

/** Without the addresses that a name has, and without the difference between a port that is closed and a host that is away. */
function describeCoarsely(error: unknown): HttpOutcome {
  const outcome = describeError(error)
  if (outcome.kind === 'answered') return outcome
  const { code = '' } = error as Error & { code?: string }
  const text = code === '' ? undefined : coarseTexts[outcome.type]
  return text === undefined ? outcome : failed(outcome.type, text)
}

const coarseTexts: Partial<Record<HttpErrorType, string>> = {
  CONNECTION_REFUSED: 'no connection: the target is away, or does not accept any',
  CONNECTION_RESET: 'the connection was cut before the answer was complete',
  TIMEOUT: 'the target did not answer in time',
}

/** Where each address of a name has failed, the error over them all says nothing itself. */
function messageOf(error: unknown): string {
  const { message, errors } = error as AggregateError
  return message || (errors ?? []).map(messageOf).join('; ') || String(error)
}

function typeOf(code: string): HttpErrorType {
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return 'CONNECTION_REFUSED'
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'DNS_RESOLUTION_FAILED'
  if (code === 'ETIMEDOUT') return 'TIMEOUT'
  if (tlsCode.test(code)) return 'TLS_ERROR'
  return 'CONNECTION_RESET'
}
