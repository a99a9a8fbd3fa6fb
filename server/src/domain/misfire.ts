// What if we were down at that time? A slot is misfired when it could not fire within a minute of its time. Of the
// misfired ones the latest runs (FIRE_ONCE), if it lies within the job's window; the others are recorded as skipped.
// Younger late slots all run, in order, each waiting for the one before.
import type { EpochMs } from '../lib/epoch.ts'
import { type CompiledSchedule, countSlots, nextSlot, previousSlot } from './schedule/next-run.ts'
import { shortestGapSeconds } from './schedule/shortest-gap.ts'

export interface SlotRange {
  from: EpochMs
  /** Included. */
  to: EpochMs
  count: number
}

export interface LatePlan {
  /** Slots that will not run. */
  skipped: SlotRange | null
  /** The first slot that runs; null when none is owed. */
  first: EpochMs | null
  /** The last slot that runs; every slot from `first` to it does. */
  last: EpochMs | null
}

/** A slot that fires later than this was held up by more than load: it is owed, and waits where it would be skipped. */
export const lateAfterMs = 2_000

const daySeconds = 86_400
const fineWindowMs = 3_600_000
const coarseWindowMs = 86_400_000

/** How old a misfired slot may be and still run. */
export function misfireWindowMs(schedule: CompiledSchedule, windowSeconds: number | null): number {
  if (windowSeconds !== null) return windowSeconds * 1_000
  return shortestGapSeconds(schedule) < daySeconds ? fineWindowMs : coarseWindowMs
}

/** What to do about the slots of a job from `from` (the first that was not fired) up to now. */
export function planLate(
  schedule: CompiledSchedule,
  options: { from: EpochMs; now: EpochMs; misfireAfterMs: number; windowMs: number },
): LatePlan {
  const { from, now, misfireAfterMs, windowMs } = options
  const last = previousSlot(schedule, (now + 1) as EpochMs)
  if (last === null || last < from) return { skipped: null, first: null, last: null }
  const missedBefore = (now - misfireAfterMs) as EpochMs
  const latestMissed = previousSlot(schedule, missedBefore)
  if (latestMissed === null || latestMissed < from) return { skipped: null, first: from, last }
  const runs = latestMissed >= now - windowMs
  const first = runs ? latestMissed : nextSlot(schedule, latestMissed)
  const skippedTo = runs ? previousSlot(schedule, latestMissed) : latestMissed
  const skipped =
    skippedTo === null || skippedTo < from
      ? null
      : { from, to: skippedTo, count: countSlots(schedule, { from, to: (skippedTo + 1) as EpochMs }) }
  if (first === null || first > last) return { skipped, first: null, last: null }
  return { skipped, first, last }
}
