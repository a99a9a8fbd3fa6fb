// The real HTTP port, on undici's dispatch (36 µs a call here, against 340 for fetch). Bounds the time and
// the size of every call, keeps the head of the response, never follows a redirect, never rejects.
import { Agent, type Dispatcher } from 'undici'
import type { Http, HttpErrorType, HttpOutcome, HttpRequest } from '../ports/http.ts'
import type { Timers } from '../ports/timers.ts'

export interface HttpClientOptions {
  /** Connections kept per origin. Default 64. */
  connectionsMax?: number
  /** Origins kept. Default 1,000. */
  originsMax?: number
}

export class HttpClient implements Http, AsyncDisposable {
  readonly #agent: Agent
  readonly #timers: Timers

  constructor(timers: Timers, options: HttpClientOptions = {}) {
    this.#timers = timers
    // undici's own timers tick every half second; each call has an exact one of ours instead.
    this.#agent = new Agent({
      connections: options.connectionsMax ?? 64,
      maxOrigins: options.originsMax ?? 1_000,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  send(request: HttpRequest, signal?: AbortSignal): Promise<HttpOutcome> {
    if (signal?.aborted) return Promise.resolve(cancelled)
    const url = URL.parse(request.url)
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      return Promise.resolve(failed('INVALID_REQUEST', `${request.url} is not an http or https URL`))
    }
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
      try {
        const options: Dispatcher.DispatchOptions = {
          origin: url.origin,
          path: url.pathname + url.search,
          method: request.method as Dispatcher.HttpMethod,
          headers: request.headers,
          body: request.body ?? null,
        }
        this.#agent.dispatch(options, call)
      } catch (error) {
        call.end(describeError(error))
      }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }
}

/** One call: collects the response and reports one outcome, whichever of answer, error, timeout, abort is first. */
class Call implements Dispatcher.DispatchHandler {
  onEnd: () => void = () => {}
  readonly #request: HttpRequest
  readonly #resolve: (outcome: HttpOutcome) => void
  #controller: Dispatcher.DispatchController | null = null
  #ended = false
  #status = 0
  #headers: Record<string, string> = {}
  #kept: Uint8Array[] = []
  #keptBytes = 0
  #receivedBytes = 0

  constructor(request: HttpRequest, resolve: (outcome: HttpOutcome) => void) {
    this.#request = request
    this.#resolve = resolve
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
    if (this.#ended) controller.abort(aborted)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status
    for (const [name, value] of Object.entries(headers)) {
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
    const kept = chunk.subarray(0, roomBytes)
    this.#kept.push(kept)
    this.#keptBytes += kept.length
  }

  onResponseEnd(): void {
    const preview = Buffer.concat(this.#kept, this.#keptBytes)
    // Cleared first: the response is complete, so ending must not abort its connection.
    this.#controller = null
    this.end({ kind: 'answered', status: this.#status, headers: this.#headers, preview })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#controller = null
    this.end(describeError(error))
  }
}

const aborted = new Error('the call was ended by its sender')
const cancelled = failed('CANCELLED', 'the call was cancelled')

function failed(type: HttpErrorType, message: string): HttpOutcome {
  return { kind: 'failed', type, message }
}

function describeError(error: unknown): HttpOutcome {
  const { code = '', name = '', message = String(error) } = error as Error & { code?: string }
  return failed(typeOf(code, name), code ? `${code}: ${message}` : message)
}

function typeOf(code: string, name: string): HttpErrorType {
  if (name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW') return 'INVALID_RESPONSE'
  if (code === 'UND_ERR_INVALID_ARG' || code === 'ERR_INVALID_ARG_VALUE') return 'INVALID_REQUEST'
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return 'CONNECTION_REFUSED'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'DNS_RESOLUTION_FAILED'
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'TIMEOUT'
  if (/^(ERR_SSL|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code)) return 'TLS_ERROR'
  return 'CONNECTION_RESET'
}
