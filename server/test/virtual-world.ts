// The injected world without a world: a clock that moves only when told, timers on it, randomness and ids from a
// seed, HTTP from a script. What runs on it runs the same way every time.
import { epochMs } from '../src/lib/epoch.ts'
import { UuidV7 } from '../src/lib/id.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Http, HttpOutcome, HttpRequest } from '../src/ports/http.ts'
import type { Random } from '../src/ports/random.ts'
import type { Timer, Timers } from '../src/ports/timers.ts'
import type { World } from '../src/ports/world.ts'

export interface VirtualWorld extends World {
  timers: VirtualTimers
  http: VirtualHttp
  /** Moves time on, timer by timer; what a timer starts is done before the next one fires. */
  advance(ms: number): Promise<void>
}

export interface VirtualWorldOptions {
  /** Default 1. */
  seed?: number
  /** Where the database clock starts. Default 2026-01-01T00:00:00Z. */
  startAt?: number
}

export function createVirtualWorld(options: VirtualWorldOptions = {}): VirtualWorld {
  const { seed = 1, startAt = Date.UTC(2026, 0, 1) } = options
  const timers = new VirtualTimers()
  const clock: Clock = {
    databaseNow: () => epochMs(startAt + timers.nowMs),
    monotonicMs: () => timers.nowMs,
  }
  const random = new SeededRandom(seed)
  const ids = new UuidV7(() => clock.databaseNow(), random)
  return { clock, timers, random, ids, http: new VirtualHttp(timers), advance: (ms) => timers.advance(ms) }
}

export class VirtualTimers implements Timers {
  nowMs = 0
  #order = 0
  #pending: { atMs: number; order: number; callback: () => void }[] = []

  /** Timers that have not fired. */
  get pending(): number {
    return this.#pending.length
  }

  schedule(ms: number, callback: () => void): Timer {
    const entry = { atMs: this.nowMs + Math.max(0, ms), order: this.#order++, callback }
    this.#pending.push(entry)
    return {
      cancel: () => {
        this.#pending = this.#pending.filter((other) => other !== entry)
      },
    }
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel()
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = this.schedule(ms, done)
      signal?.addEventListener('abort', done)
    })
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms
    await settle()
    while (true) {
      const next = this.#takeDue(untilMs)
      if (next === undefined) break
      this.nowMs = next.atMs
      next.callback()
      await settle()
    }
    this.nowMs = untilMs
  }

  #takeDue(untilMs: number) {
    const next = this.#pending
      .filter(({ atMs }) => atMs <= untilMs)
      .toSorted((a, b) => a.atMs - b.atMs || a.order - b.order)[0]
    this.#pending = this.#pending.filter((entry) => entry !== next)
    return next
  }
}

/** Until every promise that can go on has gone on. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** mulberry32: small, seeded, good enough to shuffle a simulation. */
class SeededRandom implements Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => Math.floor(this.next() * 256))
  }
}

export interface ScriptedAnswer {
  status: number
  headers?: Record<string, string>
  body?: string
  /** How long the target takes. Default 0. */
  afterMs?: number
}

export class VirtualHttp implements Http {
  readonly sent: { at: number; request: HttpRequest }[] = []
  readonly #timers: VirtualTimers
  readonly #targets = new Map<string, (request: HttpRequest) => ScriptedAnswer>()

  constructor(timers: VirtualTimers) {
    this.#timers = timers
  }

  /** What an origin answers; one without a script refuses connections. */
  answer(origin: string, script: (request: HttpRequest) => ScriptedAnswer): void {
    this.#targets.set(origin, script)
  }

  async send(request: HttpRequest, signal?: AbortSignal): Promise<HttpOutcome> {
    this.sent.push({ at: this.#timers.nowMs, request })
    if (signal?.aborted) return cancelled
    const target = this.#targets.get(new URL(request.url).origin)
    if (target === undefined) return { kind: 'failed', type: 'CONNECTION_REFUSED', message: 'nobody listens' }
    const { status, headers = {}, body = '', afterMs = 0 } = target(request)
    await this.#timers.wait(Math.min(afterMs, request.timeoutMs), signal)
    if (signal?.aborted) return cancelled
    if (afterMs >= request.timeoutMs)
      return { kind: 'failed', type: 'TIMEOUT', message: 'no complete response in time' }
    const bytes = Buffer.from(body)
    if (bytes.length > request.responseBytesMax) {
      return { kind: 'failed', type: 'RESPONSE_TOO_LARGE', message: 'the response is too long' }
    }
    return { kind: 'answered', status, headers, preview: bytes.subarray(0, request.previewBytesMax) }
  }
}

const cancelled: HttpOutcome = { kind: 'failed', type: 'CANCELLED', message: 'the call was cancelled' }
