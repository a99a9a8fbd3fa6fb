// Decides which slots run after downtime. A slot is misfired when it could not fire within a minute of its due time. Of
// the misfired slots within the job's window the latest runs (FIRE_ONCE), or up to 1,000 of them (FIRE_ALL), or none
// (SKIP); the others are recorded as skipped. Slots less than a minute late all run, in order, one after the other.
import type { EpochMs } from '../../lib/time/epoch.ts'
import { dayMs, hourMs } from '../../lib/time/units.ts'
import type { MisfirePolicy, OverlapPolicy } from '../jobs/job.ts'
import { countRuns, nthRun } from '../schedule/count-runs.ts'
import { dueAtOf } from '../schedule/jitter.ts'
import {
  type CompiledSchedule,
  countSlots,
  isExcluded,
  nextRun,
  nextSlot,
  previousSlot,
} from '../schedule/next-run.ts'
import { shortestGapSeconds } from '../schedule/shortest-gap.ts'

interface SlotRange {
  from: EpochMs
  /** Included. */
  to: EpochMs
  count: number
}

/** Slots that do not run, and why. */
export interface SkippedSlots extends SlotRange {
  reason: 'misfire' | 'exclusion'
}

export interface LateJob {
  jobId: string
  schedule: CompiledSchedule
  jitterSeconds: number
  misfirePolicy: MisfirePolicy
  /** How old a misfired slot may be and still run. */
  windowMs: number
}

export interface LatePlan {
  /** Slots that will not run, in order: before the first that does, or all. Neighbours differ in their reason. */
  skipped: SkippedSlots[]
  /** Null: nothing runs. */
  runs: LateRuns | null
}

/** From the first slot, which is not excluded, to the last due slot. Excluded slots between them do not run. */
export interface LateRuns {
  first: EpochMs
  last: EpochMs
  /** The least time between two of them. */
  paceMs: number
}

/** A slot that fires later than this was held up by more than load: it is owed, and waits where it would be skipped. */
export const lateAfterMs = 2_000

/** Misfired slots that run. */
export const misfiredMax: Record<MisfirePolicy, number> = { FIRE_ONCE: 1, FIRE_ALL: 1_000, SKIP: 0 }
/** FIRE_ALL: 10 a second, for the target was not made for all at once. */
const fireAllPaceMs = 100

/**
 * On-time slots that may join one catch-up of FIRE_ALL. A job that is busy for at most half of the time has caught up
 * before as many on-time slots came as it had missed, 1,000 at most: it loses none. With executions longer than the
 * interval it would never catch up: beyond this number its overlap policy decides again, and so every catch-up ends.
 */
export const joinedMax = 1_000

const daySeconds = 86_400
const fineWindowMs = hourMs
const coarseWindowMs = dayMs

/** How old a misfired slot may be and still run. */
export function misfireWindowMs(schedule: CompiledSchedule, windowSeconds: number | null): number {
  if (windowSeconds !== null) return windowSeconds * 1_000
  return shortestGapSeconds(schedule) < daySeconds ? fineWindowMs : coarseWindowMs
}

/**
 * Whether an on-time slot joins the owed slots while its job catches up. Under the other overlap policies it is not lost:
 * it runs beside them, or it is buffered behind them.
 */
export function joinsCatchUp({
  misfirePolicy,
  overlapPolicy,
}: {
  misfirePolicy: MisfirePolicy
  overlapPolicy: OverlapPolicy
}): boolean {
  return misfirePolicy === 'FIRE_ALL' && (overlapPolicy === 'SKIP' || overlapPolicy === 'BUFFER_ONE')
}

/** Plans the slots of a job from `from` (the first that was not fired) up to now. */
export function planLate(
  job: LateJob,
  options: { from: EpochMs; now: EpochMs; misfireAfterMs: number },
): LatePlan {
  const { schedule, misfirePolicy } = job
  const { from, now, misfireAfterMs } = options
  const last = latestDueBefore(job, (now + 1) as EpochMs)
  if (last === null || last < from) return { skipped: [], runs: null }
  const latestMissed = latestDueBefore(job, (now - misfireAfterMs) as EpochMs)
  const isMissed = latestMissed !== null && latestMissed >= from
  const runsFrom = isMissed ? firstToRun(job, { from, latestMissed, now }) : from
  const first = nextRun(schedule, (runsFrom - 1) as EpochMs)
  if (first === null || first > last) {
    return { skipped: splitSkipped(schedule, from, (last + 1) as EpochMs), runs: null }
  }
  const isPaced = misfirePolicy === 'FIRE_ALL' && isMissed && first <= latestMissed
  return {
    skipped: splitSkipped(schedule, from, first),
    runs: { first, last, paceMs: isPaced ? fireAllPaceMs : 0 },
  }
}

/** Whether a slot that is misfired by now runs all the same; of several the policy chooses. */
export function mayRunMisfired({ misfirePolicy, windowMs }: LateJob, dueAt: EpochMs, now: EpochMs): boolean {
  return misfiredMax[misfirePolicy] > 0 && dueAt >= now - windowMs
}

/** The latest slot with a due time before an instant. */
function latestDueBefore(job: LateJob, before: EpochMs): EpochMs | null {
  let slot = previousSlot(job.schedule, before)
  // Jitter is below the gap between slots: one step back, or a few where a clock change brings slots nearer.
  while (slot !== null && dueAtOf(job, slot) >= before) slot = previousSlot(job.schedule, slot)
  return slot
}

/** The first slot that runs; earlier slots do not. */
function firstToRun(
  job: LateJob,
  { from, latestMissed, now }: { from: EpochMs; latestMissed: EpochMs; now: EpochMs },
): EpochMs {
  const { schedule, misfirePolicy, windowMs } = job
  const afterMissed = (latestMissed + 1) as EpochMs
  const tooOld = latestDueBefore(job, (now - windowMs) as EpochMs)
  const range = { from: Math.max(from, (tooOld ?? -1) + 1) as EpochMs, to: afterMissed }
  const max = misfiredMax[misfirePolicy]
  if (max === 0 || range.from >= range.to) return afterMissed
  // The common case, without a search.
  if (max === 1 && !isExcluded(schedule, latestMissed)) return latestMissed
  const count = countRuns(schedule, range)
  return count <= max ? range.from : nthRun(schedule, range, count - max + 1)
}

/** Slots of [from, end) that do not run: within an exclusion because of it, else misfired. */
function splitSkipped(schedule: CompiledSchedule, from: EpochMs, end: EpochMs): SkippedSlots[] {
  const ranges: SkippedSlots[] = []
  const add = (partFrom: number, partEnd: number, reason: SkippedSlots['reason']) => {
    const range = rangeOf(schedule, partFrom as EpochMs, partEnd as EpochMs)
    if (range === null) return
    const before = ranges.at(-1)
    // Between two windows, or within one, there may be no slot.
    if (before?.reason === reason) {
      before.to = range.to
      before.count += range.count
    } else ranges.push({ ...range, reason })
  }
  const excluded = schedule.bounds?.excluded ?? []
  let at: number = from
  for (let i = 0; i < excluded.length; i += 2) {
    const windowFrom = Math.max(at, excluded[i]! * 1_000)
    const windowEnd = Math.min(end, excluded[i + 1]! * 1_000)
    if (windowFrom >= windowEnd) continue
    add(at, windowFrom, 'misfire')
    add(windowFrom, windowEnd, 'exclusion')
    at = windowEnd
  }
  add(at, end, 'misfire')
  return ranges
}

function rangeOf(schedule: CompiledSchedule, from: EpochMs, end: EpochMs): SlotRange | null {
  if (from >= end) return null
  const first = nextSlot(schedule, (from - 1) as EpochMs)
  const last = previousSlot(schedule, end)
  if (first === null || last === null || first > last) return null
  return { from: first, to: last, count: countSlots(schedule, { from: first, to: end }) }
}
