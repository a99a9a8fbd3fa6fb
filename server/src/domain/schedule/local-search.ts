// The hot path: first and last matching local second around a given one, on a compiled cron pattern. Integers
// only: no allocation, no Date, no strings, no state. Bounded by the months of the engine's range.

import { hasBit, highestBit, lowestBit, nextBit, previousBit } from './bits.ts'
import {
  civilOf,
  DAY_SECONDS,
  FIRST_YEAR,
  firstDayOfMonth,
  LAST_YEAR,
  monthLength,
  weekdayOf,
} from './civil.ts'
import type { CronPattern } from './cron-pattern.ts'
import { dayMask } from './day-rule.ts'

const NO_DAY = -1_000_000
/** A multiple of 7 that lifts any day of 1969 above 0, because % keeps the sign. */
const daysToStayPositive = 371

/** First matching local second at or after `from`; Infinity when there is none up to 2199. */
export function nextLocal(pattern: CronPattern, from: number): number {
  let day = Math.floor(from / DAY_SECONDS)
  if (pattern.everyDay) {
    const time = nextTimeOfDay(pattern, (from - day * DAY_SECONDS) | 0)
    return time >= 0 ? day * DAY_SECONDS + time : (day + 1) * DAY_SECONDS + pattern.firstTime
  }
  const found = nextDay(pattern, day)
  if (found === day) {
    const time = nextTimeOfDay(pattern, (from - day * DAY_SECONDS) | 0)
    if (time >= 0) return day * DAY_SECONDS + time
    day = nextDay(pattern, day + 1)
  } else day = found
  return day === NO_DAY ? Number.POSITIVE_INFINITY : day * DAY_SECONDS + pattern.firstTime
}

/** Last matching local second at or before `from`; -Infinity when there is none since 1970. */
export function previousLocal(pattern: CronPattern, from: number): number {
  let day = Math.floor(from / DAY_SECONDS)
  const found = previousDay(pattern, day)
  if (found === day) {
    const time = previousTimeOfDay(pattern, (from - day * DAY_SECONDS) | 0)
    if (time >= 0) return day * DAY_SECONDS + time
    day = previousDay(pattern, day - 1)
  } else day = found
  return day === NO_DAY
    ? Number.NEGATIVE_INFINITY
    : day * DAY_SECONDS + previousTimeOfDay(pattern, DAY_SECONDS - 1)
}

/** First matching day at or after `day`, or NO_DAY. A day before 1970 can be asked for: zones west of UTC start there. */
function nextDay(pattern: CronPattern, day: number): number {
  if (pattern.everyDay) return day
  const civil = civilOf(day)
  let year = civil >> 9
  let month = (civil >> 5) & 15
  let first = day - (civil & 31) + 1
  let ahead = -1 << ((civil & 31) - 1)
  const { months, years } = pattern
  for (;;) {
    if (years !== null && yearBit(years, year) === 0) {
      do year++
      while (year <= LAST_YEAR && yearBit(years, year) === 0)
      if (year > LAST_YEAR) return NO_DAY
      month = 1
      first = firstDayOfMonth(year, 1)
      ahead = -1
    }
    if ((months >> month) & 1) {
      const mask = monthMask(pattern, year, month, first) & ahead
      if (mask !== 0) return first + 31 - Math.clz32(mask & -mask)
    }
    const later = months & (-2 << month)
    if (later !== 0) month = 31 - Math.clz32(later & -later)
    else {
      // One year more is looked at, because local time east of UTC ends there.
      if (++year > LAST_YEAR + 1) return NO_DAY
      month = 31 - Math.clz32(months & -months)
    }
    first = firstDayOfMonth(year, month)
    ahead = -1
  }
}

function previousDay(pattern: CronPattern, day: number): number {
  if (pattern.everyDay) return day
  const civil = civilOf(day)
  let year = civil >> 9
  let month = (civil >> 5) & 15
  let first = day - (civil & 31) + 1
  let behind = (2 << ((civil & 31) - 1)) - 1
  const { months, years } = pattern
  for (;;) {
    if (years !== null && yearBit(years, year) === 0) {
      do year--
      while (year >= FIRST_YEAR && yearBit(years, year) === 0)
      if (year < FIRST_YEAR) return NO_DAY
      month = 12
      first = firstDayOfMonth(year, 12)
      behind = -1
    }
    if ((months >> month) & 1) {
      const mask = monthMask(pattern, year, month, first) & behind
      if (mask !== 0) return first + 31 - Math.clz32(mask)
    }
    const earlier = months & ((1 << month) - 1)
    if (earlier !== 0) month = 31 - Math.clz32(earlier)
    else {
      // One month of 1969 is looked at, because local time west of UTC begins there.
      if (--year < FIRST_YEAR - 1) return NO_DAY
      month = 31 - Math.clz32(months)
    }
    first = firstDayOfMonth(year, month)
    behind = -1
  }
}

export function yearBit(years: Uint8Array, year: number): number {
  const index = year - FIRST_YEAR
  return index >= 0 && index < years.length ? years[index]! : 0
}

/** The matching days of a month, bit `day - 1`; `first` is the day number of its first day. */
export function monthMask(pattern: CronPattern, year: number, month: number, first: number): number {
  const length = monthLength(year, month)
  const weekday = weekdayOf(first + daysToStayPositive)
  if (pattern.table !== null) return pattern.table[(length - 28) * 7 + weekday]!
  return dayMask(pattern.days, pattern.weekdays, pattern.bothDays, length, weekday)
}

/** First matching second of the day at or after `second`, or -1. */
function nextTimeOfDay(pattern: CronPattern, second: number): number {
  const hour = (second / 3600) | 0
  if ((pattern.hours >> hour) & 1) {
    const inHour = second - hour * 3600
    if (pattern.secondLow === 1 && pattern.secondHigh === 0) {
      // Nearly every schedule: second 0 only, so the minute is rounded up and looked for once.
      const found = nextBit(pattern.minuteLow, pattern.minuteHigh, ((inHour + 59) / 60) | 0)
      if (found >= 0) return hour * 3600 + found * 60
    } else {
      const minute = (inHour / 60) | 0
      if (hasBit(pattern.minuteLow, pattern.minuteHigh, minute)) {
        const found = nextBit(pattern.secondLow, pattern.secondHigh, inHour - minute * 60)
        if (found >= 0) return hour * 3600 + minute * 60 + found
      }
      const found = nextBit(pattern.minuteLow, pattern.minuteHigh, minute + 1)
      if (found >= 0) return hour * 3600 + found * 60 + lowestBit(pattern.secondLow, pattern.secondHigh)
    }
  }
  const later = pattern.hours & (-2 << hour)
  if (later === 0) return -1
  return (31 - Math.clz32(later & -later)) * 3600 + (pattern.firstTime % 3600)
}

function previousTimeOfDay(pattern: CronPattern, second: number): number {
  const hour = (second / 3600) | 0
  const lastSecond = highestBit(pattern.secondLow, pattern.secondHigh)
  if ((pattern.hours >> hour) & 1) {
    const inHour = second - hour * 3600
    const minute = (inHour / 60) | 0
    if (hasBit(pattern.minuteLow, pattern.minuteHigh, minute)) {
      const found = previousBit(pattern.secondLow, pattern.secondHigh, inHour - minute * 60)
      if (found >= 0) return hour * 3600 + minute * 60 + found
    }
    const found = previousBit(pattern.minuteLow, pattern.minuteHigh, minute - 1)
    if (found >= 0) return hour * 3600 + found * 60 + lastSecond
  }
  const earlier = pattern.hours & ((1 << hour) - 1)
  if (earlier === 0) return -1
  const lastMinute = highestBit(pattern.minuteLow, pattern.minuteHigh)
  return (31 - Math.clz32(earlier)) * 3600 + lastMinute * 60 + lastSecond
}
