// When to stop: a signal, or the end of the process that started us. A second signal ends us at once; but a single
// Ctrl-C may arrive twice within milliseconds, from the terminal and from npm, and counts once.
import type { Clock } from '../ports/clock.ts'
import type { Timers } from '../ports/timers.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const repeatMsMax = 1_000
const parentCheckMs = 500

export interface StopSignalOptions {
  /** True: npm or our launcher started us and we must not outlive it. */
  followParent: boolean
  onSecond: () => void
}

export class StopSignal implements Disposable {
  readonly #stop = new AbortController()
  readonly #following = new AbortController()
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #options: StopSignalOptions
  #firstMs: number | null = null

  constructor(deps: { clock: Pick<Clock, 'monotonicMs'>; timers: Timers }, options: StopSignalOptions) {
    this.#clock = deps.clock
    this.#options = options
    for (const name of signals) process.on(name, this.#onSignal)
    // A launcher of ours holds an IPC channel: it closes when the launcher is gone.
    process.once('disconnect', this.#onSignal)
    if (options.followParent) void this.#followParent(deps.timers)
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  [Symbol.dispose](): void {
    this.#following.abort()
    for (const name of signals) process.off(name, this.#onSignal)
    process.off('disconnect', this.#onSignal)
  }

  readonly #onSignal = () => {
    const nowMs = this.#clock.monotonicMs()
    this.#firstMs ??= nowMs
    if (nowMs - this.#firstMs > repeatMsMax) this.#options.onSecond()
    this.#stop.abort()
  }

  // npm that is killed with kill -9 forwards nothing; we notice by having a new parent.
  async #followParent(timers: Timers): Promise<void> {
    const parent = process.ppid
    const { signal } = this.#following
    while (!signal.aborted && !this.#stop.signal.aborted) {
      await timers.wait(parentCheckMs, signal)
      if (process.ppid !== parent) this.#stop.abort()
    }
  }
}
