// The versions of jobs in memory.
import { spellOut } from '../../src/domain/jobs/clock-rule.ts'
import type { JobVersion } from '../../src/domain/jobs/job.ts'
import type {
  JobVersionPage,
  JobVersionQuery,
  JobVersions,
  OlderVersion,
  VersionKey,
} from '../../src/ports/job-versions.ts'
import { compareText } from './sorted-set.ts'
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

  async findOlder(after: VersionKey | null, limit: number): Promise<OlderVersion[]> {
    const older = [...this.#store.jobs.values()].flatMap(({ tenantId, versions, version: latest, cursor }) =>
      [...versions.values()].filter(isOlder).map(({ jobId, version }) => {
        const isInUse = version === latest && (cursor.status === 'ACTIVE' || cursor.status === 'PAUSED')
        return { tenantId, jobId, version, isInUse }
      }),
    )
    const behind = older.filter((one) => after === null || compareKeys(one, after) > 0)
    return behind.toSorted(compareKeys).slice(0, limit)
  }

  async settleOlder(versions: readonly VersionKey[]): Promise<void> {
    for (const { jobId, version } of versions) {
      const found = this.#store.jobs.get(jobId)?.versions.get(version)
      if (found !== undefined) found.impliedDst ??= []
    }
  }
}

function isOlder({ impliedDst, schedule, jobId }: JobVersion): boolean {
  return impliedDst === null && spellOut(schedule, jobId).impliedDst!.length > 0
}

function compareKeys(a: VersionKey, b: VersionKey): number {
  return compareText(a.jobId, b.jobId) || a.version - b.version
}
