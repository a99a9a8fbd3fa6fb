// The earlier versions of a job: every change of its definition made another version. A version that no execution names
// loses its payload, and goes after the retention.
import type { JobVersion } from '../domain/jobs/job.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { JsonText, PageContent } from './pages.ts'

export interface JobVersions {
  /** Latest first, behind `before` (a version). Null: there is no such job. */
  list(query: JobVersionQuery): Promise<JobVersionPage | null>
  /**
   * Versions that an older program wrote and nobody has settled yet, by job and number, behind `after`: at least all for
   * which the clock rules differ.
   */
  findOlder(after: VersionKey | null, limit: number): Promise<OlderVersion[]>
  /** They have been looked at. Versions that are settled already are left alone. */
  settleOlder(versions: readonly VersionKey[]): Promise<void>
  /**
   * Prunes unnamed versions of changed and deleted jobs: at most `limit` bounded steps. Returns how many
   * there were; less than `limit`: nothing more is due. `graceMs`: for how long a replaced version is left alone; default
   * `versionGraceMs`.
   */
  prune(limit: number, graceMs?: number): Promise<number>
}

export interface VersionKey {
  jobId: string
  version: number
}

export interface OlderVersion extends VersionKey {
  tenantId: string
  /** Slots may come of it: it is the latest version of a job that is active or paused. */
  isInUse: boolean
}

export interface JobVersionQuery extends PageContent {
  tenantId: string
  jobId: string
  before: number | null
  limit: number
}

export interface JobVersionPage {
  versions: MadeVersion[]
  more: boolean
  total: number
}

export interface MadeVersion {
  /** With an execution that lacks its payload. */
  job: JobVersion
  /** Null: none, or it was not asked for. */
  payload: JsonText | null
  /** Null: it was made before this was kept. */
  createdAt: EpochMs | null
  createdBy: string | null
  /** When its payload, metadata and description were dropped, and the headers, arguments and variables; null: it is whole. */
  prunedAt: EpochMs | null
}
