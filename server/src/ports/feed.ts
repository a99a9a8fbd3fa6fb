// What happened in a tenant since somebody last looked: for people who watch, never for what must not be missed. Every look
// is bounded. What is committed is told in exactly one look; one that took longer than `lateMsMax` to commit may be left out.

import type { RunStatus } from '../domain/graphs/graph-run.ts'
import type { JobStatus } from '../domain/jobs/job.ts'
import type { OperationStatus } from '../domain/jobs/operation.ts'
import type { ExecutionStatus } from '../domain/queue/execution.ts'
import type { ErrorType } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Feed {
  /** Here: what was there before is not told. */
  begin(): Promise<FeedPlace>
  /** What happened since. */
  look(query: FeedQuery): Promise<FeedLook>
}

/** Where a reader is; its text is for the store alone. */
export type FeedPlace = string & { readonly unit: 'FeedPlace' }

/** How long a transaction may take whose records are told. */
export const lateMsMax = 10_000
/** Executions that are told one by one in a look: those that ended, and those under way. */
export const feedItemsMax = 100
/** Rows of all tenants that are looked at for what is under way, the latest of them. */
export const underWayRowsMax = 2_000
/** Jobs, operations and graph runs that are told in a look, of each. */
export const feedOthersMax = 20

export interface FeedQuery {
  tenantId: string
  since: FeedPlace
  /** Executions that are known to run: their end is no start. */
  running: readonly string[]
  /** Graph runs that had not ended when last seen. */
  runs: readonly string[]
}

export interface FeedLook {
  place: FeedPlace
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
  /** What has not ended, the latest first. */
  underWay: FeedExecution[]
  /** Among the rows that were looked at: at least so many. */
  running: number
  waiting: number
  /** That were made or changed. */
  jobs: FeedJob[]
  /** The latest ones, changed or not. */
  operations: FeedOperation[]
  /** The latest ones and those asked for, changed or not. */
  graphRuns: FeedRun[]
}

export interface FeedExecution {
  executionId: string
  jobId: string
  jobName: string
  status: ExecutionStatus
  attempt: number
  slot: EpochMs
  startedAt: EpochMs | null
  finishedAt: EpochMs | null
  durationMs: number | null
  errorType: ErrorType | null
}

export interface FeedJob {
  jobId: string
  name: string
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
  /** How many of its jobs have which status; let go and not yet ended is PENDING here. */
  counts: Partial<Record<ExecutionStatus, number>>
}
