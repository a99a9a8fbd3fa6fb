// From local time to instants: walks the segments of a zone and applies the rules for gaps and repeated hours. The
// slots of a pattern are: every instant with a matching local time (only its first pass, unless both count), and the
// first instant after a gap that swallowed a match, if the pattern runs after gaps.
import {
  type CalendarPattern,
  countCalendarLocal,
  nextCalendarLocal,
  previousCalendarLocal,
} from './calendar-pattern.ts'
import { FIRST_SECOND, LAST_SECOND } from './civil.ts'
import type { CronPattern } from './cron-pattern.ts'
import { countLocal as countCronLocal } from './local-count.ts'
import { nextLocal as nextCronLocal, previousLocal as previousCronLocal } from './local-search.ts'
import { extendZone, segmentAt } from './zone.ts'

export type LocalPattern = CronPattern | CalendarPattern

const NEVER = Number.POSITIVE_INFINITY
/** Local time is never farther from UTC than this. */
const farthestOffset = 93_600

/** First slot at or after `from`, in epoch seconds; Infinity when there is none. */
export function nextInZone(pattern: LocalPattern, from: number): number {
  let second = from < FIRST_SECOND ? FIRST_SECOND : from
  if (second >= LAST_SECOND) return NEVER
  const zone = pattern.zone
  if (zone.fixedOffset !== null) {
    const found = nextLocal(pattern, second + zone.fixedOffset) - zone.fixedOffset
    return found < LAST_SECOND ? found : NEVER
  }
  let k = segmentAt(zone, second)
  // The first match at or after any local second in [lowest, found] is `found`: it holds across segments, so
  // a rare schedule is searched once and not once a segment.
  let lowest = 1
  let found = 0
  for (;;) {
    const offset = zone.offsets[k]!
    let local = second + offset
    if (k > 0) {
      const start = zone.starts[k]!
      const before = zone.offsets[k - 1]!
      if (before < offset) {
        if (second === start && pattern.runAfterGap) {
          const gap = start + before
          if (gap < lowest || gap > found) {
            lowest = gap
            found = nextLocal(pattern, gap)
          }
          if (found < local) return second
        }
      } else if (!pattern.bothPasses && local < start + before) local = start + before
    }
    if (local < lowest || local > found) {
      lowest = local
      found = nextLocal(pattern, local)
    }
    if (found - offset < zone.starts[k + 1]!) return found - offset
    if (k + 1 === zone.offsets.length) {
      // A table that grew may have moved the end of this very segment: look at it again before leaving it.
      if (extendZone(zone)) continue
      return NEVER
    }
    k++
    if (zone.starts[k]! + zone.offsets[k]! >= lowest) {
      // No local time of the segments in between was left unsearched: go straight to the one that may hold it.
      if (found >= LAST_SECOND + farthestOffset) return NEVER
      if (found - farthestOffset >= zone.starts[k + 1]!) k = segmentAt(zone, found - farthestOffset)
    }
    second = zone.starts[k]!
  }
}

/** Last slot at or before `from`, in epoch seconds; -Infinity when there is none. */
export function previousInZone(pattern: LocalPattern, from: number): number {
  if (from < FIRST_SECOND) return -NEVER
  let second = from >= LAST_SECOND ? LAST_SECOND - 1 : from
  const zone = pattern.zone
  if (zone.fixedOffset !== null) {
    const found = previousLocal(pattern, second + zone.fixedOffset) - zone.fixedOffset
    return found >= FIRST_SECOND ? found : -NEVER
  }
  for (let k = segmentAt(zone, second); k >= 0; k--) {
    const offset = zone.offsets[k]!
    const start = zone.starts[k]!
    const before = k > 0 ? zone.offsets[k - 1]! : offset
    const lowest = !pattern.bothPasses && offset < before ? start + before : start + offset
    const local = second + offset
    if (local >= lowest) {
      const found = previousLocal(pattern, local)
      if (found >= lowest) return found - offset
    }
    const gapRun =
      offset > before && pattern.runAfterGap && nextLocal(pattern, start + before) < start + offset
    if (gapRun) return start
    second = start - 1
  }
  return -NEVER
}

/** First matching local second at or after `from`. */
export function nextLocal(pattern: LocalPattern, from: number): number {
  return pattern.kind === 'cron' ? nextCronLocal(pattern, from) : nextCalendarLocal(pattern, from)
}

function previousLocal(pattern: LocalPattern, from: number): number {
  return pattern.kind === 'cron' ? previousCronLocal(pattern, from) : previousCalendarLocal(pattern, from)
}

/** How many slots lie in [from, to), in epoch seconds, without visiting them. */
export function countInZone(pattern: LocalPattern, from: number, to: number): number {
  const first = Math.max(from, FIRST_SECOND)
  const end = Math.min(to, LAST_SECOND)
  if (end <= first) return 0
  const zone = pattern.zone
  if (zone.fixedOffset !== null) {
    return countLocal(pattern, first + zone.fixedOffset, end + zone.fixedOffset)
  }
  let count = 0
  segmentAt(zone, end - 1) // grows the table first if the range needs it
  for (let k = segmentAt(zone, first); k < zone.offsets.length && zone.starts[k]! < end; k++) {
    const offset = zone.offsets[k]!
    const start = zone.starts[k]!
    const before = k > 0 ? zone.offsets[k - 1]! : offset
    let local = Math.max(start, first) + offset
    if (!pattern.bothPasses && offset < before) local = Math.max(local, start + before)
    count += countLocal(pattern, local, Math.min(zone.starts[k + 1]!, end) + offset)
    if (offset > before && pattern.runAfterGap && start >= first) {
      const swallowed = nextLocal(pattern, start + before) < start + offset
      // A run moved here by the gap and a run that was due here anyway are one.
      if (swallowed && nextLocal(pattern, start + offset) !== start + offset) count++
    }
  }
  return count
}

function countLocal(pattern: LocalPattern, from: number, to: number): number {
  return pattern.kind === 'cron' ? countCronLocal(pattern, from, to) : countCalendarLocal(pattern, from, to)
}
