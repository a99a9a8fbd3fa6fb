// The upcoming slots of jobs, in memory.
import type { PlannedJob } from '../../src/domain/scheduling/forecast.ts'
import type { PlannedJobs, PlannedQuery } from '../../src/ports/planned-jobs.ts'
import { calendarsOf } from './named-calendars.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export class MemoryPlannedJobs implements PlannedJobs {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async listPlanned({ tenantId, after, limit }: PlannedQuery): Promise<PlannedJob[]> {
    return [...this.#store.jobs.values()]
      .filter((job) => job.tenantId === tenantId && (after === null || job.jobId > after))
      .toSorted((a, b) => compareText(a.jobId, b.jobId))
      .flatMap(({ jobId, cursor, versions, version }) => {
        if (cursor.status !== 'ACTIVE' || cursor.slotAt === null) return []
        const { name, schedule, anchorAt } = versions.get(version)!
        const calendars = calendarsOf(this.#store, { tenantId, schedule })?.entries ?? null
        return [{ jobId, name, schedule, anchorAt, slotAt: cursor.slotAt, runs: cursor.runs, calendars }]
      })
      .slice(0, limit)
  }
}
