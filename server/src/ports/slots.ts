// The scheduler's operations on the store: load due cursors, and fire their slots. A slot fires once because
// its row is unique, regardless of the scheduler; a partition's lease only stops two schedulers from doing the same
// work.
import type { MisfirePolicy, OverlapPolicy, StoredSchedule } from '../domain/jobs/job.ts'
import type { Calendars } from '../domain/schedule/exclusions.ts'
import type { SkippedSlots } from '../domain/scheduling/misfire.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { DirectWorker } from './direct-dispatch.ts'
import type { ClaimedBatch } from './queue.ts'

export interface Slots {
  /** Cursors of the given partitions due before an instant, each partition from where its last load ended. */
  load(request: LoadRequest): Promise<Cursor[]>
  /** Takes the notes that jobs of these partitions are new or changed, and returns their cursors. */
  takeChanges(partitionIds: readonly number[], limit: number): Promise<Cursor[]>
  /** Answers for every slot that did not simply fire; a slot without an answer fired. */
  fire(slots: readonly SlotToFire[]): Promise<FireAnswer[]>
  /**
   * The same, and in the same transaction a worker claims the new batches on its route in the shared lane, except
   * batches that have others waiting before them there.
   */
  fireAndClaim(slots: readonly SlotToFire[], direct: DirectWorker): Promise<FiredAndClaimed>
}

export interface FiredAndClaimed {
  answers: FireAnswer[]
  batches: ClaimedBatch[]
}

export interface LoadRequest {
  partitions: readonly {
    partitionId: number
    /** Only cursors after (dueAt, jobId). Null: from the beginning. */
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
  /** The latest recorded slot from `slotAt` on: slots up to it are done. */
  recordedAt: EpochMs | null
  schedule: StoredSchedule
  anchorAt: EpochMs
  priority: number
  route: string
  overlapPolicy: OverlapPolicy
  misfirePolicy: MisfirePolicy
  misfireWindowSeconds: number | null
  jitterSeconds: number
  /** Whether its executions wait to be counted: see `isLimited`. */
  limited: boolean
  /** Whether its executions are rows of their own from the start: see `hasOwnRows`. */
  ownRows: boolean
  /** Slots that ran, while the schedule has a `max_runs`. */
  runs: number
  /** The entries of the calendars that its exclusions name; null: it names none. */
  calendars: CursorCalendars | null
  /** The graph it is a root of; null: it is in none. */
  graphId: string | null
}

export interface CursorCalendars {
  /** All named calendars; a deleted one is empty. */
  entries: Calendars
  /** Grows with each change to any of them. */
  revision: number
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
  overlapPolicy: OverlapPolicy
  /** It starts in state `waiting`, until a release has counted it against its limits, instead of `ready`. */
  limited: boolean
  /** It is a row of its own from the start instead of a position in a batch. */
  ownRow: boolean
  /** A late slot is owed: where an on-time one would be skipped because of overlap, it waits. */
  late: boolean
  /**
   * When a plan with late slots was made. If the database's clock is far behind it, the planner's clock was wrong, and the
   * answer is `early`.
   */
  plannedAt?: EpochMs
  /** The slots after this one, up to and including this instant, are owed too, one after the other. Null: none. */
  owedTo: EpochMs | null
  /** The least time between two owed slots. */
  owedPaceMs: number
  /** The latest slot of the job that the caller knows to be recorded; null: it knows of none. */
  recordedAt: EpochMs | null
  /** The slot before, to join ranges of equal skips. */
  previousSlot: EpochMs | null
  /** Slots that will not run: before this one, or up to it when `skip` is set. */
  skipped: readonly SkippedSlots[]
  /**
   * Why this slot does not run and is only recorded; null: it runs. `misfire`: it is the last slot of `skipped`. `quota`: as
   * many executions of its tenant wait as its tier allows.
   */
  skip: 'misfire' | 'exclusion' | 'quota' | null
  /** For a schedule with `max_runs`: that number, and the number of slots that this fire runs, owed ones included. */
  runs: { max: number; count: number } | null
  /** The calendars it was planned with: when they have changed since, it is stale. */
  calendars: { names: readonly string[]; revision: number } | null
  /** The graph that its job is a root of, as the caller knows it: when it is another one by now, the slot is stale. */
  graphId: string | null
  /** The graph run that it starts or joins; null: none. Such a slot always has a row of its own. */
  runId: string | null
  /**
   * Where the cursor moves with this fire; null: it stays. `slotAt` null: no slot is left, or, when it `awaits` the end
   * of the execution, none is known yet.
   */
  move: CursorMove | null
  /**
   * A slot that joins a catch-up of its job instead of being skipped: where the cursor moves then. A late one that fires
   * begins a catch-up, which lasts until nothing of the job is under way. Absent: it does neither.
   */
  joins?: CursorMove
  /**
   * Its tenant has no budget for it: its execution waits for one. `skipAt`: when it is skipped instead, null: never, as
   * with one that is buffered. Absent: it was charged, or its tenant has no limit.
   */
  heldBack?: { skipAt: EpochMs | null }
}

export interface CursorMove {
  slotAt: EpochMs | null
  dueAt: EpochMs | null
  decidedTo: EpochMs
  awaits?: boolean
}

/** A fire decides at most one such slot per job, because the decision affects the next slot. */
export function isDecidedAlone({ overlapPolicy, runs }: Pick<SlotToFire, 'overlapPolicy' | 'runs'>): boolean {
  return overlapPolicy !== 'ALLOW' || runs !== null
}

/**
 * already_recorded: the slot has its record. overlap, misfire, exclusion, quota: recorded as skipped. deferred: it is owed, and
 * waits for a live execution. buffered: it has an execution, which waits to be released. early: the database's clock has
 * not reached its time. stale: the caller's copy of the job is outdated. busy: its cursor is locked; try again soon.
 */
export type FireAnswer = {
  jobId: string
  slot: EpochMs
  answer:
    | 'already_recorded'
    | 'overlap'
    | 'misfire'
    | 'exclusion'
    | 'quota'
    | 'deferred'
    | 'buffered'
    | 'early'
    | 'stale'
    | 'busy'
}
