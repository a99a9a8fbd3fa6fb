// Which days of a month match: day of month, day of week, L, W and # collapse into one 31-bit mask that depends
// only on the month's length and the weekday of its first day. So a rule with L, W or # is a table of 28 masks,
// and every other rule two masks combined on the fly.
import { FIRST_YEAR, firstDayOfMonth, monthLength, weekdayOf } from './civil.ts'
import type { CronFields } from './cron.ts'

const allDays = 0x7fffffff
const tablesMax = 4_096

/** A mask of matching days, bit `day - 1`, at index (length - 28) * 7 + weekday of the first. */
type DayTable = Int32Array

export interface DayRule {
  days: number
  weekdays: number
  /** Both must match instead of either. */
  bothDays: boolean
  table: DayTable | null
}

// Few day rules exist, and a table is larger than the rest of a schedule, so equal rules share one.
const tables = new Map<string, DayTable>()

export function dayRuleOf(fields: CronFields): DayRule {
  const special =
    fields.lastDays |
    fields.nearestWeekdays |
    fields.lastNearestWeekdays |
    fields.nthWeekdays |
    fields.endWeekdays
  if (special !== 0 && !(fields.dayStar && fields.weekdayStar)) {
    return { days: 0, weekdays: 0, bothDays: false, table: tableOf(fields) }
  }
  if (fields.dayStar && fields.weekdayStar)
    return { days: allDays, weekdays: 0, bothDays: false, table: null }
  if (fields.dayStar) return { days: 0, weekdays: fields.weekdays, bothDays: false, table: null }
  if (fields.weekdayStar) return { days: fields.days, weekdays: 0, bothDays: false, table: null }
  return { days: fields.days, weekdays: fields.weekdays, bothDays: fields.bothDays, table: null }
}

/** The matching days of a month without a table. */
export function dayMask(
  days: number,
  weekdays: number,
  both: boolean,
  length: number,
  first: number,
): number {
  const spread = spreadWeekdays(weekdays, first)
  return (both ? days & spread : days | spread) & (allDays >>> (31 - length))
}

/** The matching days of any month with this length and weekday of its first day. */
export function ruleMask(rule: Readonly<DayRule>, length: number, first: number): number {
  if (rule.table !== null) return rule.table[(length - 28) * 7 + first]!
  return dayMask(rule.days, rule.weekdays, rule.bothDays, length, first)
}

/** An exact proof, not a search that gives up: every month that the rule allows is looked at. */
export function canMatch(rule: DayRule, months: number, years: Uint8Array | null): boolean {
  const mask = (length: number, first: number) => ruleMask(rule, length, first)
  for (let month = 1; month <= 12; month++) {
    if ((months & (1 << month)) === 0) continue
    if (years === null) {
      // Every length of this month meets every weekday within 400 years.
      for (let first = 0; first < 7; first++) {
        if (mask(monthLength(2024, month), first) !== 0 || mask(monthLength(2023, month), first) !== 0)
          return true
      }
      continue
    }
    for (let i = 0; i < years.length; i++) {
      const year = FIRST_YEAR + i
      if (years[i] === 1 && mask(monthLength(year, month), weekdayOf(firstDayOfMonth(year, month))) !== 0)
        return true
    }
  }
  return false
}

function spreadWeekdays(weekdays: number, first: number): number {
  const turned = ((weekdays >> first) | (weekdays << (7 - first))) & 127
  return turned | (turned << 7) | (turned << 14) | (turned << 21) | (turned << 28)
}

function tableOf(fields: CronFields): DayTable {
  const { days, weekdays, lastDays, nearestWeekdays, lastNearestWeekdays, nthWeekdays, endWeekdays } = fields
  const stars = (fields.dayStar ? 1 : 0) | (fields.weekdayStar ? 2 : 0) | (fields.bothDays ? 4 : 0)
  const key = `${days},${weekdays},${lastDays},${nearestWeekdays},${lastNearestWeekdays},${nthWeekdays},${endWeekdays},${stars}`
  const known = tables.get(key)
  if (known !== undefined) return known
  const table = new Int32Array(28)
  for (let length = 28; length <= 31; length++) {
    for (let first = 0; first < 7; first++)
      table[(length - 28) * 7 + first] = monthMask(fields, length, first)
  }
  if (tables.size >= tablesMax) tables.delete(tables.keys().next().value!)
  tables.set(key, table)
  return table
}

function monthMask(fields: CronFields, length: number, first: number): number {
  const real = allDays >>> (31 - length)
  if (fields.dayStar) return fields.weekdayStar ? real : weekdayMask(fields, length, first) & real
  if (fields.weekdayStar) return monthDayMask(fields, length, first) & real
  const days = monthDayMask(fields, length, first)
  const weekdays = weekdayMask(fields, length, first)
  return (fields.bothDays ? days & weekdays : days | weekdays) & real
}

function monthDayMask(fields: CronFields, length: number, first: number): number {
  let mask = fields.days
  for (let i = 0; i < 31; i++) {
    if ((fields.lastDays >>> i) & 1 && i < length) mask |= 1 << (length - 1 - i)
    if ((fields.nearestWeekdays >>> i) & 1 && i < length) mask |= 1 << nearestWeekday(i, length, first)
    if ((fields.lastNearestWeekdays >>> i) & 1 && i < length) {
      mask |= 1 << nearestWeekday(length - 1 - i, length, first)
    }
  }
  return mask
}

/** Index of the Monday to Friday nearest to a day (index from 0), never leaving the month. */
function nearestWeekday(day: number, length: number, first: number): number {
  const weekday = (first + day) % 7
  if (weekday === 6) return day === 0 ? 2 : day - 1
  if (weekday === 0) return day === length - 1 ? day - 2 : day + 1
  return day
}

function weekdayMask(fields: CronFields, length: number, first: number): number {
  let mask = spreadWeekdays(fields.weekdays, first)
  for (let weekday = 0; weekday < 7; weekday++) {
    const firstOne = (weekday - first + 7) % 7
    for (let n = 0; n < 4; n++) {
      if ((fields.nthWeekdays >>> (n * 7 + weekday)) & 1) mask |= 1 << (firstOne + n * 7)
    }
    if ((fields.endWeekdays >>> weekday) & 1 && firstOne + 28 < length) mask |= 1 << (firstOne + 28)
    const lastOne = firstOne + 28 < length ? firstOne + 28 : firstOne + 21
    if ((fields.endWeekdays >>> (7 + weekday)) & 1) mask |= 1 << lastOne
  }
  return mask
}
