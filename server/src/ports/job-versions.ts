// The earlier versions of a job: every change of its definition made another version, and all of them are kept.
import type { JobVersion } from '../domain/jobs/job.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface JobVersions {
  /** Latest first, behind `before` (a version). Null: there is no such job. */
  list(query: JobVersionQuery): Promise<JobVersionPage | null>
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
