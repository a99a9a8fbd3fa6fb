// The gate between a simulated server and the world: its timers, the replies of the store and the responses of targets
// all come through here. Held, they wait while the world goes on; shut, they never come: a crash.
import type { Http, HttpOutcome, HttpRequest } from '../../src/ports/http.ts'
import type { Timer, Timers } from '../../src/ports/timers.ts'
import { type VirtualTimers, waitOn } from '../virtual-world.ts'

export class Gate {
  readonly #world: VirtualTimers
  #state: 'open' | 'held' | 'shut' = 'open'
  #held: (() => void)[] = []

  constructor(world: VirtualTimers) {
    this.#world = world
  }

  get state(): 'open' | 'held' | 'shut' {
    return this.#state
  }

  /** Lets something happen to the server: now, when it goes on, or never. */
  pass(happen: () => void): void {
    if (this.#state === 'open') happen()
    else if (this.#state === 'held') this.#held.push(happen)
  }

  hold(): void {
    if (this.#state === 'open') this.#state = 'held'
  }

  /** Delivers the held-back events one by one, in the usual way: before anything that happens next. */
  release(): void {
    if (this.#state !== 'held') return
    this.#state = 'open'
    const held = this.#held
    this.#held = []
    for (const happen of held) this.#world.schedule(0, () => this.pass(happen))
  }

  shut(): void {
    this.#state = 'shut'
    this.#held = []
  }
}

export class GatedTimers implements Timers {
  readonly #world: VirtualTimers
  readonly #gate: Gate

  constructor(world: VirtualTimers, gate: Gate) {
    this.#world = world
    this.#gate = gate
  }

  schedule(ms: number, callback: () => void): Timer {
    let cancelled = false
    const fire = () => {
      if (!cancelled) callback()
    }
    const timer = this.#world.schedule(ms, () => this.#gate.pass(fire))
    return {
      cancel() {
        cancelled = true
        timer.cancel()
      },
    }
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return waitOn(this, ms, signal)
  }
}

export class GatedHttp implements Http {
  readonly #world: Http
  readonly #gate: Gate
  readonly #onSend: () => void

  /** `onSend` is called before each call: to record its sender. */
  constructor(world: Http, gate: Gate, onSend: () => void) {
    this.#world = world
    this.#gate = gate
    this.#onSend = onSend
  }

  send(request: HttpRequest, signal?: AbortSignal): Promise<HttpOutcome> {
    this.#onSend()
    return new Promise((resolve) => {
      void this.#world.send(request, signal).then((outcome) => this.#gate.pass(() => resolve(outcome)))
    })
  }
}
