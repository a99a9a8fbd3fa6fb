// An operation: long work asked for by one request, done in bounded steps, with progress, until it is over or
// cancelled.
import type { EpochMs } from '../lib/epoch.ts'
import type { JobStatus } from './job.ts'
import type { ErrorType } from './retry.ts'

export const OPERATION_KINDS = ['pause', 'resume', 'delete', 'trigger', 'redrive'] as const
export type OperationKind = (typeof OPERATION_KINDS)[number]

export const OPERATION_STATUSES = ['RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED'] as const
export type OperationStatus = (typeof OPERATION_STATUSES)[number]

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

export interface OperationOptions {
  /** Of a pause. */
  reason?: string | null
  until?: EpochMs | null
  /** Of a trigger. */
  payloadOverride?: unknown
  /** Of a redrive. */
  ratePerSecond?: number
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
  ({ kind: Exclude<OperationKind, 'redrive'>; filter: JobFilter } | { kind: 'redrive'; filter: LetterFilter })

export type Operation = NewOperation & {
  status: OperationStatus
  done: number
  /** Looked at and left alone, such as a completed job that was to be paused. */
  skipped: number
  /** How far it is: everything down to this id is done. Null: it has not begun. */
  after: string | null
  error: string | null
  finishedAt: EpochMs | null
}

/** Unfinished ones of a tenant, at most. */
export const operationsMax = 20
/** Steps in a row that may fail before it is given up. */
export const operationFailuresMax = 20
export const operationDaysKept = 7
