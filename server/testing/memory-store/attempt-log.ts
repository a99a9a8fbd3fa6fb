// The record of attempts in memory, by execution. A simulated day has millions, so they are counted as they come and
// the oldest can be dropped without looking at the others.
import type { Outcome } from '../../src/domain/queue/execution.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { AttemptRow } from './rows.ts'

export class AttemptLog {
  /** Attempts ever recorded. */
  readonly counts: Record<Outcome, number> = {
    succeeded: 0,
    failed: 0,
    timed_out: 0,
    lost: 0,
    cancelled: 0,
    skipped: 0,
  }
  /** Executions that ever ended. */
  ended = 0
  readonly #byExecution = new Map<string, AttemptRow[]>()
  /** Final attempts in the order they were recorded, from `#oldest` on. */
  #finals: AttemptRow[] = []
  #oldest = 0

  add(row: AttemptRow): void {
    const rows = this.#byExecution.get(row.executionId)
    if (rows === undefined) this.#byExecution.set(row.executionId, [row])
    else rows.push(row)
    this.counts[row.outcome] += 1
    if (!row.final) return
    this.ended += 1
    this.#finals.push(row)
  }

  /** All attempts of an execution, oldest first. */
  of(executionId: string): readonly AttemptRow[] {
    return this.#byExecution.get(executionId) ?? []
  }

  /** Of all executions. */
  *all(): Iterable<AttemptRow> {
    for (const rows of this.#byExecution.values()) yield* rows
  }

  /** Drops an execution of a tenant that is purged. */
  drop(executionId: string): void {
    this.#byExecution.delete(executionId)
    this.#finals = this.#finals.filter((row) => row.executionId !== executionId)
  }

  /** Drops executions that ended before an instant, and returns their final attempts. */
  dropBefore(before: EpochMs): AttemptRow[] {
    const from = this.#oldest
    while (this.#oldest < this.#finals.length && this.#finals[this.#oldest]!.recordedAt < before)
      this.#oldest += 1
    const dropped = this.#finals.slice(from, this.#oldest)
    for (const { executionId } of dropped) this.#byExecution.delete(executionId)
    if (this.#oldest * 2 > this.#finals.length) {
      this.#finals = this.#finals.slice(this.#oldest)
      this.#oldest = 0
    }
    return dropped
  }
}
