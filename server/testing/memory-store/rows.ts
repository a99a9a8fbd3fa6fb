// The rows of the memory store, one interface per table of `postgres/schema/migrations`.

import type {
  ExecutionSkipReason,
  NodeState,
  RunGraph,
  RunKind,
  RunStatus,
} from '../../src/domain/graphs/graph-run.ts'
import type { LogLine } from '../../src/domain/history/log.ts'
import type { ConcurrencyKey, JobStatus, JobVersion, Pause } from '../../src/domain/jobs/job.ts'
import type { SkippedRange } from '../../src/domain/jobs/job-change.ts'
import type { JobHealth } from '../../src/domain/jobs/job-health.ts'
import type { Operation } from '../../src/domain/jobs/operation.ts'
import type { ExecutionKind, LiveState, Outcome, SkipReason } from '../../src/domain/queue/execution.ts'
import type { OwedSlots } from '../../src/domain/queue/release.ts'
import type { ErrorType } from '../../src/domain/queue/retry.ts'
import type { FormerStatus, Worker, WorkerStatus, WorkerView } from '../../src/domain/queue/worker.ts'
import type { Calendars } from '../../src/domain/schedule/exclusions.ts'
import type { TenantWork } from '../../src/domain/tenants/tenant-end.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { DeadLetter } from '../../src/ports/dead-letters.ts'
import type { UsageView } from '../../src/ports/executions.ts'
import type { Reply } from '../../src/ports/requests.ts'
import type { SortedSet } from './sorted-set.ts'

/** A job with all that hangs on it. */
export interface JobRow {
  jobId: string
  tenantId: string
  key: string | null
  version: number
  createdAt: EpochMs
  createdBy: string
  updatedAt: EpochMs
  updatedBy: string
  deletedAt: EpochMs | null
  pause: Pause | null
  versions: Map<number, JobVersion>
  /** The author and time of each version. */
  made: Map<number, { at: EpochMs; by: string }>
  /** When the parts that only an execution reads were dropped, by version. */
  pruned: Map<number, EpochMs>
  cursor: CursorRow
  slots: Map<EpochMs, SlotRow>
  /** The row of the latest slot. */
  latest: SlotRow | null
  /** The latest slot that became an execution. */
  lastRunAt: EpochMs | null
  /** In the order of `from`. */
  skips: SkippedRange[]
  /** The row of `catchups`. */
  owed: OwedSlots | null
  /** On-time slots that have joined the catch-up. */
  joined: number
  live: Set<LiveRow>
  /** The rows of `live` that wait to be released, by rank. */
  waiting: SortedSet<LiveRow>
  /** Its executions in batches. */
  batched: Map<BatchEntry, BatchRow>
  /** Executions that have ended. */
  ended: Set<string>
  health: JobHealth | null
}

export interface CursorRow {
  jobId: string
  partitionId: number
  version: number
  status: JobStatus
  slotAt: EpochMs | null
  dueAt: EpochMs | null
  decidedTo: EpochMs | null
  /** Slots that ran, counted while the schedule has a `max_runs`. */
  runs: number
  /** The graph it belongs to; null: none. */
  graphId: string | null
  /** It depends on others, and so never has a slot; one in a graph that does not is a root of it. */
  depends: boolean
}

export interface SlotRow {
  slot: EpochMs
  executionId: string
  reason: SkipReason | null
}

export interface BatchRow {
  batchId: string
  route: string
  lane: string
  priority: number
  enqueuedAt: EpochMs
  rank: EpochMs
  kind: 'slot' | 'trigger'
  workerId: string | null
  claimedAt: EpochMs | null
  fence: number
  entries: BatchEntry[]
  /** Of a claimed one: positions that somebody has cancelled, each with a message. */
  cancels: Map<number, string>
}

export interface BatchEntry {
  position: number
  jobId: string
  version: number
  slot: EpochMs
  payloadOverride?: unknown
}

export interface LiveRow {
  executionId: string
  jobId: string
  version: number
  tenantId: string
  kind: ExecutionKind
  state: LiveState
  route: string
  lane: string
  priority: number
  slot: EpochMs
  enqueuedAt: EpochMs
  rank: EpochMs
  readyAt: EpochMs | null
  workerId: string | null
  fence: number
  attempt: number
  losses: number
  host: string | null
  /** Of a slot that waits for a budget: when it is skipped instead of run. */
  skipAt: EpochMs | null
  startedAt: EpochMs | null
  payloadOverride?: unknown
  idempotencyKey: string | null
  retryOf: string | null
  /** The key that it waits for or holds: no more than its limit that are not waiting have the same key. */
  concurrencyKey: ConcurrencyKey | null
  /** The backfill it belongs to. */
  operationId: string | null
  /** The graph run it belongs to; null: it runs alone. */
  runId: string | null
  /** For a running or awaiting execution: it ends cancelled, regardless of its reported result. */
  cancelledAt: EpochMs | null
  cancelMessage: string | null
  /** The worker that made the call with the awaited end. */
  callerId: string | null
  /** When maintenance ends the attempt: its time is over, it was silent for too long, or all attempts took too long. */
  deadline: EpochMs | null
  silentAt: EpochMs | null
  totalDeadline: EpochMs | null
  /** The time and content of the attempt's last report. The checkpoint is for the next attempt too. */
  heardAt: EpochMs | null
  progress: number | null
  progressText: string | null
  checkpoint?: unknown
}

export interface AttemptRow {
  recordedAt: EpochMs
  tenantId: string
  jobId: string
  version: number
  executionId: string
  attempt: number
  final: boolean
  kind: ExecutionKind
  outcome: Outcome
  slot: EpochMs
  enqueuedAt: EpochMs
  startedAt: EpochMs | null
  finishedAt: EpochMs | null
  durationMs: number | null
  workerId: string | null
  httpStatus: number | null
  error: { type: ErrorType; message: string } | null
  preview: string | null
  usage: UsageView | null
  deadLetter: boolean
  payloadOverride?: unknown
  idempotencyKey: string | null
  retryOf: string | null
  runId: string | null
  skipReason: ExecutionSkipReason | null
  skipMessage: string | null
}

export interface DeadLetterRow extends Omit<DeadLetter, 'payload'> {
  tenantId: string
  payload?: unknown
  idempotencyKey: string
  slot: EpochMs
}

export interface LeaseRow extends Worker {
  status: WorkerStatus
  currentLoad: number
  beats: number
  registeredAt: EpochMs
  beatAt: EpochMs
  batches: Set<BatchRow>
  live: Set<LiveRow>
}

/** A worker that is gone, as people see it. */
export interface FormerWorkerRow extends WorkerView {
  status: FormerStatus
  shownUntil: EpochMs
}

/** The log of a single attempt. */
export interface LogRow {
  tenantId: string
  /** By number. */
  lines: Map<number, LogLine>
  /** More than the limit once it is cut. */
  bytes: number
  /** Bytes of its lines. */
  stored: number
}

export interface SigningKeyRow {
  key: Uint8Array
  createdAt: EpochMs
  previous: { key: Uint8Array; until: EpochMs }
}

export interface CalendarRow {
  tenantId: string
  name: string
  description: string | null
  entries: Calendars[string]
  /** Grows with each change. */
  revision: number
  createdAt: EpochMs
  createdBy: string
  updatedAt: EpochMs
  updatedBy: string
}

export interface OperationRow {
  operation: Operation
  /** Null unless RUNNING. */
  nextAt: EpochMs | null
  /** Steps that failed since the last one that did not. */
  failures: number
  /** A step of it is under way. */
  inFlight: boolean
}

export interface TenantWorkRow extends Omit<TenantWork, 'purgeAt' | 'restoredAt'> {
  nextAt: EpochMs
  failures: number
  /** A step of it is under way. */
  inFlight: boolean
}

/** A run of a root that has not ended. */
export interface RunRootRow {
  jobId: string
  runId: string
  /** That of the root. */
  executionId: string
  /** The backfill it belongs to. */
  operationId: string | null
}

/** An event of a run that no step has processed yet. */
export interface RunNoteRow {
  runId: string
  what: 'root' | 'end' | 'cancel'
  jobId: string
  executionId: string
  at: EpochMs
  /** Of a cancel. */
  message: string | null
}

export interface GraphRunRow {
  runId: string
  tenantId: string
  kind: RunKind
  slot: EpochMs
  status: RunStatus
  /** Why it is being cancelled, or was. */
  cancelMessage: string | null
  /** Its nodes and edges as they were at its start; a new one when a root fires or the run is resumed. */
  graph: RunGraph
  /** By index of the node. */
  states: NodeState[]
  resumes: number
  /**
   * Executions that were replaced when the run was resumed for the nth time, oldest first. Null: a root with a skipped
   * slot had none.
   */
  replaced: { nodeIndex: number; executionId: string | null; resume: number }[]
  createdAt: EpochMs
  finishedAt: EpochMs | null
}

export interface RequestRow {
  fingerprint: string
  createdAt: EpochMs
  /** Null: the request is under way. */
  reply: Reply | null
}
