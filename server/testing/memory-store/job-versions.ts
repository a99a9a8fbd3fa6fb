// The versions of jobs in memory.
import { spellOut } from '../../src/domain/jobs/clock-rule.ts'
import type { JobVersion } from '../../src/domain/jobs/job.ts'
import { versionGraceMs } from '../../src/domain/jobs/kept-versions.ts'
import type {
  JobVersionPage,
  JobVersionQuery,
  JobVersions,
  OlderVersion,
  VersionKey,
} from '../../src/ports/job-versions.ts'
import { boundedPage, splitPayload } from './bounded-page.ts'
import { pruneAllVersions } from './prune-versions.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export class MemoryJobVersions implements JobVersions {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async list({ tenantId, jobId, before, ...bounds }: JobVersionQuery): Promise<JobVersionPage | null> {
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    const behind = [...job.versions.values()]
      .filter(({ version }) => before === null || version < before)
      .toSorted((a, b) => b.version - a.version)
    const { page, more } = boundedPage(behind, bounds, splitPayload)
    const versions = page.map(({ payload, ...version }) => {
      const made = job.made.get(version.version)
      const { lean } = splitPayload(version)
      const prunedAt = job.pruned.get(version.version) ?? null
      const by = { createdAt: made?.at ?? null, createdBy: made?.by ?? null }
      return { job: lean, payload, ...by, prunedAt }
    })
    return { versions, more, total: job.versions.size }
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

  async prune(_limit: number, graceMs = versionGraceMs): Promise<number> {
    pruneAllVersions(this.#store, graceMs)
    return 0
  }
}

function isOlder({ impliedDst, schedule, jobId }: JobVersion): boolean {
  return impliedDst === null && spellOut(schedule, jobId).impliedDst!.length > 0
}

function compareKeys(a: VersionKey, b: VersionKey): number {
  return compareText(a.jobId, b.jobId) || a.version - b.version
}
