// What the scheduler asks of the store: which cursors come due, and to fire their slots. A slot fires once because
// its row is unique, whoever fires it; a partition's lease only stops two schedulers from doing the same work.
import type { OverlapPolicy, StoredSchedule } from '../domain/job.ts'
import type { SlotRange } from '../domain/misfire.ts'
import type { EpochMs } from '../lib/epoch.ts'

export interface Slots {
  /** Cursors of one or more partitions due before an instant, each partition from where its last load ended. */
  load(request: LoadRequest): Promise<Cursor[]>
  /** Takes the notes that jobs of these partitions are new or changed, and returns their cursors. */
  takeChanges(partitionIds: readonly number[], limit: number): Promise<Cursor[]>
  /** Answers for every slot that did not simply fire; a slot without an answer fired. */
  fire(slots: readonly SlotToFire[]): Promise<FireAnswer[]>
}

export interface LoadRequest {
  partitions: readonly {
    partitionId: number
    /** Only what lies behind (dueAt, jobId). Null: from the beginning. */
    after: { dueAt: EpochMs; jobId: string } | null
  }[]
  dueBefore: EpochMs
  /** Per partition. */
  limit: number
}

/** A job that comes due. */
export interface Cursor {
  jobId: string
  partitionId: number
  tenantId: string
  version: number
  /** As stored; it may have fired already. */
  slotAt: EpochMs
  dueAt: EpochMs
  /** The latest recorded slot from `slotAt` on: what lies up to it is done. */
  recordedAt: EpochMs | null
  schedule: StoredSchedule
  anchorAt: EpochMs
  priority: number
  overlapPolicy: OverlapPolicy
  misfireWindowSeconds: number | null
}

export interface SlotToFire {
  jobId: string
  version: number
  slot: EpochMs
  dueAt: EpochMs
  /** Batch id plus position. */
  executionId: string
  route: string
  lane: string
  priority: number
  allowOverlap: boolean
  /** A late slot is owed: where an on-time one would be skipped because of overlap, it waits. */
  late: boolean
  /** Every slot from after this one to here is owed too, one after the other. Null: none. */
  owedTo: EpochMs | null
  /** The slot before, to tell runs of equal skips. */
  previousSlot: EpochMs | null
  /** Slots that will not run because they were misfired: before this one, or up to it when `misfiredItself`. */
  misfired: SlotRange | null
  /** It does not run: it is only recorded as the last of `misfired`. */
  misfiredItself: boolean
  /** Where the cursor moves with this fire; null: it stays. `slotAt` null: no slot is left. */
  move: { slotAt: EpochMs | null; dueAt: EpochMs | null; decidedTo: EpochMs } | null
}

/**
 * taken: the slot has its record already. overlap, misfire: recorded as skipped. owed: it waits for a live execution.
 * early: the database's clock is not there yet. stale: the job is no longer as the caller knows it. busy: its cursor
 * is locked; try again soon.
 */
export type FireAnswer = {
  jobId: string
  slot: EpochMs
  answer: 'taken' | 'overlap' | 'misfire' | 'owed' | 'early' | 'stale' | 'busy'
}
