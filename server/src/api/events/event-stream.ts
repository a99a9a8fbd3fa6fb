// One reader of GET /events: bytes on its connection. A reader that is too slow is cut off; when it returns it receives
// the missed events, or the request to load again. Nothing is kept for it here.
import type { ServerResponse } from 'node:http'

/** Bytes that may wait for a reader: seconds of the busiest stream. */
const bufferBytesMax = 512 * 1024
/** Maximum silence of a stream: after a longer one, proxies in between take the connection for dead. */
const silenceMsMax = 15_000

export interface StreamOptions {
  response: ServerResponse
  monotonicMs: () => number
  /** Called once, when the stream is over, no matter which side ended it. */
  onEnd: () => void
}

export class EventStream {
  readonly #response: ServerResponse
  readonly #monotonicMs: () => number
  #wroteMs: number
  #ended = false

  constructor({ response, monotonicMs, onEnd }: StreamOptions) {
    this.#response = response
    this.#monotonicMs = monotonicMs
    this.#wroteMs = monotonicMs()
    response.once('close', () => {
      this.#ended = true
      onEnd()
    })
    // Of a connection that broke: 'close' follows.
    response.on('error', () => {})
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Bytes, where many get the same. */
  write(text: string | Buffer): void {
    if (this.#ended || text.length === 0) return
    if (this.#response.writableLength > bufferBytesMax) {
      this.#ended = true
      this.#response.destroy()
      return
    }
    this.#wroteMs = this.#monotonicMs()
    this.#response.write(text)
  }

  /** A comment, when there was nothing to say for long. */
  keepAlive(): void {
    if (this.#monotonicMs() - this.#wroteMs >= silenceMsMax) this.write(':\n\n')
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#response.end()
  }
}

/** JSON has no line break of its own. */
export function formatEvent(name: string, json: string): string {
  return `event: ${name}\ndata: ${json}\n\n`
}
