// Every slot of a job and its record: the execution that was made for it, or the range of skipped slots it lies in.

import type { SkippingPause, StoredSchedule } from '../domain/jobs/job.ts'
import type { ExecutionStatus, SkipReason } from '../domain/queue/execution.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface SlotLedger {
  /** Ranges of skipped slots that touch [from, to], latest first by default. Null: there is no such job. */
  listSkips(query: SlotQuery): Promise<SkipRange[] | null>
  /** Executions of slots in [from, to], latest first by default. Null: there is no such job. */
  listSlots(query: SlotQuery & Lateness): Promise<SlotPage | null>
  /** How many slots in [from, to] have a record. Null: there is no such job. */
  countSlots(query: SlotBounds & Lateness): Promise<SlotCount | null>
}

export interface SkipRange {
  from: EpochMs
  to: EpochMs
  count: number
  reason: SkipReason
  /** The pause that skipped them; null: skipped otherwise, or before pauses were kept. */
  pause: SkippingPause | null
  /** The schedule it was skipped under. */
  version: number
  schedule: StoredSchedule
  anchorAt: EpochMs
}

/** Slots of a job; both ends included. */
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
  /** How long after its slot an execution may be made: how far to search for old ones. */
  lateMs: number
}

export interface SlotPage {
  executions: SlotExecution[]
  /** In the order asked for, nothing is known of slots behind this instant; null: these are all. */
  end: EpochMs | null
  /** The latest slot that has a record; null: none, or none of the last days. */
  recordedAt: EpochMs | null
  /** Late slots that wait for their turn; the ones among them that have a record do not. */
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
  /** The ranges that cross a bound: their schedule decides how many slots are inside. */
  edges: SkipRange[]
}
