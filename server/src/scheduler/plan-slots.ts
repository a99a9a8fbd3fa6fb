// From a job that is due to the slots to fire. Ordinarily one slot; after an outage as the misfire rule has it. Pure: ids
// and lanes are assigned later.

import { countRuns, nthRun } from '../domain/schedule/count-runs.ts'
import { dueAtOf } from '../domain/schedule/jitter.ts'
import { isExcluded, nextSlot, previousSlot, slotsBetween } from '../domain/schedule/next-run.ts'
import {
  joinsCatchUp,
  type LateRuns,
  lateAfterMs,
  planLate,
  type SkippedSlots,
} from '../domain/scheduling/misfire.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import { type Entry, moveEveryMs } from './entry.ts'
import { planAfterCompletion } from './plan-after-completion.ts'
import { moveTo, type Plan, type PlannedSlot, plain, setCount } from './planned-slot.ts'

export interface PlanOptions {
  now: EpochMs
  misfireAfterMs: number
  /** Slots that were due up to then and are late were delayed by an outage: see `OutageDetector`. */
  outageUpTo: EpochMs
  /** Whether a job that is due at `dueAt` stays in memory; otherwise its cursor must move. */
  staysInMemory: (dueAt: EpochMs) => boolean
}

/** The most late slots that are fired in one go for a job with slots that may run concurrently. */
const lateMax = 100

export function planSlots(entry: Entry, options: PlanOptions): Plan {
  if (entry.afterCompletion !== null) return planAfterCompletion(entry, entry.afterCompletion, options)
  if (!isLate(entry, options)) return planOne(entry, options)
  const plan = planLateSlots(entry, options)
  for (const slot of plan.slots) slot.plannedAt = options.now
  return plan
}

/** A slot that is late by load alone does not count as late until it is misfired. */
function isLate(entry: Entry, { now, misfireAfterMs, outageUpTo }: PlanOptions): boolean {
  // Not by `entry.dueAt`, which is later when the slot is tried again.
  const dueAt = dueAtOf(entry, entry.slot)
  const lateMs = now - dueAt
  if (lateMs <= lateAfterMs) return false
  return entry.delayedByOutage || dueAt <= Math.max(outageUpTo, entry.loadedAt) || lateMs > misfireAfterMs
}

function planOne(entry: Entry, { now, staysInMemory }: PlanOptions): Plan {
  const { slot, schedule } = entry
  const next = nextSlot(schedule, slot)
  const one = plain(entry, slot)
  if (isExcluded(schedule, slot)) {
    one.skip = 'exclusion'
    // Under every policy: neighbours that are excluded too are one range.
    one.previousSlot = previousSlot(schedule, slot)
    setCount(one, 0)
  }
  const moves =
    next === null ||
    // Runs are counted in the cursor.
    entry.maxRuns !== null ||
    !staysInMemory(dueAtOf(entry, next)) ||
    now - entry.movedAt >= moveEveryMs
  if (moves) one.move = moveTo(entry, next, slot)
  if (one.skip === null && joinsCatchUp(entry)) one.joins = one.move ?? moveTo(entry, next, slot)
  return { slots: [one], decidedTo: slot, next }
}

function planLateSlots(entry: Entry, { now, misfireAfterMs }: PlanOptions): Plan {
  const { skipped, runs } = planLate(entry, { from: entry.slot, now, misfireAfterMs })
  if (runs === null) return recordSkipped(entry, skipped)
  // Slots that are paced or counted go one after the other, also where they could run at once.
  const isInOrder = entry.overlapPolicy !== 'ALLOW' || runs.paceMs > 0 || entry.maxRuns !== null
  return isInOrder ? oweInOrder(entry, skipped, runs) : fireBeside(entry, skipped, runs)
}

/** No slot runs any more: the last one is recorded, with the ranges before it. */
function recordSkipped(entry: Entry, ranges: readonly SkippedSlots[]): Plan {
  // Without a slot up to now (the zone's rules changed meanwhile) the expected slot is recorded.
  const { slot } = entry
  const skipped =
    ranges.length > 0 ? ranges : [{ from: slot, to: slot, count: 1, reason: 'misfire' as const }]
  const { to, reason } = skipped.at(-1)!
  const one = plain(entry, to)
  one.skipped = skipped
  one.skip = reason
  setCount(one, 0)
  return withMove(entry, [one], to)
}

/** The first slot fires, the others are owed; the release loop skips the excluded ones among them. */
function oweInOrder(entry: Entry, skipped: SkippedSlots[], runs: LateRuns): Plan {
  const { first, paceMs } = runs
  const { last, count } = cutToMaxRuns(entry, runs)
  const one = plain(entry, first)
  one.late = true
  one.skipped = skipped
  one.owedPaceMs = paceMs
  if (last > first) one.owedTo = last
  setCount(one, count)
  const plan = withMove(entry, [one], last)
  // After the last slot of a schedule none can join.
  if (plan.next !== null && joinsCatchUp(entry)) one.joins = one.move!
  return plan
}

/** Fires up to the first excluded slot: that one begins the next plan, which comes at once. */
function fireBeside(entry: Entry, skipped: SkippedSlots[], { first, last }: LateRuns): Plan {
  const { schedule } = entry
  const late = slotsBetween(schedule, { from: first, to: (last + 1) as EpochMs }, lateMax)
  const excludedAt = late.findIndex((slot) => isExcluded(schedule, slot))
  const run = excludedAt < 0 ? late : late.slice(0, excludedAt)
  const slots = run.map((slot) => plain(entry, slot))
  slots[0]!.skipped = skipped
  return withMove(entry, slots, run.at(-1)!)
}

/** The slot with which `maxRuns` is reached is the last one. */
function cutToMaxRuns({ schedule, maxRuns, runs }: Entry, { first, last }: LateRuns) {
  if (maxRuns === null) return { last, count: 0 }
  const range = { from: first, to: (last + 1) as EpochMs }
  const count = countRuns(schedule, range)
  // At least one run is left: a job that has had all is completed, and the store refuses a run too many.
  const left = Math.max(1, maxRuns - runs)
  return count < left ? { last, count } : { last: nthRun(schedule, range, left), count: left }
}

function withMove(entry: Entry, slots: PlannedSlot[], decidedTo: EpochMs): Plan {
  const next = nextSlot(entry.schedule, decidedTo)
  slots.at(-1)!.move = moveTo(entry, next, decidedTo)
  return { slots, decidedTo, next }
}
