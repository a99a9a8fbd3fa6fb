// Dashboard figures about many executions at once. They were counted when they were recorded: nothing here counts a
// history. A bucket has its records seconds after they were made.
import type { ErrorType } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export type ActivityStep = 'minute' | 'hour' | 'day'

export interface Activity {
  /** Oldest first; buckets in which nothing was recorded are left out. */
  ofTenant(query: ActivityQuery): Promise<ActivityPage>
  /** Null: the tenant has no such job. By hour and day. */
  ofJob(query: JobActivityQuery): Promise<ActivityPage | null>
  /** Attempts that failed, of jobs that are not deleted, by job and kind of error, the most frequent first. */
  failures(query: TroubleQuery): Promise<FailureGroup[]>
  /** Slots that began late or were skipped, the latest first; scheduled at `from` or later. */
  late(query: TroubleQuery): Promise<LateSlot[]>
  /** The executions waiting to be claimed: for a tenant, or for all. A bounded query. */
  queue(of: { tenantId: string | null }): Promise<QueueLook>
  /** The size of the attempt history: for a tenant by estimate, or for all. */
  historySize(of: { tenantId: string | null }): Promise<HistorySize>
}

export interface ActivityQuery {
  tenantId: string
  step: ActivityStep
  /** A bucket counts by its start: at `from` or later, before `to`. */
  from: EpochMs
  to: EpochMs
}

export interface JobActivityQuery extends ActivityQuery {
  jobId: string
  step: 'hour' | 'day'
}

/** No more buckets than this are ever answered. */
export const bucketsMax = 1_500

export interface ActivityPage {
  /** All that was recorded before is counted. */
  asOf: EpochMs
  buckets: ActivityBucket[]
}

export interface ActivityBucket {
  at: EpochMs
  /** Executions that ended so; lost ones have failed. */
  succeeded: number
  failed: number
  timedOut: number
  cancelled: number
  /** Skipped executions of graph runs. */
  skipped: number
  /** All recorded attempts, and how many of them were not the first of their execution. */
  attempts: number
  retries: number
  deadLetters: number
  /** Sum over the last attempts of executions that were not cancelled. */
  durationMsSum: number
  durationMsMax: number
  /** First attempts of slots and triggers, and how many of them began so soon after they were due. */
  started: number
  within1s: number
  within5s: number
  lateMsMax: number
  /** The most executions that ended in one minute of it, and which one; of a tenant only. */
  peak: { count: number; at: EpochMs } | null
}

export interface TroubleQuery {
  tenantId: string
  from: EpochMs
  limit: number
}

export interface FailureGroup {
  jobId: string
  jobName: string
  errorType: ErrorType | null
  /** The message of the latest failure. */
  message: string
  httpStatus: number | null
  count: number
  firstAt: EpochMs
  lastAt: EpochMs
  lastExecutionId: string
  /** Whether its latest execution failed: the attempts of others may have been retried with success. */
  isJobFailing: boolean
}

export interface LateSlot {
  jobId: string
  jobName: string
  slot: EpochMs
  /** Waiting: it is due and has not begun. */
  kind: 'late' | 'skipped' | 'waiting'
  /** Null: it was skipped. */
  lateMs: number | null
  /** Why it was skipped; null: it was not. */
  reason: 'overlap' | 'misfire' | null
  /** For a skipped slot: the number of consecutive skipped slots up to this one. Otherwise 1. */
  slotCount: number
  executionId: string | null
}

export interface QueueLook {
  depth: number
  /** There are more; this is the part that was counted. */
  capped: boolean
  oldestAt: EpochMs | null
}

export interface HistorySize {
  /** Null: nothing is known yet. */
  bytes: number | null
  attempts: number
  oldestAt: EpochMs | null
  /** Written in the last 24 hours, estimated. */
  written: { bytes: number | null; attempts: number }
}
