// Repeating by calendar units: the anchor's local time plus k times so many months, days and seconds. Each slot is
// computed from the anchor, so a month that had to be clamped (31 January, 28 February, 31 March) does not drift.
import { civilOf, DAY_SECONDS, firstDayOfMonth, monthLength } from './civil.ts'
import type { SlotBounds } from './slot-bounds.ts'
import type { Zone } from './zone.ts'

export interface CalendarPattern {
  readonly kind: 'calendar'
  readonly zone: Zone
  /** Local seconds of slot 0. */
  readonly anchorLocal: number
  readonly months: number
  /** The days and the time of the duration, on the wall clock. */
  readonly seconds: number
  readonly firstIndex: number
  readonly lastIndex: number
  readonly runAfterGap: boolean
  readonly bothPasses: boolean
  readonly bounds: SlotBounds | null
}

const monthSeconds = 2_629_746 // a 4,800th of 400 years
// Clamping and leap years move a slot by less than this from where the mean length of months puts it.
const slackSeconds = 5 * DAY_SECONDS

export function nextCalendarLocal(pattern: CalendarPattern, from: number): number {
  const index = indexFrom(pattern, from)
  return index > pattern.lastIndex ? Number.POSITIVE_INFINITY : localOfIndex(pattern, index)
}

/** How many slots of the grid lie in the local range [from, to). */
export function countCalendarLocal(pattern: CalendarPattern, from: number, to: number): number {
  const last = Math.min(indexFrom(pattern, to), pattern.lastIndex + 1)
  return Math.max(0, last - indexFrom(pattern, from))
}

/** The first index with a slot at or after `from`. */
function indexFrom(pattern: CalendarPattern, from: number): number {
  let index = Math.max(pattern.firstIndex, indexNear(pattern, from - slackSeconds))
  while (localOfIndex(pattern, index) < from) index++
  return index
}

export function previousCalendarLocal(pattern: CalendarPattern, from: number): number {
  const index = Math.min(pattern.lastIndex, indexNear(pattern, from + slackSeconds) + 1)
  for (let k = index; k >= pattern.firstIndex; k--) {
    const local = localOfIndex(pattern, k)
    if (local <= from) return local
  }
  return Number.NEGATIVE_INFINITY
}

/** Local seconds of slot k. */
function localOfIndex(pattern: CalendarPattern, k: number): number {
  const { anchorLocal, months, seconds } = pattern
  if (months === 0) return anchorLocal + k * seconds
  const day = Math.floor(anchorLocal / DAY_SECONDS)
  const civil = civilOf(day)
  const total = (civil >> 9) * 12 + ((civil >> 5) & 15) - 1 + k * months
  const year = Math.floor(total / 12)
  const month = total - year * 12 + 1
  const dayOfMonth = Math.min(civil & 31, monthLength(year, month))
  const moved = firstDayOfMonth(year, month) + dayOfMonth - 1
  return moved * DAY_SECONDS + (anchorLocal - day * DAY_SECONDS) + k * seconds
}

function indexNear(pattern: CalendarPattern, local: number): number {
  const step = pattern.months * monthSeconds + pattern.seconds
  return Math.floor((local - pattern.anchorLocal) / step)
}
