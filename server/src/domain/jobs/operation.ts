// An operation: long work asked for by one request, done in bounded steps, with progress, until it is over or
// cancelled.
import type { BackfillOrder, OperationKind, OperationStatus } from '@carillon/contract/constants.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { ExecutionKind, ExecutionStatus } from '../queue/execution.ts'
import type { ErrorType } from '../queue/retry.ts'
import type { JobStatus, StoredSchedule } from './job.ts'

export type { BackfillOrder, OperationKind, OperationStatus } from '@carillon/contract/constants.ts'

/** Shown as operations, and carried out as `TenantWork`. */
export type TenantOperationKind = Extract<OperationKind, `tenant_${string}`>

/** Which jobs: every condition that is not null holds. */
export interface JobFilter {
  /** Null: all but DELETED. */
  status: JobStatus | null
  tag: string | null
  /** Part of the name, key or a tag, in any case. */
  q: string | null
}

/** Which dead letters. */
export interface LetterFilter {
  jobId: string | null
  reason: string | null
  /** Of the last error. */
  errorType: ErrorType | null
  /** Bounds of when it died: from included, to not. */
  from: EpochMs | null
  to: EpochMs | null
}

/** Selects executions that have not ended. */
export interface ExecutionFilter {
  jobId: string | null
  status: ExecutionStatus | null
  kind: ExecutionKind | null
  /** Of the job. */
  tag: string | null
  /** Part of the name, key or a tag of the job, or of the latest error message; in any case. */
  q: string | null
  /** Of the latest attempt that ended. */
  errorType: ErrorType | null
  /** Bounds of scheduled_time: from included, to not. */
  from: EpochMs | null
  to: EpochMs | null
}

/** Selects slots of a single job. */
export interface BackfillFilter {
  jobId: string
  /** Both included. */
  from: EpochMs
  to: EpochMs
}

/** How a backfill goes. */
export interface BackfillOptions {
  order: BackfillOrder
  /** Executions of it that have not ended, at most. */
  maxConcurrent: number
  /** The slots follow the schedule as it was at the time of the request. */
  schedule: StoredSchedule
  anchorAt: EpochMs
}

export const backfillSlotsMax = 10_000
/** Of executions that end with their backfill. */
export const backfillCancelledMessage = 'The backfill was cancelled.'

export interface OperationOptions {
  /** Of a pause. */
  reason?: string | null
  until?: EpochMs | null
  /** Of a trigger. */
  payloadOverride?: unknown
  /** Of a redrive. */
  ratePerSecond?: number
  backfill?: BackfillOptions
}

interface Common {
  operationId: string
  tenantId: string
  options: OperationOptions
  createdBy: string
  createdAt: EpochMs
  /** How many there were when it began; above the cap that is all we know. */
  total: number
  totalCapped: boolean
}

export type NewOperation = Common &
  (
    | { kind: 'pause' | 'resume' | 'delete' | 'trigger'; filter: JobFilter }
    | { kind: 'redrive'; filter: LetterFilter }
    | { kind: 'cancel'; filter: ExecutionFilter }
    | { kind: 'backfill'; filter: BackfillFilter }
    | { kind: TenantOperationKind; filter: Record<string, never> }
  )

export type Operation = NewOperation & {
  status: OperationStatus
  done: number
  /** Looked at and left alone, such as a completed job that was to be paused. */
  skipped: number
  /** How far it is: everything down to this id is done, of a backfill to this millisecond. Null: it has not begun. */
  after: string | null
  error: string | null
  finishedAt: EpochMs | null
}

/** An operation of which a step does a part. */
export type SteppedOperation = Exclude<Operation, { kind: TenantOperationKind }>

/** Unfinished ones of a tenant, at most. */
export const operationsMax = 20
/** Steps in a row that may fail before it is given up. */
export const operationFailuresMax = 20
export const operationDaysKept = 7
