// Graph runs with a step that fails again and again. They are quarantined, so that they hold up no others, and each is
// retried alone now and then: the cause may be fixed meanwhile.
import { hourMs } from '../lib/time/units.ts'

/** Failures in a row of a run that was stepped alone. */
const failuresMax = 3
/** The first time it is left aside; each further time is twice as long. */
const quarantineMs = 30_000
const quarantineMsMax = hourMs
const quarantinedMax = 100

export class QuarantinedRuns {
  /** In the order in which they are tried again, mostly. */
  readonly #aside = new Map<string, Aside>()
  #failing = { runId: '', failures: 0 }

  /** The runs to leave out. */
  get runIds(): string[] {
    return [...this.#aside.keys()]
  }

  /** A run to try again; null: none. */
  findDue(nowMs: number): string | null {
    const due = this.#aside.entries().find(([, { untilMs }]) => untilMs <= nowMs)
    return due?.[0] ?? null
  }

  /** A step of this run alone has failed. True: it is left aside from now on. */
  noteFailure(runId: string, nowMs: number): boolean {
    const before = this.#aside.get(runId)
    if (before === undefined && this.#countFailure(runId) < failuresMax) return false
    const waitMs = before === undefined ? quarantineMs : Math.min(before.waitMs * 2, quarantineMsMax)
    this.#aside.delete(runId)
    if (this.#aside.size >= quarantinedMax) this.#aside.delete(this.#aside.keys().next().value!)
    this.#aside.set(runId, { untilMs: nowMs + waitMs, waitMs })
    return before === undefined
  }

  noteSuccess(runIds: readonly string[]): void {
    this.#failing = { runId: '', failures: 0 }
    for (const runId of runIds) this.#aside.delete(runId)
  }

  #countFailure(runId: string): number {
    const failures = this.#failing.runId === runId ? this.#failing.failures + 1 : 1
    this.#failing = { runId, failures }
    return failures
  }
}

interface Aside {
  untilMs: number
  waitMs: number
}
