// Graph runs with a step that fails again and again. They are quarantined, so that they hold up no others, and each is
// retried alone now and then: the cause may be fixed meanwhile.
import { hourMs } from '../lib/time/units.ts'

/** Failures in a row of a run that was stepped alone. */
const failuresMax = 3
/** The first time that a run is quarantined; each further time is twice as long. */
const quarantineMs = 30_000
const quarantineMsMax = hourMs
const quarantinedMax = 100

export class QuarantinedRuns {
  /** In the order in which they are tried again, mostly. */
  readonly #quarantined = new Map<string, Quarantine>()
  #failing = { runId: '', failures: 0 }

  /** The runs to leave out. */
  get runIds(): string[] {
    return [...this.#quarantined.keys()]
  }

  /** A run to try again; null: none. */
  findDue(nowMs: number): string | null {
    const due = this.#quarantined.entries().find(([, { untilMs }]) => untilMs <= nowMs)
    return due?.[0] ?? null
  }

  /** A step of this run alone has failed. True: it is quarantined from now on. */
  noteFailure(runId: string, nowMs: number): boolean {
    const before = this.#quarantined.get(runId)
    if (before === undefined && this.#countFailure(runId) < failuresMax) return false
    const waitMs = before === undefined ? quarantineMs : Math.min(before.waitMs * 2, quarantineMsMax)
    this.#quarantined.delete(runId)
    if (this.#quarantined.size >= quarantinedMax)
      this.#quarantined.delete(this.#quarantined.keys().next().value!)
    this.#quarantined.set(runId, { untilMs: nowMs + waitMs, waitMs })
    return before === undefined
  }

  noteSuccess(runIds: readonly string[]): void {
    this.#failing = { runId: '', failures: 0 }
    for (const runId of runIds) this.#quarantined.delete(runId)
  }

  #countFailure(runId: string): number {
    const failures = this.#failing.runId === runId ? this.#failing.failures + 1 : 1
    this.#failing = { runId, failures }
    return failures
  }
}

interface Quarantine {
  untilMs: number
  waitMs: number
}
