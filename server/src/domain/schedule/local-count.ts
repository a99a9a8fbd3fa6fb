// Counting without enumerating: how many local seconds of a range match a cron pattern. Whole days are counted by
// the bits of their month, so a century of every second costs the same as a century of every midnight.
import { countBelow, countBits, hasBit } from './bits.ts'
import { civilOf, DAY_SECONDS, firstDayOfMonth } from './civil.ts'
import type { CronPattern } from './cron-pattern.ts'
import { monthMask, yearBit } from './local-search.ts'

/** How many matching local seconds lie in [from, to). */
export function countLocal(pattern: CronPattern, from: number, to: number): number {
  if (to <= from) return 0
  const firstDay = Math.floor(from / DAY_SECONDS)
  const lastDay = Math.floor(to / DAY_SECONDS)
  const beforeFrom =
    countDays(pattern, firstDay, firstDay + 1) * countTimesBefore(pattern, from - firstDay * DAY_SECONDS)
  const beforeTo =
    countDays(pattern, lastDay, lastDay + 1) * countTimesBefore(pattern, to - lastDay * DAY_SECONDS)
  return countDays(pattern, firstDay, lastDay) * timesPerDay(pattern) + beforeTo - beforeFrom
}

/** Matching times per day. */
function timesPerDay(pattern: CronPattern): number {
  return countBits(pattern.hours) * timesPerHour(pattern)
}

function timesPerHour(pattern: CronPattern): number {
  return (countBits(pattern.minuteLow) + countBits(pattern.minuteHigh)) * timesPerMinute(pattern)
}

function timesPerMinute(pattern: CronPattern): number {
  return countBits(pattern.secondLow) + countBits(pattern.secondHigh)
}

/** Matching days in [from, to), by day number. */
function countDays(pattern: CronPattern, from: number, to: number): number {
  if (pattern.everyDay) return to - from
  let count = 0
  for (let day = from; day < to; ) {
    const civil = civilOf(day)
    const year = civil >> 9
    const month = (civil >> 5) & 15
    const first = day - (civil & 31) + 1
    const next = month === 12 ? firstDayOfMonth(year + 1, 1) : firstDayOfMonth(year, month + 1)
    const listed =
      (pattern.months >> month) & 1 && (pattern.years === null || yearBit(pattern.years, year) === 1)
    if (listed) {
      const until = Math.min(next, to) - first
      const mask = monthMask(pattern, year, month, first) & (-1 << (day - first))
      count += countBits(until >= 31 ? mask : mask & ((1 << until) - 1))
    }
    day = next
  }
  return count
}

function countTimesBefore(pattern: CronPattern, second: number): number {
  const hour = (second / 3600) | 0
  const minute = ((second / 60) | 0) % 60
  const count = countBits(pattern.hours & ((1 << hour) - 1)) * timesPerHour(pattern)
  if (((pattern.hours >> hour) & 1) === 0) return count
  const minutes = countBelow(pattern.minuteLow, pattern.minuteHigh, minute) * timesPerMinute(pattern)
  const seconds = hasBit(pattern.minuteLow, pattern.minuteHigh, minute)
    ? countBelow(pattern.secondLow, pattern.secondHigh, second % 60)
    : 0
  return count + minutes + seconds
}
