// The least time between two slots of a schedule on an ordinary day: the figure that a tier's minimum interval and the
// jitter limit are checked against. A clock change may bring two slots nearer; that is not counted.
import { DAY_SECONDS } from './civil.ts'
import type { CronPattern } from './cron-pattern.ts'
import { ruleMask } from './day-rule.ts'
import type { CompiledSchedule } from './next-run.ts'

const daysOfShortestMonth = 28

/** In seconds; Infinity for a schedule with one slot. */
export function shortestGapSeconds(schedule: CompiledSchedule): number {
  if (schedule.kind === 'once') return Number.POSITIVE_INFINITY
  if (schedule.kind === 'elapsed') return schedule.stepSeconds
  if (schedule.kind === 'calendar') {
    return schedule.months * daysOfShortestMonth * DAY_SECONDS + schedule.seconds
  }
  const seconds = membersOf(schedule.secondLow, schedule.secondHigh)
  const minutes = membersOf(schedule.minuteLow, schedule.minuteHigh)
  const hours = membersOf(schedule.hours, 0)
  // Gap over a boundary: so many units on, less the last time within one unit, plus the first within the next.
  const minuteSpan = seconds.at(-1)! - seconds[0]!
  const hourSpan = (minutes.at(-1)! - minutes[0]!) * 60 + minuteSpan
  const daySpan = (hours.at(-1)! - hours[0]!) * 3_600 + hourSpan
  return Math.min(
    leastStep(seconds),
    leastStep(minutes) * 60 - minuteSpan,
    leastStep(hours) * 3_600 - hourSpan,
    leastDays(schedule) * DAY_SECONDS - daySpan,
  )
}

/** The values of a set in two 30-bit words. */
export function membersOf(low: number, high: number): number[] {
  const members: number[] = []
  for (let value = 0; value < 60; value++) {
    if (((value < 30 ? low >> value : high >> (value - 30)) & 1) === 1) members.push(value)
  }
  return members
}

function leastStep(values: number[]): number {
  let least = Number.POSITIVE_INFINITY
  for (let i = 1; i < values.length; i++) least = Math.min(least, values[i]! - values[i - 1]!)
  return least
}

/** Fewest days from one matching day to the next, over every shape of month and the month after it. */
function leastDays(pattern: CronPattern): number {
  if (pattern.everyDay) return 1
  let least = Number.POSITIVE_INFINITY
  for (let length = 28; length <= 31; length++) {
    for (let first = 0; first < 7; first++) {
      const days: number[] = []
      for (let day = 0; day < length; day++)
        if ((ruleMask(pattern, length, first) >>> day) & 1) days.push(day)
      least = Math.min(least, leastStep(days))
      const next = ruleMask(pattern, 31, (first + length) % 7)
      if (days.length > 0 && next !== 0) {
        least = Math.min(least, length - days.at(-1)! + 31 - Math.clz32(next & -next))
      }
    }
  }
  return least
}
