// One connection through the proxy: two lanes, each delivering its chunks in order, each at its time.
import type { Socket } from 'node:net'
import { CommitWatch } from './commit-watch.ts'

export type Direction = 'to-server' | 'to-client'

const queuedBytesMax = 1024 ** 2

interface LinkOptions {
  delayMs(): number
  isStalled(direction: Direction): boolean
  wantsToSwallow(): boolean
  onSwallowed(): void
  onClosed(): void
}

/** One connection through the proxy. */
export class Link {
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #lanes: readonly Lane[]
  readonly #options: LinkOptions
  #isClosed = false

  constructor(client: Socket, upstream: Socket, options: LinkOptions) {
    this.#client = client
    this.#upstream = upstream
    this.#options = options
    const watch = new CommitWatch(options)
    const toServer = new Lane(client, upstream, {
      delayMs: options.delayMs,
      isStalled: () => options.isStalled('to-server'),
      pass: (chunk) => {
        watch.fromClient(chunk)
        return chunk
      },
      onReset: () => this.reset(),
    })
    const toClient = new Lane(upstream, client, {
      delayMs: options.delayMs,
      isStalled: () => options.isStalled('to-client'),
      pass: (chunk) => {
        const passed = watch.fromServer(chunk)
        if (passed !== 'swallowed') return passed
        options.onSwallowed()
        return 'reset'
      },
      onReset: () => this.reset(),
    })
    this.#lanes = [toServer, toClient]
    for (const socket of [client, upstream]) socket.on('close', () => this.#closed())
    this.move()
  }

  move(): void {
    for (const lane of this.#lanes) lane.move()
  }

  reset(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const lane of this.#lanes) lane.stop()
    abandon(this.#client)
    abandon(this.#upstream)
    this.#options.onClosed()
  }

  #closed(): void {
    if (this.#isClosed || !this.#client.destroyed || !this.#upstream.destroyed) return
    this.#isClosed = true
    for (const lane of this.#lanes) lane.stop()
    this.#options.onClosed()
  }
}

/** A Unix socket knows no reset; one that was ended cannot be reset any more, and would stay open if we tried. */
function abandon(socket: Socket): void {
  if (socket.remoteAddress === undefined || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

interface LaneOptions {
  delayMs(): number
  isStalled(): boolean
  /** Returns the bytes to pass on for a received chunk. */
  pass(chunk: Buffer): Buffer | 'reset'
  onReset(): void
}

/** One direction of a link: the received chunks in order, each at its time. */
class Lane {
  readonly #from: Socket
  readonly #to: Socket
  readonly #options: LaneOptions
  readonly #queue: { what: Buffer | 'end' | 'reset'; dueMs: number }[] = []
  #queuedBytes = 0
  #isFull = false
  #timer: NodeJS.Timeout | undefined

  constructor(from: Socket, to: Socket, options: LaneOptions) {
    this.#from = from
    this.#to = to
    this.#options = options
    from.on('data', (chunk: Buffer) => this.#put(options.pass(chunk)))
    from.on('end', () => this.#put('end'))
    from.on('error', () => this.#put('reset'))
    to.on('drain', () => {
      this.#isFull = false
      this.move()
    })
  }

  /** Passes on the chunks that are due; reads more when there is room. */
  move(): void {
    clearTimeout(this.#timer)
    const stalled = this.#options.isStalled()
    while (!stalled && !this.#isFull && this.#queue.length > 0) {
      const { what, dueMs } = this.#queue[0]!
      const waitMs = dueMs - performance.now()
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.move(), Math.ceil(waitMs))
        break
      }
      this.#queue.shift()
      if (what === 'reset') {
        this.#options.onReset()
        return
      }
      if (what === 'end') this.#to.end()
      else {
        this.#queuedBytes -= what.length
        this.#isFull = !this.#to.write(what)
      }
    }
    if (stalled || this.#isFull || this.#queuedBytes > queuedBytesMax) this.#from.pause()
    else this.#from.resume()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#queue.length = 0
    this.#isFull = true
  }

  #put(what: Buffer | 'end' | 'reset'): void {
    if (what.length === 0) return
    if (what instanceof Buffer) this.#queuedBytes += what.length
    this.#queue.push({ what, dueMs: performance.now() + this.#options.delayMs() })
    this.move()
  }
}
