// Executions as the API reads them: those under way and those recorded, in one statement, so that an execution on
// its way from one table to the next is seen once.
import type { ExecutionKind, ExecutionStatus, Outcome, SkipReason } from '../domain/execution.ts'
import type { StoredSchedule } from '../domain/job.ts'
import type { ErrorType } from '../domain/retry.ts'
import type { EpochMs } from '../lib/epoch.ts'

export interface History {
  /** Newest first, one item per execution, behind `before`. Null: there is no such job (any more). */
  listExecutions(query: ExecutionQuery): Promise<ExecutionPage | null>
  /** One execution with all its attempts. */
  getExecution(tenantId: string, executionId: string): Promise<ExecutionView | null>
  /** Ranges of skipped slots that touch [from, to], latest first. Null: there is no such job. */
  listSkips(query: {
    tenantId: string
    jobId: string
    from: EpochMs
    to: EpochMs
    limit: number
  }): Promise<SkipRange[] | null>
  /** How the job went, over the history that is kept. Null: there is no such job. */
  stats(tenantId: string, jobId: string): Promise<JobStats | null>
}

/** Every condition that is not null holds. */
export interface ExecutionQuery {
  tenantId: string
  /** Null: of all jobs of the tenant. */
  jobId: string | null
  status: ExecutionStatus | null
  kind: ExecutionKind | null
  /** Of the latest attempt that ended. */
  errorType: ErrorType | null
  deadLetter: boolean | null
  /** Of the job. */
  tag: string | null
  /** Part of the name, key or a tag of the job, or of the error message; in any case. */
  q: string | null
  /** Bounds of scheduled_time: from included, to not. */
  from: EpochMs | null
  to: EpochMs | null
  /** Execution ids below this one. */
  before: string | null
  limit: number
}

/** Counts stop here. */
export const totalMax = 10_000

export interface ExecutionPage {
  executions: ExecutionSummary[]
  /** What to ask for as `before` next; null: that was all. The page may be short, even empty, and not the last. */
  next: string | null
  /** Of the whole query. Capped: there are at least so many. */
  total: number
  capped: boolean
}

/** Executions that ended, those not counted that were cancelled. */
export interface JobStats {
  succeeded: number
  failed: number
  timedOut: number
  /** Of the last attempt of each; null: none is known. */
  averageDurationMs: number | null
  /** Of the latest execution that ended, cancelled ones counted. */
  lastStatus: ExecutionStatus | null
}

export interface ExecutionSummary {
  executionId: string
  jobId: string
  /** The job's present name. */
  jobName: string
  version: number
  kind: ExecutionKind
  status: ExecutionStatus
  slot: EpochMs
  /** Of the latest attempt; 0 before the first. */
  attempt: number
  enqueuedAt: EpochMs
  startedAt: EpochMs | null
  finishedAt: EpochMs | null
  durationMs: number | null
  workerId: string | null
  httpStatus: number | null
  error: { type: ErrorType; message: string } | null
  deadLetter: boolean
  /** When the next attempt may start. */
  retryAt: EpochMs | null
}

export interface AttemptView {
  attempt: number
  outcome: Outcome
  workerId: string | null
  enqueuedAt: EpochMs
  startedAt: EpochMs | null
  finishedAt: EpochMs | null
  durationMs: number | null
  httpStatus: number | null
  error: { type: ErrorType; message: string } | null
  preview: string | null
}

export interface ExecutionView extends ExecutionSummary {
  idempotencyKey: string | null
  retryOf: string | null
  /** Set when it was triggered with a payload of its own. */
  payloadOverride?: unknown
  /** What the version it runs says. */
  callbackUrl: string
  payload?: unknown
  metadata: Readonly<Record<string, string>>
  /** Oldest first. */
  attempts: AttemptView[]
}

export interface SkipRange {
  from: EpochMs
  to: EpochMs
  count: number
  reason: SkipReason
  /** The schedule it was skipped under. */
  version: number
  schedule: StoredSchedule
  anchorAt: EpochMs
}
