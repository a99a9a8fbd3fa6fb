// Recent events of a tenant since the last poll: for people watching, never for events that must not be missed. Every
// poll is bounded. A committed event is reported in exactly one poll; one that took longer than `lateMsMax` to commit
// may be left out.

import type { RunStatus } from '../domain/graphs/graph-run.ts'
import type { JobStatus } from '../domain/jobs/job.ts'
import type { OperationStatus } from '../domain/jobs/operation.ts'
import type { ExecutionStatus } from '../domain/queue/execution.ts'
import type { ErrorType } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { ExecutionSummary } from './executions.ts'

export interface Feed {
  /** The current position: earlier events are not reported. */
  begin(): Promise<FeedMark>
  /** The events since a position. */
  look(query: FeedQuery): Promise<FeedLook>
}

/** Where a reader is; its text is for the store alone. */
export type FeedMark = string & { readonly unit: 'FeedMark' }

/** How long a transaction may take for its records to be reported. */
export const lateMsMax = 10_000
/** Executions reported individually in a poll: ended ones, and ones under way. */
export const feedItemsMax = 100
/** Rows of all tenants that are scanned for executions under way, the latest of them. */
export const underWayRowsMax = 2_000
/** Maximum number of changed jobs, of jobs that have run, of operations and of graph runs in one read. */
export const feedOthersMax = 20

export interface FeedQuery {
  tenantId: string
  since: FeedMark
  /** Executions that are known to run: their end is no start. */
  running: readonly string[]
  /** Graph runs that had not ended when last seen. */
  runs: readonly string[]
}

export interface FeedLook {
  mark: FeedMark
  at: EpochMs
  /** Attempts that began, as far as is known by now. */
  started: number
  /** Executions that ended so. */
  succeeded: number
  failed: number
  timedOut: number
  /** The latest attempts that were recorded, the latest last. */
  recorded: FeedExecution[]
  /** How many more were recorded. */
  dropped: number
  /** Executions that have not ended, the latest first. */
  underWay: FeedExecution[]
  /** Among the rows that were looked at: at least so many. */
  running: number
  waiting: number
  /** That were made or changed, and that run once and have run now. */
  jobs: FeedJob[]
  /** The latest ones, changed or not. */
  operations: FeedOperation[]
  /** The latest runs and the requested ones, changed or not. */
  graphRuns: FeedRun[]
}

export interface FeedExecution
  extends Pick<
    ExecutionSummary,
    | 'executionId'
    | 'jobId'
    | 'jobName'
    | 'status'
    | 'attempt'
    | 'slot'
    | 'startedAt'
    | 'finishedAt'
    | 'durationMs'
  > {
  errorType: ErrorType | null
}

export interface FeedJob {
  jobId: string
  name: string
  /** As it is shown. */
  status: JobStatus
  version: number
}

export interface FeedOperation {
  operationId: string
  status: OperationStatus
  done: number
  total: number
}

export interface FeedRun {
  runId: string
  status: RunStatus
  /** Number of its jobs in each status; released and not yet ended is PENDING here. */
  counts: Partial<Record<ExecutionStatus, number>>
}
