// The real HTTP port, on undici's dispatch (36 µs a call here, against 340 for fetch). Bounds the time and
// the size of every call, keeps the head of the response, never follows a redirect, never repeats a request, never
// rejects. With a guard it connects only to addresses the guard has checked.
import { buildConnector, type Client, type Dispatcher } from 'undici'
import type { Http, HttpErrorType, HttpOutcome, HttpRequest } from '../ports/http.ts'
import type { Timers } from '../ports/timers.ts'
import { checkCallbackUrl, parseTarget } from './callback-url.ts'
import { HttpOrigin, type OriginCall } from './http-origin.ts'
import { ForbiddenTarget, type TargetGuard } from './target-guard.ts'

export interface HttpClientOptions {
  /** Decides which addresses may be called. Default: all. */
  guard?: TargetGuard
  /** Connections per origin; more calls wait. Default 256: above what a worker sends to one host. */
  connectionsMax?: number
  /** Origins whose connections are kept. Default 10,000. */
  originsMax?: number
  /** How long an idle connection is kept, in milliseconds. Default 4,000. */
  idleMs?: number
}

/** Connecting, TLS included. A target that takes longer counts as not there. */
const connectMsMax = 10_000
/** Idle time at most, whatever the target's Keep-Alive header offers: idle sockets are file descriptors. */
const idleMsMax = 30_000

/** What callers read. Copying all of the usual ten headers costs 0.8 µs a call, and keeps what strangers sent. */
const KEPT_HEADERS = ['content-type', 'retry-after', 'x-carillon-async'] as const

export class HttpClient implements Http, AsyncDisposable {
  readonly #timers: Timers
  readonly #options: HttpClientOptions
  readonly #clientOptions: Client.Options
  readonly #retired = new Set<HttpOrigin>()
  readonly #origins = new Map<string, HttpOrigin>()

  constructor(timers: Timers, options: HttpClientOptions = {}) {
    this.#timers = timers
    this.#options = options
    this.#clientOptions = clientOptionsOf(options)
  }

  send(request: HttpRequest, signal?: AbortSignal): Promise<HttpOutcome> {
    if (signal?.aborted) return Promise.resolve(cancelled)
    const target = request.target ?? parseTarget(request.url)
    if (target === null) {
      const reason = checkCallbackUrl(request.url) ?? 'the URL cannot be called'
      return Promise.resolve(failed('INVALID_REQUEST', reason))
    }
    const refusal = this.#options.guard?.checkOrigin(target.origin) ?? null
    if (refusal !== null) return Promise.resolve(failed('TARGET_FORBIDDEN', refusal))
    return new Promise((resolve) => {
      const call = new Call(request, resolve)
      const timer = this.#timers.schedule(request.timeoutMs, () =>
        call.end(failed('TIMEOUT', `no complete response within ${request.timeoutMs} ms`)),
      )
      const cancel = () => call.end(cancelled)
      signal?.addEventListener('abort', cancel)
      call.onEnd = () => {
        timer.cancel()
        signal?.removeEventListener('abort', cancel)
      }
      const { method, headers, body = null } = request
      const options = { path: target.path, method: method as Dispatcher.HttpMethod, headers, body }
      try {
        this.#originOf(target.origin).dispatch(options, call)
      } catch (error) {
        call.refuse(error)
      }
    })
  }

  // Bounded: when there are too many, all are forgotten; what is under way with them ends first.
  #originOf(name: string): HttpOrigin {
    const known = this.#origins.get(name)
    if (known !== undefined) return known
    const { originsMax = 10_000, connectionsMax = 256 } = this.#options
    if (this.#origins.size >= originsMax) {
      for (const origin of this.#origins.values()) this.#retire(origin)
      this.#origins.clear()
    }
    const origin = new HttpOrigin(name, this.#clientOptions, connectionsMax)
    this.#origins.set(name, origin)
    return origin
  }

  #retire(origin: HttpOrigin): void {
    this.#retired.add(origin)
    origin.retire(() => this.#retired.delete(origin))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#origins.values(), ...this.#retired].map((origin) => origin.destroy()))
  }
}

function clientOptionsOf({ guard, idleMs = 4_000 }: HttpClientOptions): Client.Options {
  return {
    pipelining: 1,
    // One connection, one call: a stalled HTTP/2 connection would stall every call on it.
    allowH2: false,
    // undici's own timers tick every half second; each call has an exact one of ours instead.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Node, Apache and uvicorn close after 5 s idle. We close first: a POST that crosses their closing is lost.
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: Math.max(idleMs, idleMsMax),
    // One for all, so that TLS sessions are resumed.
    connect: buildConnector({
      allowH2: false,
      timeout: connectMsMax,
      ...(guard === undefined ? {} : { lookup: guard.lookup }),
    }),
  }
}

/** One call: collects the response and reports one outcome, whichever of answer, error, timeout, abort is first. */
class Call implements OriginCall {
  onEnd: () => void = () => {}
  onReleased: () => void = () => {}
  readonly #request: HttpRequest
  readonly #resolve: (outcome: HttpOutcome) => void
  #controller: Dispatcher.DispatchController | null = null
  #ended = false
  #started = false
  #status = 0
  #headers: Record<string, string> = {}
  #kept: Uint8Array[] = []
  #keptBytes = 0
  #receivedBytes = 0

  constructor(request: HttpRequest, resolve: (outcome: HttpOutcome) => void) {
    this.#request = request
    this.#resolve = resolve
  }

  get isEnded(): boolean {
    return this.#ended
  }

  refuse(error: unknown): void {
    this.end(describeError(error))
  }

  end(outcome: HttpOutcome): void {
    if (this.#ended) return
    this.#ended = true
    this.onEnd()
    this.#resolve(outcome)
    // While the request waits for a connection there is no controller yet; onRequestStart aborts it then.
    this.#controller?.abort(aborted)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // A second start would be undici repeating the request, which the target may have acted on already.
    if (this.#ended || this.#started) {
      controller.abort(aborted)
      return
    }
    this.#started = true
    this.#request.onStarted?.()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status
    for (const name of KEPT_HEADERS) {
      const value = headers[name]
      if (value !== undefined) this.#headers[name] = typeof value === 'string' ? value : value.join(', ')
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    const { previewBytesMax, responseBytesMax } = this.#request
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > responseBytesMax) {
      this.end(failed('RESPONSE_TOO_LARGE', `the response is longer than ${responseBytesMax} bytes`))
      return
    }
    const roomBytes = previewBytesMax - this.#keptBytes
    if (roomBytes <= 0) return
    // A copy: a view would hold on to the 64 KB that were read with it, for as long as the target likes.
    const kept = Buffer.from(chunk.subarray(0, roomBytes))
    this.#kept.push(kept)
    this.#keptBytes += kept.length
  }

  onResponseEnd(): void {
    const preview = this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept, this.#keptBytes)
    // Cleared first: the response is complete, so ending must not abort its connection.
    this.#controller = null
    this.end({ kind: 'answered', status: this.#status, headers: this.#headers, preview })
    this.onReleased()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#controller = null
    this.end(describeError(error))
    this.onReleased()
  }
}

const aborted = new Error('the call was ended by its sender')
const cancelled = failed('CANCELLED', 'the call was cancelled')

function failed(type: HttpErrorType, message: string): HttpOutcome {
  return { kind: 'failed', type, message }
}

function describeError(error: unknown): HttpOutcome {
  if (error instanceof ForbiddenTarget) return failed('TARGET_FORBIDDEN', error.message)
  const { code = '', name = '', message = String(error) } = error as Error & { code?: string }
  return failed(typeOf(code, name), code ? `${code}: ${message}` : message)
}

function typeOf(code: string, name: string): HttpErrorType {
  if (name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW') return 'INVALID_RESPONSE'
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return 'INVALID_RESPONSE'
  if (code === 'UND_ERR_INVALID_ARG' || code === 'ERR_INVALID_ARG_VALUE') return 'INVALID_REQUEST'
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return 'CONNECTION_REFUSED'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'DNS_RESOLUTION_FAILED'
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'TIMEOUT'
  if (/^(ERR_SSL|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code)) return 'TLS_ERROR'
  return 'CONNECTION_RESET'
}
