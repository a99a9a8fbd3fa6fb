// When does it run? next, previous, between and count over any compiled schedule, in EpochMs. A slot is an instant the
// schedule yields; a run is a slot outside every exclusion. Pure: the same question has the same answer on every
// server, regardless of its clock and its own zone.
import assert from 'node:assert/strict'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { LAST_SECOND } from './civil.ts'
import type { SlotBounds } from './slot-bounds.ts'
import { countInZone, type LocalPattern, nextInZone, previousInZone } from './zone-search.ts'

/** A fixed rate: anchor + k * step, independent of clock changes. */
interface ElapsedPattern {
  readonly kind: 'elapsed'
  readonly anchorSecond: number
  readonly stepSeconds: number
  readonly firstIndex: number
  readonly lastIndex: number
  readonly bounds: SlotBounds | null
}

interface OncePattern {
  readonly kind: 'once'
  readonly atSecond: number
  readonly bounds: SlotBounds | null
}

export type CompiledSchedule = LocalPattern | ElapsedPattern | OncePattern

export interface SlotRange {
  /** Included. */
  from: EpochMs
  /** Not included. */
  to: EpochMs
}

const NEVER = Number.POSITIVE_INFINITY
export const slotsBetweenMax = 10_000

/** The first slot strictly after an instant; null when there is none. Excluded slots are slots too. */
export function nextSlot(schedule: CompiledSchedule, after: EpochMs): EpochMs | null {
  const from = Math.floor(after / 1000) + 1
  const found =
    schedule.bounds === null ? nextSecond(schedule, from) : nextWithin(schedule, schedule.bounds, from)
  if (found === NEVER) return null
  // Every engine we looked at has at some time answered with the past and looped; this one stops instead.
  if (found < from) assert.fail(`next slot ${found} is not after ${after}`)
  return (found * 1000) as EpochMs
}

/** The last slot strictly before an instant; null when there is none. */
export function previousSlot(schedule: CompiledSchedule, before: EpochMs): EpochMs | null {
  const bounds = schedule.bounds
  const from = Math.ceil(before / 1000) - 1
  const found = previousSecond(schedule, bounds === null ? from : Math.min(from, bounds.endSecond))
  if (found === -NEVER || (bounds !== null && found < bounds.startSecond)) return null
  return (found * 1000) as EpochMs
}

/** The first slot strictly after an instant that no exclusion skips. */
export function nextRun(schedule: CompiledSchedule, after: EpochMs): EpochMs | null {
  let slot = nextSlot(schedule, after)
  // Each turn leaves one window behind, so this ends after as many turns as there are windows.
  while (slot !== null) {
    const until = excludedUntil(schedule, slot)
    if (until === null) return slot
    slot = nextSlot(schedule, (until - 1) as EpochMs)
  }
  return null
}

/** Whether an exclusion skips this slot. */
export function isExcluded(schedule: CompiledSchedule, slot: EpochMs): boolean {
  return excludedUntil(schedule, slot) !== null
}

/** Slots of a range in order, at most `limit` (1 to 10,000) of them. */
export function slotsBetween(
  schedule: CompiledSchedule,
  range: SlotRange,
  limit = slotsBetweenMax,
): EpochMs[] {
  const slots: EpochMs[] = []
  let slot = nextSlot(schedule, (range.from - 1) as EpochMs)
  while (slot !== null && slot < range.to && slots.length < Math.min(limit, slotsBetweenMax)) {
    slots.push(slot)
    slot = nextSlot(schedule, slot)
  }
  return slots
}

/** How many slots a range holds; exact and bounded, however many there are. */
export function countSlots(schedule: CompiledSchedule, range: SlotRange): number {
  const bounds = schedule.bounds
  const from = Math.max(Math.ceil(range.from / 1000), bounds?.startSecond ?? -NEVER)
  const to = Math.min(Math.ceil(range.to / 1000), (bounds?.endSecond ?? NEVER) + 1)
  return countSeconds(schedule, from, to)
}

/** How many slots of a range the exclusions skip. */
export function countExcluded(schedule: CompiledSchedule, range: SlotRange): number {
  const excluded = schedule.bounds?.excluded
  if (excluded === undefined) return 0
  let count = 0
  for (let i = 0; i < excluded.length; i += 2) {
    const from = Math.max(range.from, excluded[i]! * 1000) as EpochMs
    const to = Math.min(range.to, excluded[i + 1]! * 1000) as EpochMs
    if (from < to) count += countSlots(schedule, { from, to })
  }
  return count
}

function nextSecond(schedule: CompiledSchedule, from: number): number {
  if (schedule.kind === 'cron' || schedule.kind === 'calendar') return nextInZone(schedule, from)
  if (schedule.kind === 'once') return schedule.atSecond >= from ? schedule.atSecond : NEVER
  const { anchorSecond, stepSeconds } = schedule
  const index = Math.max(schedule.firstIndex, Math.ceil((from - anchorSecond) / stepSeconds))
  const second = anchorSecond + index * stepSeconds
  return index > schedule.lastIndex || second >= LAST_SECOND ? NEVER : second
}

function nextWithin(schedule: CompiledSchedule, bounds: SlotBounds, from: number): number {
  const found = nextSecond(schedule, Math.max(from, bounds.startSecond))
  return found > bounds.endSecond ? NEVER : found
}

function previousSecond(schedule: CompiledSchedule, from: number): number {
  if (schedule.kind === 'cron' || schedule.kind === 'calendar') return previousInZone(schedule, from)
  if (schedule.kind === 'once') return schedule.atSecond <= from ? schedule.atSecond : -NEVER
  const { anchorSecond, stepSeconds } = schedule
  const last = Math.min(from, LAST_SECOND - 1)
  const index = Math.min(schedule.lastIndex, Math.floor((last - anchorSecond) / stepSeconds))
  return index < schedule.firstIndex ? -NEVER : anchorSecond + index * stepSeconds
}

function countSeconds(schedule: CompiledSchedule, from: number, to: number): number {
  if (to <= from) return 0
  if (schedule.kind === 'cron' || schedule.kind === 'calendar') return countInZone(schedule, from, to)
  if (schedule.kind === 'once') return schedule.atSecond >= from && schedule.atSecond < to ? 1 : 0
  const { anchorSecond, stepSeconds, firstIndex, lastIndex } = schedule
  const first = Math.max(firstIndex, Math.ceil((from - anchorSecond) / stepSeconds))
  const end = Math.min(lastIndex + 1, Math.ceil((Math.min(to, LAST_SECOND) - anchorSecond) / stepSeconds))
  return Math.max(0, end - first)
}

/** The end of the exclusion that holds this slot, or null. */
export function excludedUntil(schedule: CompiledSchedule, slot: EpochMs): EpochMs | null {
  const excluded = schedule.bounds?.excluded
  if (excluded === undefined) return null
  const second = slot / 1000
  let low = 0
  let high = excluded.length / 2
  while (low < high) {
    const middle = (low + high) >> 1
    if (excluded[2 * middle + 1]! <= second) low = middle + 1
    else high = middle
  }
  const holds = 2 * low < excluded.length && excluded[2 * low]! <= second
  return holds ? ((excluded[2 * low + 1]! * 1000) as EpochMs) : null
}
