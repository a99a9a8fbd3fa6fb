// Numbers of jobs in memory, counted from the record when they are read: there is nothing to fold, and nothing to prune.
import { statusOfOutcome } from '../../src/domain/queue/execution.ts'
import type { Folded, FoldedStats, JobStats, Rollups } from '../../src/ports/rollups.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'
import { finalsOf } from './summaries.ts'

export class MemoryRollups implements Rollups {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async fold(): Promise<Folded | null> {
    return null
  }

  async foldDays(): Promise<'more' | 'idle'> {
    return 'idle'
  }

  async foldStats(): Promise<FoldedStats | null> {
    return null
  }

  async prune(): Promise<'more' | 'idle'> {
    return 'idle'
  }

  async stats(tenantId: string, jobId: string): Promise<JobStats | null> {
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    // A skipped execution did not run.
    const finals = finalsOf(this.#store, job).filter(({ outcome }) => outcome !== 'skipped')
    const statuses = finals.map(({ outcome }) => statusOfOutcome(outcome))
    const count = (wanted: string) => statuses.filter((status) => status === wanted).length
    const counted = finals.filter(({ outcome }) => outcome !== 'cancelled')
    const durations = counted.flatMap(({ durationMs }) => (durationMs === null ? [] : [durationMs]))
    const sumMs = durations.reduce((sum, ms) => sum + ms, 0)
    const [last] = finals.toSorted((a, b) => compareText(b.executionId, a.executionId))
    return {
      succeeded: count('SUCCEEDED'),
      failed: count('FAILED'),
      timedOut: count('TIMED_OUT'),
      averageDurationMs: durations.length === 0 ? null : Math.round(sumMs / durations.length),
      lastStatus: last === undefined ? null : statusOfOutcome(last.outcome),
    }
  }
}
