// The seven fields of a cron expression: their names, ranges, sizes and allowed values.
import { FIRST_YEAR, LAST_YEAR } from './civil.ts'

export interface CronField {
  readonly name: string
  readonly min: number
  /** The day of week goes to 7 because 0 and 7 are both Sunday. */
  readonly max: number
  /** The number of different values: the largest step, and the length of a full turn of a wrapping range. */
  readonly size: number
  readonly digitsMax: number
  readonly allowed: string
}

export const SECOND = 0
export const MINUTE = 1
export const HOUR = 2
export const DAY_OF_MONTH = 3
export const MONTH = 4
export const DAY_OF_WEEK = 5
export const YEAR = 6

const plain = 'values, ranges a-b, steps */n and a/n, lists with commas, * and H'

export const CRON_FIELDS: readonly CronField[] = [
  { name: 'second', min: 0, max: 59, size: 60, digitsMax: 2, allowed: `0-59; ${plain}` },
  { name: 'minute', min: 0, max: 59, size: 60, digitsMax: 2, allowed: `0-59; ${plain}` },
  { name: 'hour', min: 0, max: 23, size: 24, digitsMax: 2, allowed: `0-23; ${plain}` },
  {
    name: 'day of month',
    min: 1,
    max: 31,
    size: 31,
    digitsMax: 2,
    allowed: `1-31; ${plain}, ?, L, L-1 to L-30, LW, L-3W, 15W`,
  },
  { name: 'month', min: 1, max: 12, size: 12, digitsMax: 2, allowed: `1-12 or JAN-DEC; ${plain}` },
  {
    name: 'day of week',
    min: 0,
    max: 7,
    size: 7,
    digitsMax: 2,
    allowed: `0-7 or SUN-SAT (0 and 7 are Sunday); ${plain}, ?, FRI#2, FRI#L, FRIL, + in front`,
  },
  {
    name: 'year',
    min: FIRST_YEAR,
    max: LAST_YEAR,
    size: LAST_YEAR - FIRST_YEAR + 1,
    digitsMax: 4,
    allowed: '1970-2199; values, ranges a-b, steps, lists and *',
  },
]

const MONTH_NAMES = 'JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC'
const WEEKDAY_NAMES = 'SUNMONTUEWEDTHUFRISAT'

/** The value of a three-letter name in upper case, or -1. */
export function valueOfName(field: number, name: string): number {
  const names = field === MONTH ? MONTH_NAMES : field === DAY_OF_WEEK ? WEEKDAY_NAMES : ''
  for (let at = 0; at < names.length; at += 3) {
    if (names.startsWith(name, at)) return at / 3 + (field === MONTH ? 1 : 0)
  }
  return -1
}

/** Macros stand for these five fields. */
export const MACROS: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
