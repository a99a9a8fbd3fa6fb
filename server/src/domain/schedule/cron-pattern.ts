// A parsed cron expression made ready to search: the sets, the day rule, the zone and the behaviour at a clock change.
// A million of these are kept in memory, so it is one flat object without anything derivable.
import { lowestBit } from './bits.ts'
import type { CronFields } from './cron.ts'
import { canMatch, type DayRule, dayRuleOf } from './day-rule.ts'
import { type Result, refuse } from './schedule-error.ts'
import type { SlotBounds } from './slot-bounds.ts'
import type { Zone } from './zone.ts'

export const DST_GAPS = ['run_after', 'skip'] as const
type DstGap = (typeof DST_GAPS)[number]
export const DST_FOLDS = ['first', 'both'] as const
type DstFold = (typeof DST_FOLDS)[number]
/** The fields of a schedule that hold the two. */
export const DST_FIELDS = ['dst_gap', 'dst_fold'] as const
export type DstField = (typeof DST_FIELDS)[number]

type TimeSets = 'secondLow' | 'secondHigh' | 'minuteLow' | 'minuteHigh' | 'hours' | 'months' | 'years'

export interface CronPattern extends Readonly<Pick<CronFields, TimeSets>>, Readonly<DayRule> {
  readonly kind: 'cron'
  /** Every day of every month of every year: the search needs no calendar at all. */
  readonly everyDay: boolean
  /** First matching second of a day. */
  readonly firstTime: number
  readonly zone: Zone
  /** Local times that do not exist give one slot at the first instant after the gap. */
  readonly runAfterGap: boolean
  /** Local times that happen twice give two slots. */
  readonly bothPasses: boolean
  readonly bounds: SlotBounds | null
}

/**
 * Which cron schedules follow elapsed time unless they say otherwise. Rule 2: an hour field that covers all 24 hours. Rule 1,
 * before migration 20: also a wildcard or an open step in the minute or second field.
 */
export type ClockRule = 1 | 2

interface DstChoice {
  dstGap?: DstGap | undefined
  dstFold?: DstFold | undefined
  /** For a choice that is not made. Default 2. */
  clockRule?: ClockRule | undefined
}

const allMonths = 0b1111111111110
const allDays = 0x7fffffff
const allHours = 0xffffff
const all30 = 0x3fffffff

/** Elapsed time: nothing extra in a gap, both passes of a repeated hour. Otherwise the wall clock decides. */
export function followsElapsedTime(fields: CronFields, rule: ClockRule = 2): boolean {
  if (fields.hours === allHours || rule === 2) return fields.hours === allHours
  return (
    fields.wildTime ||
    (fields.minuteLow & fields.minuteHigh) === all30 ||
    (fields.secondLow & fields.secondHigh) === all30
  )
}

export function compileCron(fields: CronFields, zone: Zone, choice: DstChoice): Result<CronPattern> {
  const rule = dayRuleOf(fields)
  if (!canMatch(rule, fields.months, fields.years)) {
    const message = 'This expression can never match: no month it allows has such a day.'
    return refuse('NEVER_MATCHES', message, { field: 'day of month', allowed: 'a day that exists' })
  }
  const elapsed = followsElapsedTime(fields, choice.clockRule)
  const second = lowestBit(fields.secondLow, fields.secondHigh)
  const minute = lowestBit(fields.minuteLow, fields.minuteHigh)
  const pattern: CronPattern = {
    kind: 'cron',
    secondLow: fields.secondLow,
    secondHigh: fields.secondHigh,
    minuteLow: fields.minuteLow,
    minuteHigh: fields.minuteHigh,
    hours: fields.hours,
    months: fields.months,
    days: rule.days,
    weekdays: rule.weekdays,
    bothDays: rule.bothDays,
    table: rule.table,
    years: fields.years,
    everyDay: rule.days === allDays && !rule.bothDays && fields.months === allMonths && fields.years === null,
    firstTime: lowestBit(fields.hours, 0) * 3600 + minute * 60 + second,
    zone,
    runAfterGap: choice.dstGap === undefined ? !elapsed : choice.dstGap === 'run_after',
    bothPasses: choice.dstFold === undefined ? elapsed : choice.dstFold === 'both',
    bounds: null,
  }
  return { ok: true, value: pattern }
}
