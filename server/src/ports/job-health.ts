// How jobs go, and the lists that begin with the trouble. Folded from the record of attempts seconds after it was made: see
// the source `health` of the rollups.
import type { JobHealth } from '../domain/jobs/job-health.ts'
import type { JobFilter } from '../domain/jobs/operation.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { ListedJob, Total } from './jobs.ts'
import type { PageContent } from './pages.ts'

/** Failing or flaky jobs alone, or all jobs, failing ones first. */
export type HealthOrder = 'failing' | 'flaky' | 'failing_first'

export interface HealthOfJobs {
  /** Null: none of its executions has ended that counts, or there is no such job. */
  get(tenantId: string, jobId: string): Promise<JobHealth | null>
  /** The latest trouble first; behind the failing jobs the others, newest first. A job that changes sides may be missed. */
  list(query: HealthQuery): Promise<HealthPage>
  count(tenantId: string, filter: JobFilter, which: 'failing' | 'flaky'): Promise<Total>
  /** Every execution that ended before is counted. */
  asOf(): Promise<EpochMs>
}

export interface HealthQuery extends PageContent {
  tenantId: string
  filter: JobFilter
  order: HealthOrder
  /** Only jobs behind this one. */
  after: HealthPlace | null
  limit: number
}

/** Of a job in a list. */
export interface HealthPlace {
  /** When it began to fail, or last recovered; null: it is one of the jobs that do not fail. */
  at: EpochMs | null
  jobId: string
}

export interface HealthPage {
  jobs: ListedJob[]
  /** The next value for `after`; null: that was all. The page may be short, even empty, and not the last. */
  next: HealthPlace | null
}
