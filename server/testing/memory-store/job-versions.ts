// The versions of jobs in memory.
import type { JobVersionPage, JobVersionQuery, JobVersions } from '../../src/ports/job-versions.ts'
import type { MemoryStore } from './store.ts'

export class MemoryJobVersions implements JobVersions {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async list({ tenantId, jobId, before, limit }: JobVersionQuery): Promise<JobVersionPage | null> {
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    const behind = [...job.versions.values()]
      .filter(({ version }) => before === null || version < before)
      .toSorted((a, b) => b.version - a.version)
    const versions = behind.slice(0, limit).map((version) => {
      const made = job.made.get(version.version)
      return { job: structuredClone(version), createdAt: made?.at ?? null, createdBy: made?.by ?? null }
    })
    return { versions, more: behind.length > limit, total: job.versions.size }
  }
}
