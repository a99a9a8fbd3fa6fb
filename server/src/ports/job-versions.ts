// The earlier versions of a job: every change of its definition made another version, and all of them are kept.
import type { JobVersion } from '../domain/jobs/job.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

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

export interface JobVersionQuery {
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
  job: JobVersion
  /** Null: it was made before this was kept. */
  createdAt: EpochMs | null
  createdBy: string | null
}
