// How jobs go, in memory: written when an execution ends.
import { healthOf, type JobHealth } from '../../src/domain/jobs/job-health.ts'
import type { JobFilter } from '../../src/domain/jobs/operation.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import { totalMax } from '../../src/ports/executions.ts'
import type { HealthOfJobs, HealthPage, HealthPlace, HealthQuery } from '../../src/ports/job-health.ts'
import type { Total } from '../../src/ports/jobs.ts'
import { boundedPage, splitPayload } from './bounded-page.ts'
import { findJobs, viewOf } from './jobs.ts'
import type { JobRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export class MemoryJobHealth implements HealthOfJobs {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async get(tenantId: string, jobId: string): Promise<JobHealth | null> {
    return this.#store.findJob(tenantId, jobId)?.health ?? null
  }

  async list({ tenantId, filter, order, after, ...bounds }: HealthQuery): Promise<HealthPage> {
    const found = this.#find(tenantId, filter, order === 'flaky' ? 'flaky' : 'failing')
    const others = order === 'failing_first' ? this.#findOthers(tenantId, filter) : []
    const sorted = [...found, ...others].toSorted((a, b) => comparePlaces(a.place, b.place))
    const behind = sorted.filter(({ place }) => after === null || comparePlaces(place, after) > 0)
    const views = behind.slice(0, bounds.limit + 1).map(({ job }) => viewOf(this.#store, job))
    const { page, more } = boundedPage(views, bounds, splitPayload)
    const jobs = page.map((view, nth) => {
      return { ...splitPayload(view).lean, payload: view.payload, health: behind[nth]!.job.health }
    })
    return { jobs, next: more ? behind[page.length - 1]!.place : null }
  }

  async count(tenantId: string, filter: JobFilter, which: 'failing' | 'flaky'): Promise<Total> {
    const { length } = this.#find(tenantId, filter, which)
    return { total: Math.min(length, totalMax), capped: length > totalMax }
  }

  async asOf(): Promise<EpochMs> {
    return this.#store.now()
  }

  #find(tenantId: string, filter: JobFilter, which: 'failing' | 'flaky'): Placed[] {
    const word = which === 'failing' ? 'FAILING' : 'FLAKY'
    return findJobs(this.#store, tenantId, filter).flatMap((job) => {
      if (wordOf(this.#store, job) !== word) return []
      const at = which === 'failing' ? job.health!.failingSince : job.health!.recoveredAt
      return [{ job, place: { at, jobId: job.jobId } }]
    })
  }

  #findOthers(tenantId: string, filter: JobFilter): Placed[] {
    return findJobs(this.#store, tenantId, filter)
      .filter((job) => wordOf(this.#store, job) !== 'FAILING')
      .map((job) => ({ job, place: { at: null, jobId: job.jobId } }))
  }
}

export function wordOf(store: MemoryStore, { cursor, versions, version, health }: JobRow) {
  const { schedule } = versions.get(version)!
  return healthOf({ status: cursor.status, schedule }, health, store.now())
}

interface Placed {
  job: JobRow
  place: HealthPlace
}

/** The latest trouble first, jobs that do not fail at the end. */
function comparePlaces(a: HealthPlace, b: HealthPlace): number {
  if (a.at !== b.at) return (b.at ?? -1) - (a.at ?? -1)
  return compareText(b.jobId, a.jobId)
}
