// Jobs as the API writes and reads them. Each method is one transaction.
import type { Dependency, GraphRefusal } from '../domain/graphs/graph.ts'
import type { ActiveJobsRefusal } from '../domain/jobs/active-jobs.ts'
import type { JobStatus, JobVersion, JobView } from '../domain/jobs/job.ts'
import type { JobState, JobWrite } from '../domain/jobs/job-change.ts'
import type { JobHealth } from '../domain/jobs/job-health.ts'
import type { JobFilter } from '../domain/jobs/operation.ts'
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import type { TriggerBatch } from '../domain/queue/trigger-batches.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { DirectWorker } from './direct-dispatch.ts'
import type { JsonText, PageContent } from './pages.ts'
import type { ClaimedLive } from './queue.ts'

export interface Jobs {
  /**
   * The job, its first version and its cursor; with `immediate` also its one execution. With a limit only while the tenant
   * has fewer active jobs, however many are created at once.
   */
  create(job: NewJob, limit?: ActiveJobsLimit): Promise<CreateOutcome>
  get(tenantId: string, jobId: string): Promise<JobView | null>
  /** The job with this key that is not deleted. */
  getByKey(tenantId: string, key: string): Promise<JobView | null>
  /**
   * Locks the job, lets `decide` choose the change, and writes it; null leaves the job alone. An error thrown by
   * `decide` leaves it alone too. Returns the job after the change. Its dependencies may change only if `target` says
   * so, with all jobs that it may depend on then: they are locked before. Refused: nothing was written. Of a deleted job no
   * execution starts any more; the first `endedWithJobMax` in batches and as many alone end at once, a release ends the
   * others.
   */
  change(target: ChangeTarget, decide: (job: JobState) => JobWrite | null): Promise<ChangeOutcome>
  /** An execution now, never skipped: behind a live one of the same job it waits, unless overlap is allowed. */
  trigger(order: TriggerOrder): Promise<TriggerOutcome>
  /** Many triggers for the same job: all of them, or none. */
  triggerMany(order: TriggerManyOrder): Promise<TriggerManyOutcome>
  /**
   * Executions of past slots, each of which waits for its turn: of the given ones the first, until so many of the
   * backfill have not ended. Null: the job is gone or deleted.
   */
  enqueueBackfill(order: BackfillOrder): Promise<{ enqueued: number; unended: number } | null>
  /** Newest first. */
  list(query: JobQuery): Promise<JobPage>
  count(tenantId: string, filter: JobFilter): Promise<Total>
  /** The jobs among these that are in no graph and have no unended execution. Without a lock: both may change at once. */
  findQuiet(tenantId: string, jobIds: readonly string[]): Promise<string[]>
  /**
   * Paused jobs with a pause that is over, none of a deleted tenant: the tenants in turn, of each the one first whose pause was
   * over first. They resume as from `at`: the end of the pause, or the restore of the tenant when that was later.
   */
  findResumable(limit: number): Promise<{ tenantId: string; jobId: string; until: EpochMs; at: EpochMs }[]>
}

/** Null: the tenant may have as many active jobs as it likes, and they are not counted. */
export interface ActiveJobsLimit {
  activeJobsMax: number | null
}

export type CreateOutcome = 'created' | 'key_taken' | 'tenant_deleted' | GraphRefusal | ActiveJobsRefusal

/** Absent limit: as null. It refuses a change that makes the job count as active when it did not before. */
export interface ChangeTarget extends Partial<ActiveJobsLimit> {
  tenantId: string
  jobId: string
  /** Absent: its dependencies stay as they are. A delete gives an empty list. */
  dependsOn?: readonly Dependency[]
}

export interface ChangedJob extends JobView {
  /** Executions that this cancelled before they ran. Absent: none. */
  cancelled?: readonly SettledAttempt[]
}

export type ChangeOutcome = ChangedJob | 'not_found' | 'key_taken' | GraphRefusal | ActiveJobsRefusal

export interface NewJob extends JobVersion {
  version: 1
  key: string | null
  createdAt: EpochMs
  createdBy: string
  status: JobStatus
  /** The first slot; null when there is none (left). */
  slotAt: EpochMs | null
  /** For IMMEDIATE: its execution, with an id that ends in a zero byte, in this lane. */
  immediate: { executionId: string; slot: EpochMs; lane: string } | null
}

export interface TriggerOrder {
  tenantId: string
  jobId: string
  executionId: string
  lane: string
  /** Replaces the job's payload; absent: the job's own. */
  payloadOverride?: unknown
  /** Nobody has charged it: it waits for the budget of its tenant, if there is a limit. */
  uncharged?: true
  /** Claims the execution on insert, if it could start at once and nothing in the shared lane would go before it. Never waits for a lock. */
  direct?: DirectWorker
}

export type TriggerOutcome =
  /**
   * `runId`: the graph run that it starts; null: it runs alone. `claimed`: the execution claimed on insert; null: none.
   */
  | { kind: 'triggered'; enqueuedAt: EpochMs; runId: string | null; claimed: ClaimedLive | null }
  | { kind: 'not_found' }
  | { kind: 'deleted' }
  /** Somebody else has the job locked, or it is not there. Nothing was done; only with a direct dispatch, which need not wait for that. */
  | { kind: 'locked' }

export interface TriggerManyOrder {
  tenantId: string
  jobId: string
  lane: string
  batches: readonly TriggerBatch[]
}

export type TriggerManyOutcome =
  /** `runIds`: the graph runs that they start, in their order; none: they run alone. */
  | { kind: 'triggered'; enqueuedAt: EpochMs; runIds: string[] }
  | { kind: 'not_found' }
  | { kind: 'deleted' }
  /** With these the job would have more than `triggersWaitingMax` that have not ended. */
  | { kind: 'too_many' }

export interface BackfillOrder {
  tenantId: string
  jobId: string
  operationId: string
  /** Maximum executions of the backfill that have not ended. */
  unendedMax: number
  executions: readonly { executionId: string; slot: EpochMs; lane: string }[]
}

export interface JobQuery extends PageContent {
  tenantId: string
  filter: JobFilter
  /** Only job ids below this one. */
  before: string | null
  /** Jobs to pass over. */
  offset: number
  limit: number
}

/** With an execution that lacks its payload. */
export interface ListedJob extends JobView {
  /** Null: none, or it was not asked for. */
  payload: JsonText | null
  /** Null: none of its executions has ended that counts. */
  health: JobHealth | null
}

export interface JobPage {
  jobs: ListedJob[]
  /** The next value for `before`; null: that was all. The page may be short, even empty, and not the last. */
  next: string | null
}

/** Counting stops at `totalMax`, or when too many rows were looked at: then it is at least so many. */
export interface Total {
  total: number
  capped: boolean
}
