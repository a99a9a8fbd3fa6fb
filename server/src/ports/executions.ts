// Executions as the API reads them: the active and the recorded ones, in one statement, so that an execution that moves
// from one table to the other meanwhile is seen once.

import type { ExecutionSkipReason } from '../domain/graphs/graph-run.ts'
import type { ConcurrencyKey, Execution } from '../domain/jobs/job.ts'
import type { Usage } from '../domain/queue/attempt.ts'
import type { AttemptOutcome, ExecutionKind, ExecutionStatus, LiveState } from '../domain/queue/execution.ts'
import type { ErrorType } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Executions {
  /** Newest first, one item per execution, behind `before`. Null: there is no such job (any more). */
  listExecutions(query: ExecutionQuery): Promise<ExecutionPage | null>
  /** One execution with all its attempts. */
  getExecution(tenantId: string, executionId: string): Promise<ExecutionView | null>
  /** The executions of a job that have not ended. Null: there is no such job. */
  underWay(tenantId: string, jobId: string): Promise<UnderWay | null>
}

/** Every condition that is not null holds. */
export interface ExecutionQuery {
  tenantId: string
  /** Null: of all jobs of the tenant. */
  jobId: string | null
  status: ExecutionStatus | null
  kind: ExecutionKind | null
  /** Error type of the latest ended attempt. */
  errorType: ErrorType | null
  deadLetter: boolean | null
  /** The worker of the latest attempt. */
  workerId: string | null
  /** A tag of the job. */
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
  /** The next value for `before`; null: that was all. The page may be short, even empty, and not the last. */
  next: string | null
  /** Count over the whole query. Capped: a lower bound. */
  total: number
  capped: boolean
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
  /** Number of the latest attempt; 0 before the first. */
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
  /** The graph run it belongs to; null: it runs alone. */
  runId: string | null
  /** Why it was skipped; null unless SKIPPED. */
  skipped: { reason: ExecutionSkipReason; message: string } | null
}

export interface AttemptView
  extends Pick<
    ExecutionSummary,
    'workerId' | 'enqueuedAt' | 'startedAt' | 'finishedAt' | 'durationMs' | 'httpStatus' | 'error'
  > {
  attempt: number
  outcome: AttemptOutcome
  preview: string | null
  /** Null: nothing of it is known. */
  usage: UsageView | null
}

/** A part that is not known, or does not apply, is null. */
export type UsageView = { [Part in keyof Usage]-?: number | null }

export interface ExecutionView extends ExecutionSummary {
  idempotencyKey: string | null
  retryOf: string | null
  /** Set when it was triggered with a payload of its own. */
  payloadOverride?: unknown
  /** The definition from the version it runs. */
  execution: Execution
  /** The last progress that its attempt reported; null: it runs none, or has reported nothing. */
  progress: Progress | null
  /** The checkpoint that its latest attempt left for the next one; absent: none. */
  checkpoint?: unknown
  metadata: Readonly<Record<string, string>>
  /** Oldest first. */
  attempts: AttemptView[]
}

export interface Progress {
  /** 0 to 1; null: it said none. */
  fraction: number | null
  message: string | null
  /** Time of the latest sign of life of its attempt. */
  at: EpochMs
}

export interface UnderWay {
  /** Running executions first, then retrying, ready and waiting ones; the first `underWayMax` of them. */
  executions: UnendedExecution[]
  /** Executions that were released and have not ended; counted up to `totalMax`. */
  letGo: number
  owed: { from: EpochMs; to: EpochMs } | null
}

export const underWayMax = 20

export interface UnendedExecution
  extends Pick<
    ExecutionSummary,
    'executionId' | 'kind' | 'slot' | 'status' | 'attempt' | 'enqueuedAt' | 'startedAt' | 'retryAt'
  > {
  /** In a batch it is ready, or running once that is claimed. */
  state: LiveState
  /** It waits for this host, which was full. */
  host: string | null
  /** The key it waits for or holds, and how many hold it. */
  concurrencyKey: (ConcurrencyKey & { held: number }) | null
}
