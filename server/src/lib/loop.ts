// A loop calls a step again and again until it is stopped: at once while the step says 'more', else after
// a wait that wake() cuts short. A step that throws is reported and tried again, later each time, so a
// database that is unreachable costs one try every few seconds and nothing else.
import type { Random } from '../ports/random.ts'
import type { Timers } from '../ports/timers.ts'

/** One bounded piece of work, and whether there is more of it: now, after so many ms, or after the idle wait. */
export type Step = (signal: AbortSignal) => Promise<'more' | 'idle' | number>

export interface LoopOptions {
  /** Named in logs. */
  name: string
  step: Step
  /** The wait after an idle step, and the longest after any. */
  idleMs: number
  /** The longest wait after failed steps; the first is a tenth of it. Default 5,000. */
  failedMsMax?: number
  /** Told of every failed step; must not throw. */
  onFailure: (failure: LoopFailure) => void
}

export interface LoopFailure {
  loop: string
  error: unknown
  failures: number
  retryMs: number
}

export class Loop implements AsyncDisposable {
  readonly #options: Required<LoopOptions>
  readonly #deps: { timers: Timers; random: Random }
  readonly #stop = new AbortController()
  readonly #done: Promise<void>
  #woken = false
  #endWait: (() => void) | null = null

  constructor(deps: { timers: Timers; random: Random }, options: LoopOptions) {
    this.#deps = deps
    this.#options = { failedMsMax: 5_000, ...options }
    this.#done = this.#repeat()
  }

  /** Ends the present wait, or skips the next one if the step runs now. Safe to lose, safe to repeat. */
  wake(): void {
    this.#woken = true
    this.#endWait?.()
  }

  /** Aborts the step's signal and returns once the step has returned. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.wake()
    await this.#done
  }

  async #repeat(): Promise<void> {
    const { step, idleMs } = this.#options
    const { signal } = this.#stop
    let failures = 0
    await null // our creator finishes first: the step may use objects built beside this loop
    while (!signal.aborted) {
      let waitMs = 0
      // A wake-up during the step may be about work the step just missed, so it must skip the wait.
      this.#woken = false
      try {
        const more = await step(signal)
        if (more !== 'more') waitMs = more === 'idle' ? idleMs : Math.min(more, idleMs)
        failures = 0
      } catch (error) {
        // Stopping makes a step fail on purpose; that is not worth a word.
        if (signal.aborted) return
        failures += 1
        waitMs = this.#report(error, failures)
      }
      if (signal.aborted) return
      if (waitMs > 0 && !this.#woken) await this.#wait(waitMs)
    }
  }

  // Not by an AbortSignal: loops are woken hundreds of times a second, and an abort makes an error with its stack.
  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#deps.timers.schedule(ms, () => this.#endWait?.())
      this.#endWait = () => {
        this.#endWait = null
        timer.cancel()
        resolve()
      }
    })
  }

  #report(error: unknown, failures: number): number {
    const { name, failedMsMax, onFailure } = this.#options
    const baseMs = Math.min(failedMsMax, (failedMsMax / 10) * 2 ** Math.min(failures - 1, 10))
    const retryMs = Math.round(baseMs * (0.75 + this.#deps.random.next() / 4))
    onFailure({ loop: name, error, failures, retryMs })
    return retryMs
  }
}
