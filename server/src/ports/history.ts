// Executions as the API reads them: those under way and those recorded, in one statement, so that an execution on
// its way from one table to the next is seen once.

import type { NodeSkipReason } from '../domain/graphs/graph-run.ts'
import type { ConcurrencyKey, Execution, StoredSchedule } from '../domain/jobs/job.ts'
import type {
  AttemptOutcome,
  ExecutionKind,
  ExecutionStatus,
  LiveState,
  SkipReason,
} from '../domain/queue/execution.ts'
import type { ErrorType } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface History {
  /** Newest first, one item per execution, behind `before`. Null: there is no such job (any more). */
  listExecutions(query: ExecutionQuery): Promise<ExecutionPage | null>
  /** One execution with all its attempts. */
  getExecution(tenantId: string, executionId: string): Promise<ExecutionView | null>
  /** Ranges of skipped slots that touch [from, to], latest first unless said otherwise. Null: there is no such job. */
  listSkips(query: SlotQuery): Promise<SkipRange[] | null>
  /** Executions of slots in [from, to], latest first unless said otherwise. Null: there is no such job. */
  listSlots(query: SlotQuery & Lateness): Promise<SlotPage | null>
  /** How many slots in [from, to] have a record. Null: there is no such job. */
  countSlots(query: SlotBounds & Lateness): Promise<SlotCount | null>
  /** What of the job has not ended. Null: there is no such job. */
  underWay(tenantId: string, jobId: string): Promise<UnderWay | null>
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
  /** The graph run it belongs to; null: it runs alone. */
  runId: string | null
  /** Why it was skipped; null unless SKIPPED. */
  skipped: { reason: NodeSkipReason; message: string } | null
}

export interface AttemptView {
  attempt: number
  outcome: AttemptOutcome
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
  execution: Execution
  /** What its attempt said last; null: it runs none, or has said nothing. */
  progress: Progress | null
  /** What its latest attempt left for the next one; absent: nothing. */
  checkpoint?: unknown
  metadata: Readonly<Record<string, string>>
  /** Oldest first. */
  attempts: AttemptView[]
}

export interface Progress {
  /** 0 to 1; null: it said none. */
  fraction: number | null
  message: string | null
  /** When its attempt was last heard of. */
  at: EpochMs
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

/** Slots of one job; both ends included. */
export interface SlotBounds {
  tenantId: string
  jobId: string
  from: EpochMs
  to: EpochMs
}

export type SlotOrder = 'asc' | 'desc'

export interface SlotQuery extends SlotBounds {
  limit: number
  /** By slot. Default desc. */
  order?: SlotOrder
}

export interface Lateness {
  /** How long after its slot an execution may be made: how far to look for those of long ago. */
  lateMs: number
}

export interface SlotPage {
  executions: SlotExecution[]
  /** In the order asked for, nothing is known of slots behind this instant; null: these are all. */
  end: EpochMs | null
  /** The latest slot that has a record; null: none, or none of the last days. */
  recordedAt: EpochMs | null
  /** Late slots that wait for their turn; those among them that have a record do not. */
  owed: { from: EpochMs; to: EpochMs } | null
}

export interface SlotExecution {
  slot: EpochMs
  executionId: string
  status: ExecutionStatus
}

/** Counting stops at `totalMax`, or when too many rows were looked at: then there are at least so many. */
export interface SlotCount {
  executions: number
  /** In ranges that lie wholly between the two ends. */
  skipped: number
  capped: boolean
  /** The ranges that reach over an end: how much of them lies between is for their schedule to say. */
  edges: SkipRange[]
}

export interface UnderWay {
  /** What runs first, then what retries, what is ready and what waits; the first `underWayMax` of them. */
  executions: UnendedExecution[]
  /** Executions that were let go and have not ended; counted up to `totalMax`. */
  letGo: number
  owed: { from: EpochMs; to: EpochMs } | null
}

export const underWayMax = 20

export interface UnendedExecution {
  executionId: string
  kind: ExecutionKind
  slot: EpochMs
  /** In a batch it is ready, or running once that is claimed. */
  state: LiveState
  status: ExecutionStatus
  /** Of the latest attempt; 0 before the first. */
  attempt: number
  enqueuedAt: EpochMs
  startedAt: EpochMs | null
  retryAt: EpochMs | null
  /** It waits for this host, which was full. */
  host: string | null
  /** What it waits for or holds, and how many hold it. */
  concurrencyKey: (ConcurrencyKey & { held: number }) | null
}
