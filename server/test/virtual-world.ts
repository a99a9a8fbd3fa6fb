// The injected world without a world: a clock that moves only when told, timers on it, randomness and ids from a seed,
// HTTP from a script. Code on it runs the same way every time.

import { UuidV7 } from '../src/lib/id.ts'
import type { StopSignal } from '../src/lib/stop.ts'
import { type EpochMs, epochMs } from '../src/lib/time/epoch.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Http, HttpOutcome, HttpRequest } from '../src/ports/http.ts'
import type { Random } from '../src/ports/random.ts'
import type { Timer, Timers } from '../src/ports/timers.ts'
import type { World } from '../src/ports/world.ts'

export interface VirtualWorld extends World {
  timers: VirtualTimers
  http: VirtualHttp
  /** Steps the database's clock: forwards, or back when negative. */
  stepDatabase(ms: number): void
  /** The reading of the database's clock at a moment of the virtual clock. */
  databaseAt(ms: number): EpochMs
  /** Moves time on, timer by timer; work started by a timer is done before the next one fires. */
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
  const offsets = [{ fromMs: Number.NEGATIVE_INFINITY, offsetMs: startAt }]
  const clock: Clock = {
    databaseNow: () => epochMs(timers.nowMs + offsets.at(-1)!.offsetMs),
    uncertaintyMs: () => 0,
    monotonicMs: () => timers.nowMs,
  }
  const random = new SeededRandom(seed)
  const ids = new UuidV7(() => clock.databaseNow(), random)
  return {
    ...{ clock, timers, random, ids },
    http: new VirtualHttp(timers),
    stepDatabase(ms) {
      offsets.push({ fromMs: timers.nowMs, offsetMs: offsets.at(-1)!.offsetMs + ms })
    },
    databaseAt: (ms) => epochMs(ms + offsets.findLast(({ fromMs }) => fromMs <= ms)!.offsetMs),
    advance: (ms) => timers.advance(ms),
  }
}

interface Waiting {
  readonly atMs: number
  /** Among timers of the same instant, the one that was set first goes first. */
  readonly order: number
  /** Null: cancelled or fired. */
  callback: (() => void) | null
}

/** Turns of the event loop asked for at once: an empty round of it costs more than most timers. */
const turnsAtOnce = 64

export class VirtualTimers implements Timers {
  nowMs = 0
  #order = 0
  /** A binary heap by instant and order; a cancelled one stays until its time comes. */
  readonly #heap: Waiting[] = []
  #pending = 0

  /** Timers that have not fired. */
  get pending(): number {
    return this.#pending
  }

  schedule(ms: number, callback: () => void): Timer {
    const entry: Waiting = { atMs: this.nowMs + Math.max(0, ms), order: this.#order++, callback }
    this.#push(entry)
    this.#pending += 1
    return {
      cancel: () => {
        if (entry.callback === null) return
        entry.callback = null
        this.#pending -= 1
      },
    }
  }

  wait(ms: number, signal?: StopSignal): Promise<void> {
    return waitOn(this, ms, signal)
  }

  /** Work started by a timer is done before the next one fires: promises that can go on do so between two turns. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms
    await new Promise<void>((resolve, reject) => {
      let ended = false
      const turn = () => {
        if (ended) return
        try {
          ended = !this.#fireNext(untilMs)
          if (ended) resolve()
        } catch (error) {
          ended = true
          reject(error)
        }
      }
      const takeTurns = () => {
        for (let i = 0; i < turnsAtOnce; i++) setImmediate(turn)
        setImmediate(() => {
          if (!ended) takeTurns()
        })
      }
      setImmediate(takeTurns)
    })
    this.nowMs = untilMs
  }

  #fireNext(untilMs: number): boolean {
    while (this.#heap.length > 0 && this.#heap[0]!.atMs <= untilMs) {
      const { atMs, callback } = this.#heap[0]!
      this.#heap[0]!.callback = null
      this.#pop()
      if (callback === null) continue
      this.#pending -= 1
      this.nowMs = atMs
      callback()
      return true
    }
    return false
  }

  #push(entry: Waiting): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(entry)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (isBefore(heap[parent]!, entry)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    const { length } = heap
    if (length === 0) return
    let at = 0
    while (true) {
      let child = 2 * at + 1
      if (child >= length) break
      if (child + 1 < length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (isBefore(last, heap[child]!)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}

/** `wait` by means of `schedule`: for code with timers of its own. */
export function waitOn(timers: Pick<Timers, 'schedule'>, ms: number, signal?: StopSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = timers.schedule(ms, done)
    signal?.addEventListener('abort', done)
  })
}

/** mulberry32: small, seeded, good enough to shuffle a simulation. */
export class SeededRandom implements Random {
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
  /** The connection breaks then, before the answer is whole. */
  isReset?: boolean
}

export class VirtualHttp implements Http {
  readonly sent: { at: number; request: HttpRequest }[] = []
  readonly #timers: VirtualTimers
  readonly #targets = new Map<string, (request: HttpRequest) => ScriptedAnswer>()

  constructor(timers: VirtualTimers) {
    this.#timers = timers
  }

  /** Sets the response of an origin; an origin without a script refuses connections. */
  answer(origin: string, script: (request: HttpRequest) => ScriptedAnswer): void {
    this.#targets.set(origin, script)
  }

  async send(request: HttpRequest, signal?: StopSignal): Promise<HttpOutcome> {
    // Without the callback: it would keep the caller's objects in memory.
    const { onStarted, ...asSent } = request
    this.sent.push({ at: this.#timers.nowMs, request: asSent })
    if (signal?.aborted) return cancelled
    const target = this.#targets.get(request.target?.origin ?? new URL(request.url).origin)
    if (target === undefined) return { kind: 'failed', type: 'CONNECTION_REFUSED', message: 'nobody listens' }
    onStarted?.()
    const { status, headers = {}, body = '', afterMs = 0, isReset = false } = target(request)
    await this.#timers.wait(Math.min(afterMs, request.timeoutMs), signal)
    if (signal?.aborted) return cancelled
    if (afterMs >= request.timeoutMs)
      return { kind: 'failed', type: 'TIMEOUT', message: 'no complete response in time' }
    if (isReset) return { kind: 'failed', type: 'CONNECTION_RESET', message: 'the connection was reset' }
    const bytes = Buffer.from(body)
    if (bytes.length > request.responseBytesMax) {
      return { kind: 'failed', type: 'RESPONSE_TOO_LARGE', message: 'the response is too long' }
    }
    return { kind: 'answered', status, headers, preview: bytes.subarray(0, request.previewBytesMax) }
  }
}

const cancelled: HttpOutcome = { kind: 'failed', type: 'CANCELLED', message: 'the call was cancelled' }
