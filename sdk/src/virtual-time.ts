// Time that passes only on request: due actions happen in order, each after everything started by the one before is
// idle.
import { Wake } from './wake.ts'

interface Due {
  atMs: number
  order: number
  action: () => void
}

export interface VirtualTimer {
  cancel(): void
}

const eventsMax = 100_000
const timersMax = 1_000_000

export class VirtualTime {
  #nowMs: number
  #order = 0
  #due: Due[] = []
  readonly #restMs: number
  /** Running work that is not waiting for this clock, by its name. */
  readonly #active = new Map<object, string>()
  readonly #changed = new Wake()

  /** `restMs`: real time after which something that neither ends nor waits for this clock is an error. */
  constructor(nowMs: number, restMs: number) {
    this.#nowMs = nowMs
    this.#restMs = restMs
  }

  get nowMs(): number {
    return this.#nowMs
  }

  at(atMs: number, action: () => void): VirtualTimer {
    if (this.#due.length >= timersMax) throw new RangeError(`More than ${timersMax} timers wait.`)
    const due = { atMs: Math.max(atMs, this.#nowMs), order: this.#order++, action }
    // Sorted by insertion: the newest is mostly among the last.
    let index = this.#due.length
    while (index > 0 && this.#due[index - 1]!.atMs > due.atMs) index--
    this.#due.splice(index, 0, due)
    return {
      cancel: () => {
        const found = this.#due.indexOf(due)
        if (found >= 0) this.#due.splice(found, 1)
      },
    }
  }

  /** Something runs by real time until `rests` is called with the same. */
  runs(one: object, name: string): void {
    this.#active.set(one, name)
  }

  rests(one: object): void {
    this.#active.delete(one)
    this.#changed.wake()
  }

  async advanceTo(untilMs: number): Promise<void> {
    await this.settle()
    for (let events = 0; ; events++) {
      const next = this.#due[0]
      if (next === undefined || next.atMs > untilMs) break
      if (events >= eventsMax) {
        throw new RangeError(
          `More than ${eventsMax} things are due before ${new Date(untilMs).toISOString()}.`,
        )
      }
      this.#due.shift()
      this.#nowMs = next.atMs
      next.action()
      await this.settle()
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs)
  }

  /** Resolves when everything has ended or waits for this clock. */
  async settle(): Promise<void> {
    const endMs = performance.now() + this.#restMs
    while (this.#active.size > 0) {
      const leftMs = endMs - performance.now()
      if (leftMs <= 0) {
        const names = [...new Set(this.#active.values())].join(', ')
        throw new Error(
          `${names}: still running after ${this.#restMs} ms of real time. Wait with kit.sleep instead of real timers.`,
        )
      }
      await this.#changed.wait(leftMs)
    }
  }
}
