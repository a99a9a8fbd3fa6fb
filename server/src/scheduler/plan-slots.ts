// From a job that is due to the slots to fire. Ordinarily one slot; after a hold-up what the misfire rule says.
// Pure but for ids and lanes, which are handed in.
import { lateAfterMs, planLate } from '../domain/misfire.ts'
import { nextSlot, previousSlot, slotsBetween } from '../domain/schedule/next-run.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { SlotToFire } from '../ports/slots.ts'
import { type Entry, moveEveryMs } from './entry.ts'

/** A slot to fire that has no id, route and lane yet. */
export type PlannedSlot = Omit<SlotToFire, 'executionId' | 'route' | 'lane'>

export interface Plan {
  slots: PlannedSlot[]
  /** Every slot up to this one is decided once the plan is carried out. */
  decidedTo: EpochMs
  /** The slot after it; null: none is left. */
  next: EpochMs | null
}

export interface PlanOptions {
  now: EpochMs
  misfireAfterMs: number
  /** Whether a job that is due then stays in memory; otherwise its cursor must move. */
  staysInMemory: (dueAt: EpochMs) => boolean
}

/** Late slots of one job that may run beside each other, fired in one go. */
const lateMax = 100

export function planSlots(entry: Entry, options: PlanOptions): Plan {
  return options.now - entry.slot > lateAfterMs ? planLateSlots(entry, options) : planOne(entry, options)
}

function planOne(entry: Entry, options: PlanOptions): Plan {
  const { slot, schedule } = entry
  const next = nextSlot(schedule, slot)
  const moves = next === null || !options.staysInMemory(next) || options.now - entry.movedAt >= moveEveryMs
  const one = plain(entry, slot)
  if (moves) one.move = { slotAt: next, dueAt: next, decidedTo: slot }
  return { slots: [one], decidedTo: slot, next }
}

function planLateSlots(entry: Entry, { now, misfireAfterMs }: PlanOptions): Plan {
  const { schedule, windowMs, slot: from } = entry
  const { skipped, first, last } = planLate(schedule, { from, now, misfireAfterMs, windowMs })
  if (first === null || last === null) {
    // Nothing of it runs any more: the last one is recorded with the others before it.
    const range = skipped ?? { from, to: from, count: 1 }
    const one = plain(entry, range.to)
    one.misfired = range
    one.misfiredItself = true
    return withMove(entry, [one], range.to)
  }
  if (!entry.allowOverlap) {
    const one = plain(entry, first)
    one.late = true
    one.misfired = skipped
    if (last > first) one.owedTo = last
    return withMove(entry, [one], last)
  }
  const late = slotsBetween(schedule, { from: first, to: (last + 1) as EpochMs }, lateMax)
  const slots = late.map((slot) => plain(entry, slot))
  slots[0]!.misfired = skipped
  return withMove(entry, slots, late.at(-1)!)
}

function withMove(entry: Entry, slots: PlannedSlot[], decidedTo: EpochMs): Plan {
  const next = nextSlot(entry.schedule, decidedTo)
  slots.at(-1)!.move = { slotAt: next, dueAt: next, decidedTo }
  return { slots, decidedTo, next }
}

function plain(entry: Entry, slot: EpochMs): PlannedSlot {
  return {
    jobId: entry.jobId,
    version: entry.version,
    slot,
    dueAt: slot,
    priority: entry.priority,
    allowOverlap: entry.allowOverlap,
    late: false,
    owedTo: null,
    previousSlot: entry.allowOverlap ? null : previousSlot(entry.schedule, slot),
    misfired: null,
    misfiredItself: false,
    move: null,
  }
}
