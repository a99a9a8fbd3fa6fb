// The HTTP port on undici: the same limits and outcomes as our own client has, to compare the two. Without the guard of addresses.
import { realTimers } from '@carillon/server/lib/time/timers.ts'
import type { Http, HttpErrorType, HttpOutcome, HttpRequest } from '@carillon/server/ports/http.ts'
import { Agent, type Dispatcher } from 'undici'

const connectMsMax = 10_000
const keptHeaders = ['content-type', 'retry-after', 'x-carillon-async']
const blank = Buffer.alloc(0)

export class UndiciHttp implements Http, AsyncDisposable {
  readonly #agent: Agent

  constructor({ connectionsMax = 256 } = {}) {
    this.#agent = new Agent({
      connections: connectionsMax,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectMsMax },
    })
  }

  send(request: HttpRequest): Promise<HttpOutcome> {
    const { url, target, method, headers, body = null, timeoutMs } = request
    const { origin, path } = target ?? partsOf(url)
    return new Promise((resolve) => {
      const call = new Call(request, resolve)
      call.endAfter(timeoutMs)
      this.#agent.dispatch({ origin, path, method: method as Dispatcher.HttpMethod, headers, body }, call)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }
}

class Call implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest
  readonly #resolve: (outcome: HttpOutcome) => void
  #timer: { cancel(): void } | null = null
  #controller: Dispatcher.DispatchController | null = null
  #isEnded = false
  #status = 0
  #headers: Record<string, string> = {}
  #kept: Buffer[] = []
  #keptBytes = 0
  #receivedBytes = 0

  constructor(request: HttpRequest, resolve: (outcome: HttpOutcome) => void) {
    this.#request = request
    this.#resolve = resolve
  }

  endAfter(timeoutMs: number): void {
    this.#timer = realTimers.schedule(timeoutMs, () =>
      this.#end(failed('TIMEOUT', `no complete response within ${timeoutMs} ms`)),
    )
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isEnded) controller.abort(new Error('ended'))
    else this.#request.onStarted?.()
  }

  onRequestUpgrade(): void {
    this.#end(failed('CONNECTION_RESET', 'the target switched protocols'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status
    for (const name of keptHeaders)
      if (headers[name] !== undefined) this.#headers[name] = String(headers[name])
  }

  onResponseData(_controller: Dispatcher.DispatchController, part: Buffer): void {
    const { previewBytesMax, responseBytesMax } = this.#request
    this.#receivedBytes += part.length
    if (this.#receivedBytes > responseBytesMax) {
      this.#end(failed('RESPONSE_TOO_LARGE', `the response is longer than ${responseBytesMax} bytes`))
      return
    }
    const roomBytes = previewBytesMax - this.#keptBytes
    if (roomBytes <= 0) return
    this.#kept.push(Buffer.from(part.subarray(0, roomBytes)))
    this.#keptBytes += Math.min(part.length, roomBytes)
  }

  onResponseEnd(): void {
    this.#controller = null
    const preview = this.#kept.length === 0 ? blank : Buffer.concat(this.#kept, this.#keptBytes)
    this.#end({ kind: 'answered', status: this.#status, headers: this.#headers, preview })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#controller = null
    const { code = '' } = error as Error & { code?: string }
    this.#end(failed(typeOf(error.name, code), `${code || error.name}: ${error.message}`))
  }

  #end(outcome: HttpOutcome): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#timer?.cancel()
    this.#resolve(outcome)
    this.#controller?.abort(new Error('ended'))
  }
}

function partsOf(url: string): { origin: string; path: string } {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search }
}

function failed(type: HttpErrorType, message: string): HttpOutcome {
  return { kind: 'failed', type, message }
}

// The parser's error has a name and no code.
function typeOf(name: string, code: string): HttpErrorType {
  if (name === 'HTTPParserError') return 'INVALID_RESPONSE'
  if (/^UND_ERR_(HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH)$/.test(code)) return 'INVALID_RESPONSE'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'TIMEOUT'
  if (code === 'ECONNREFUSED') return 'CONNECTION_REFUSED'
  return 'CONNECTION_RESET'
}
