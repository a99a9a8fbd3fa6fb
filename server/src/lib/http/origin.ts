// The connections of one tenant to one origin: the last used first, so that unneeded ones grow old and are closed.
import type { Timer, Timers } from '../../ports/timers.ts'
import { type ConnectionCall, type ConnectionOwner, HttpConnection, type Place } from './connection.ts'
import type { IdleConnections } from './idle-connections.ts'

export interface OriginDeps {
  timers: Timers
  /** A monotonic clock. */
  nowMs: () => number
  /** The idle connections of all origins. */
  idle: IdleConnections
  onError: (error: Error) => void
}

export interface OriginOptions {
  connectionsMax: number
  /** How long an idle connection is kept when the target offers no time. */
  idleMs: number
}

/** Idle time at most, even if the target offers more: idle sockets are file descriptors. */
const idleMsMax = 30_000
/** From this many waiting calls on, ended ones are searched for and removed. */
const waitingMin = 1_000
/** We close so much before the target would: a request that crosses its closing is lost. */
const crossingMs = 2_000

export class HttpOrigin implements ConnectionOwner {
  readonly #deps: OriginDeps
  readonly #place: Place
  readonly #options: OriginOptions
  readonly #connections = new Set<HttpConnection>()
  readonly #free: HttpConnection[] = []
  #waiting: ConnectionCall[] = []
  #waitingMax = waitingMin
  /** Closes connections that are idle for too long. */
  #sweep: Timer | null = null
  /** Null: it is in use. */
  #onClosed: (() => void) | null = null

  constructor(deps: OriginDeps, place: Place, options: OriginOptions) {
    this.#deps = deps
    this.#place = place
    this.#options = options
  }

  /** Sends it, or lets it wait for a connection. */
  dispatch(call: ConnectionCall): void {
    const connection = this.#takeFree()
    if (connection !== null) connection.send(call)
    else if (this.#connections.size < this.#options.connectionsMax) this.#connect(call)
    else this.#wait(call)
  }

  /** Takes no more calls; calls in flight or waiting end first. `onClosed`: nothing of it is left. */
  retire(onClosed: () => void): void {
    this.#onClosed = onClosed
    this.#sweep?.cancel()
    if (this.#connections.size === 0) onClosed()
    else for (const connection of this.#free.splice(0)) connection.destroy()
  }

  /** Ends everything at once, calls in flight with this error. */
  destroy(error: Error): void {
    this.#sweep?.cancel()
    for (const call of this.#waiting.splice(0)) call.onFailed(error)
    for (const connection of this.#connections) connection.fail(error)
  }

  onFree(connection: HttpConnection): void {
    const next = this.#takeWaiting()
    if (next !== null) {
      connection.send(next)
      return
    }
    const nowMs = this.#deps.nowMs()
    connection.idleUntilMs = nowMs + this.#idleMsOf(connection)
    if (this.#onClosed !== null || connection.idleUntilMs <= nowMs) connection.destroy()
    else {
      this.#free.push(connection)
      this.#deps.idle.add(connection)
      this.#sweep ??= this.#sweepAfter(connection.idleUntilMs - nowMs)
    }
  }

  onClosed(connection: HttpConnection): void {
    this.#connections.delete(connection)
    const at = this.#free.indexOf(connection)
    if (at >= 0) this.#free.splice(at, 1)
    this.#deps.idle.remove(connection)
    const next = this.#takeWaiting()
    if (next !== null) this.#connect(next)
    else if (this.#connections.size === 0) this.#onClosed?.()
  }

  onError(error: Error): void {
    this.#deps.onError(error)
  }

  #connect(call: ConnectionCall): void {
    this.#connections.add(new HttpConnection(this.#deps.timers, this.#place, this, call))
  }

  #idleMsOf({ reader }: HttpConnection): number {
    if (reader.keepAliveSeconds === null) return this.#options.idleMs
    return Math.min(reader.keepAliveSeconds * 1_000 - crossingMs, Math.max(this.#options.idleMs, idleMsMax))
  }

  #takeFree(): HttpConnection | null {
    const nowMs = this.#deps.nowMs()
    for (let one = this.#free.pop(); one !== undefined; one = this.#free.pop()) {
      this.#deps.idle.remove(one)
      if (one.idleUntilMs > nowMs) return one
      one.destroy()
    }
    return null
  }

  #sweepAfter(ms: number): Timer {
    return this.#deps.timers.schedule(Math.ceil(ms), () => {
      const nowMs = this.#deps.nowMs()
      const old = this.#free.filter(({ idleUntilMs }) => idleUntilMs <= nowMs)
      for (const connection of old) connection.destroy()
      const nextMs = this.#free.reduce((least, { idleUntilMs }) => Math.min(least, idleUntilMs), Infinity)
      this.#sweep = nextMs === Infinity ? null : this.#sweepAfter(nextMs - nowMs)
    })
  }

  // Behind connections that are held for days, calls that ended while they waited would pile up.
  #wait(call: ConnectionCall): void {
    if (this.#waiting.length >= this.#waitingMax) {
      this.#waiting = this.#waiting.filter(({ isEnded }) => !isEnded)
      this.#waitingMax = Math.max(waitingMin, this.#waiting.length * 2)
    }
    this.#waiting.push(call)
  }

  /** Calls abandoned while they waited are not sent any more. */
  #takeWaiting(): ConnectionCall | null {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
      if (!next.isEnded) return next
    return null
  }
}
