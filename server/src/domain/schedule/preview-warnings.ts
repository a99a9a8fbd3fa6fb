// Warnings: schedules that are valid but probably not intended. Each warning suggests an alternative.
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { monthLength } from './civil.ts'
import { lostToGap } from './clock-change.ts'
import type { CronFields } from './cron.ts'
import { CRON_FIELDS } from './cron-field.ts'
import { dayRuleOf, ruleMask } from './day-rule.ts'
import { joinList, MONTHS } from './describe-days.ts'
import type { CompiledSchedule } from './next-run.ts'
import { shortestGapSeconds } from './shortest-gap.ts'

export const SCHEDULE_WARNING_CODES = [
  'TOP_OF_HOUR',
  'SKIPS_MONTHS',
  'BOTH_DAY_FIELDS',
  'UNEVEN_STEP',
  'BELOW_MIN_INTERVAL',
  'JITTER_TOO_LONG',
  'HASH_WITHOUT_JOB',
  'NO_SLOT_LEFT',
  'LOST_TO_CLOCK_CHANGE',
  'DST_CHOICE_WITHOUT_EFFECT',
] as const

interface Warning {
  code: (typeof SCHEDULE_WARNING_CODES)[number]
  message: string
}

interface WarnedSchedule {
  definition: ScheduleObject
  compiled: CompiledSchedule
  fields: CronFields | null
  hashed: boolean
  hasJob: boolean
  jitterSeconds: number
  /** 0 without a minimum. */
  minIntervalSeconds: number
  after: EpochMs
  /** The last slot shown. */
  last: EpochMs
  some: boolean
}

export function warnAbout(warned: WarnedSchedule): Warning[] {
  const { fields, compiled, definition } = warned
  const warnings: Warning[] = []
  const warn = (code: Warning['code'], message: string | null) => {
    if (message !== null) warnings.push({ code, message })
  }
  if (!warned.some)
    warn('NO_SLOT_LEFT', 'No slot is left: a job with this schedule would be COMPLETED at once.')
  if (fields !== null) {
    warn('TOP_OF_HOUR', topOfHour(fields, warned.hashed))
    warn('SKIPS_MONTHS', skippedMonths(fields))
    warn('BOTH_DAY_FIELDS', bothDays(fields))
    warn('UNEVEN_STEP', unevenStep(definition.cron_expression ?? ''))
  }
  const gap = shortestGapSeconds(compiled)
  if (gap < warned.minIntervalSeconds) {
    const message = `Two slots lie ${gap} s apart; the least allowed is ${warned.minIntervalSeconds} s.`
    warn('BELOW_MIN_INTERVAL', message)
  }
  if (warned.jitterSeconds >= gap) {
    warn('JITTER_TOO_LONG', `jitter_seconds must be below the ${gap} s between two slots.`)
  }
  if (warned.hashed && !warned.hasJob) {
    warn('HASH_WITHOUT_JOB', 'H depends on the job: the saved job will run at other times than shown here.')
  }
  warn('LOST_TO_CLOCK_CHANGE', lostTimes(compiled, warned.after, warned.last))
  warn('DST_CHOICE_WITHOUT_EFFECT', idleChoice(definition, compiled))
  return warnings
}

function topOfHour(fields: CronFields, hashed: boolean): string | null {
  const onTheHour = (fields.minuteLow & 1) === 1 && (fields.secondLow & 1) === 1
  if (!onTheHour || hashed || fields.wildTime) return null
  return 'It runs at the top of the hour with everyone else; H in place of the minute spreads the load.'
}

/** Months that are allowed but hold no matching day, always or in some years. */
function skippedMonths(fields: CronFields): string | null {
  const rule = dayRuleOf(fields)
  const never: string[] = []
  const sometimes: string[] = []
  for (let month = 1; month <= 12; month++) {
    if (((fields.months >> month) & 1) === 0) continue
    let empty = 0
    for (const year of [2023, 2024]) {
      for (let first = 0; first < 7; first++) {
        if (ruleMask(rule, monthLength(year, month), first) === 0) empty++
      }
    }
    if (empty === 14) never.push(MONTHS[month - 1]!)
    else if (empty > 0) sometimes.push(MONTHS[month - 1]!)
  }
  if (never.length + sometimes.length === 0) return null
  const said = [
    ...(never.length === 0 ? [] : [`never in ${joinList(never)}`]),
    ...(sometimes.length === 0 ? [] : [`not every year in ${joinList(sometimes)}`]),
  ]
  return `No such day: ${said.join('; ')}. L is the last day of any month.`
}

function bothDays(fields: CronFields): string | null {
  if (fields.dayStar || fields.weekdayStar || fields.bothDays) return null
  return 'Both day fields are set: it runs when either matches. Put + before the day of week to require both.'
}

/** A step that does not divide its field starts anew at every turn: 0, 45, 0, 45. */
function unevenStep(text: string): string | null {
  const parts = text.trim().split(/[ \t]+/)
  const first = parts.length === 5 ? 1 : 0
  for (let i = 0; i < parts.length; i++) {
    const field = CRON_FIELDS[i + first]
    if (field === undefined || i + first > 2) break
    for (const term of parts[i]!.split(',')) {
      const step = Number(/^(?:\*|0|H)\/(\d+)$/i.exec(term)?.[1] ?? 1)
      if (step > 1 && field.size % step !== 0) {
        return `Step ${step} does not divide the ${field.name}: it starts anew every ${field.size}. An interval keeps the distance even.`
      }
    }
  }
  return null
}

function lostTimes(compiled: CompiledSchedule, after: EpochMs, last: EpochMs): string | null {
  if (compiled.kind !== 'cron' && compiled.kind !== 'calendar') return null
  // A schedule of every hour loses nothing that its next hour does not make up for.
  if (compiled.kind === 'cron' && compiled.hours === 0xffffff) return null
  const at = lostToGap(compiled, Math.floor(after / 1000), Math.floor(last / 1000) + 1)
  if (at === null) return null
  return `The clock change at ${toRfc3339(epochMs(at * 1000))} skips times of this schedule; dst_gap "run_after" would run once instead.`
}

function idleChoice(definition: ScheduleObject, compiled: CompiledSchedule): string | null {
  if (definition.dst_gap === undefined && definition.dst_fold === undefined) return null
  const zoned = compiled.kind === 'cron' || compiled.kind === 'calendar'
  if (zoned && compiled.zone.fixedOffset === null) return null
  return 'dst_gap and dst_fold change nothing here: no clock change touches this schedule.'
}
