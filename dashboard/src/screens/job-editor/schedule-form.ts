// The schedule builder without its looks: from the fields of the form to a schedule of the API and back. A schedule
// that is read and written again unchanged is the same, so that an edit of something else never touches it.
import type { ScheduleObject } from '@carillon/contract/schedule.ts'

const scheduleKinds = ['every', 'times', 'cron', 'interval', 'text', 'once', 'after', 'now'] as const
export type ScheduleKind = (typeof scheduleKinds)[number]
export const EVERY_UNITS = ['seconds', 'minutes', 'hours', 'days', 'weeks', 'months'] as const
export type EveryUnit = (typeof EVERY_UNITS)[number]
export type TimesPattern = 'daily' | 'weekly' | 'monthly'

export interface ScheduleForm {
  kind: ScheduleKind
  every: string
  unit: EveryUnit
  pattern: TimesPattern
  /** HH:MM of 24 hours, parted by commas. */
  times: string
  /** 0 is Sunday. */
  weekdays: readonly number[]
  /** Days of the month, parted by commas; L is the last. */
  monthDays: string
  cron: string
  interval: string
  text: string
  once: string
  /** Empty: left out, which is UTC. */
  timezone: string
  startAt: string
  endAt: string
  maxRuns: string
  /** One a line: a day, `A to B`, or `calendar NAME`. */
  exclusions: string
  dstGap: string
  dstFold: string
  afterCompletion: boolean
}

export type ReadSchedule =
  | { schedule: string | ScheduleObject | undefined; error: null }
  | { schedule: null; error: string; field: string }

export const blankSchedule: ScheduleForm = {
  kind: 'every',
  every: '5',
  unit: 'minutes',
  pattern: 'daily',
  times: '09:00',
  weekdays: [1, 2, 3, 4, 5],
  monthDays: '1',
  cron: '0 9 * * 1-5',
  interval: 'PT5M',
  text: 'every weekday at 9:00 in London',
  once: '',
  timezone: '',
  startAt: '',
  endAt: '',
  maxRuns: '',
  exclusions: '',
  dstGap: '',
  dstFold: '',
  afterCompletion: false,
}

const unitSeconds: Partial<Record<EveryUnit, number>> = { seconds: 1, minutes: 60, hours: 3_600 }
const unitLetters: Partial<Record<EveryUnit, string>> = { days: 'D', weeks: 'W', months: 'M' }

/** The schedule of the form, as it is sent. `undefined`: no schedule, because it runs after other jobs. */
export function scheduleOf(form: ScheduleForm): ReadSchedule {
  try {
    return { schedule: writeSchedule(form), error: null }
  } catch (error) {
    if (error instanceof FieldMistake) return { schedule: null, error: error.message, field: error.field }
    throw error
  }
}

/** The form of a stored schedule; a schedule that the builder cannot express exactly is shown as its text. */
export function formOf(shown: ScheduleObject | null): ScheduleForm {
  if (shown === null) return { ...blankSchedule, kind: 'after' }
  const stored = plainSchedule(shown)
  const base = optionsFormOf(stored)
  for (const candidate of candidatesOf(stored, base)) {
    const { schedule } = scheduleOf(candidate)
    if (schedule !== null && sameSchedule(schedule, stored)) return candidate
  }
  return base
}

/** The schedule as it is sent: with its type, without the additional fields that a job shows. */
export function plainSchedule(shown: ScheduleObject): ScheduleObject {
  const { next_run_at, last_run_at, runs, ...schedule } = shown as ScheduleObject & Record<string, unknown>
  return { ...schedule, type: typeOf(schedule) }
}

function candidatesOf(stored: ScheduleObject, base: ScheduleForm): ScheduleForm[] {
  const found = [everyFormOf(stored, base), timesFormOf(stored.cron_expression, base)]
  return found.filter((form) => form !== null)
}

/** The fields that every kind has, and the raw text of its own. */
function optionsFormOf(stored: ScheduleObject): ScheduleForm {
  const kinds = { IMMEDIATE: 'now', ONE_TIME: 'once', CRON: 'cron', INTERVAL: 'interval' } as const
  return {
    ...blankSchedule,
    kind: kinds[typeOf(stored)],
    cron: stored.cron_expression ?? blankSchedule.cron,
    interval:
      stored.interval ??
      (stored.every_seconds === undefined ? blankSchedule.interval : `PT${stored.every_seconds}S`),
    once: stored.scheduled_time ?? '',
    timezone: stored.timezone ?? '',
    startAt: stored.start_at ?? '',
    endAt: stored.end_at ?? '',
    maxRuns: stored.max_runs === undefined ? '' : String(stored.max_runs),
    exclusions: (stored.exclusions ?? []).map(exclusionLine).join('\n'),
    dstGap: stored.dst_gap ?? '',
    dstFold: stored.dst_fold ?? '',
    afterCompletion: stored.after_completion === true,
  }
}

function typeOf(stored: ScheduleObject): 'IMMEDIATE' | 'ONE_TIME' | 'CRON' | 'INTERVAL' {
  if (stored.type !== undefined) return stored.type
  if (stored.cron_expression !== undefined) return 'CRON'
  return stored.scheduled_time === undefined ? 'INTERVAL' : 'ONE_TIME'
}

function everyFormOf(stored: ScheduleObject, base: ScheduleForm): ScheduleForm | null {
  if (stored.every_seconds !== undefined) {
    const seconds = stored.every_seconds
    const unit = seconds % 3_600 === 0 ? 'hours' : seconds % 60 === 0 ? 'minutes' : 'seconds'
    return { ...base, kind: 'every', unit, every: String(seconds / unitSeconds[unit]!) }
  }
  const calendar = /^P(\d+)([DWM])$/.exec(stored.interval ?? '')
  if (calendar === null) return null
  const unit = EVERY_UNITS.find((name) => unitLetters[name] === calendar[2])!
  return { ...base, kind: 'every', unit, every: calendar[1]! }
}

/** `M H * * *` with lists of numbers, days of the week, or days of the month; null: something else. */
export function timesFormOf(
  cron: string | undefined,
  base: ScheduleForm = blankSchedule,
): ScheduleForm | null {
  const fields = (cron ?? '').split(' ')
  if (fields.length !== 5 || fields[3] !== '*') return null
  const [minuteText, hourText, monthDays, , weekdayText] = fields as [string, string, string, string, string]
  const minutes = numbersOf(minuteText, 59)
  const hours = numbersOf(hourText, 23)
  if (minutes === null || hours === null) return null
  const times = hours.flatMap((hour) => minutes.map((minute) => `${pad(hour)}:${pad(minute)}`)).join(', ')
  const form = { ...base, kind: 'times', times } as const
  if (monthDays === '*' && weekdayText === '*') return { ...form, pattern: 'daily' }
  if (monthDays === '*') {
    const weekdays = weekdaysOf(weekdayText)
    return weekdays === null ? null : { ...form, pattern: 'weekly', weekdays }
  }
  if (weekdayText !== '*' || !/^(\d{1,2}|L)(,(\d{1,2}|L))*$/.test(monthDays)) return null
  return { ...form, pattern: 'monthly', monthDays: monthDays.replaceAll(',', ', ') }
}

function writeSchedule(form: ScheduleForm): string | ScheduleObject | undefined {
  if (form.kind === 'after') return undefined
  if (form.kind === 'now') return { type: 'IMMEDIATE' }
  if (form.kind === 'text') return needed(form.text, 'text', 'Write when it shall run.')
  const options = writeOptions(form)
  if (form.kind === 'once') {
    return { type: 'ONE_TIME', scheduled_time: needed(form.once, 'once', 'Say when.'), ...options }
  }
  if (form.kind === 'cron' || form.kind === 'times') {
    const cron = form.kind === 'cron' ? needed(form.cron, 'cron', 'Write a cron expression.') : cronOf(form)
    return { type: 'CRON', cron_expression: cron, ...options }
  }
  const after = form.afterCompletion ? { after_completion: true } : {}
  if (form.kind === 'interval') {
    const interval = needed(form.interval, 'interval', 'Write an ISO 8601 interval.')
    return { type: 'INTERVAL', interval, ...options, ...after }
  }
  const count = wholeNumber(form.every, 'every', 'How often? A whole number from 1.')
  const letter = unitLetters[form.unit]
  const length =
    letter === undefined
      ? { every_seconds: count * unitSeconds[form.unit]! }
      : { interval: `P${count}${letter}` }
  return { type: 'INTERVAL', ...length, ...options, ...after }
}

function writeOptions(form: ScheduleForm): ScheduleObject {
  const exclusions = form.exclusions.split('\n').filter((line) => line.trim() !== '')
  return {
    ...(form.timezone !== '' && { timezone: form.timezone }),
    ...(form.startAt.trim() !== '' && { start_at: form.startAt.trim() }),
    ...(form.endAt.trim() !== '' && { end_at: form.endAt.trim() }),
    ...(form.maxRuns.trim() !== '' && {
      max_runs: wholeNumber(form.maxRuns, 'maxRuns', 'A whole number from 1, or nothing.'),
    }),
    ...(exclusions.length > 0 && { exclusions: exclusions.map(exclusionOf) }),
    ...(form.dstGap !== '' && { dst_gap: form.dstGap as 'run_after' | 'skip' }),
    ...(form.dstFold !== '' && { dst_fold: form.dstFold as 'first' | 'both' }),
  }
}

function cronOf(form: ScheduleForm): string {
  const { minutes, hours } = crossOf(form.times)
  const time = `${minutes.join(',')} ${hours.join(',')}`
  if (form.pattern === 'daily') return `${time} * * *`
  if (form.pattern === 'weekly') {
    if (form.weekdays.length === 0) throw new FieldMistake('weekdays', 'Choose a day of the week.')
    return `${time} * * ${weekdayField(form.weekdays)}`
  }
  const days = form.monthDays
    .split(/[\s,]+/)
    .filter((day) => day !== '')
    .map((day) => day.toUpperCase())
  const isDay = (day: string) => day === 'L' || (/^\d+$/.test(day) && Number(day) >= 1 && Number(day) <= 31)
  if (days.length === 0 || !days.every(isDay)) {
    throw new FieldMistake('monthDays', 'Days from 1 to 31, or L for the last, parted by commas.')
  }
  return `${time} ${days.join(',')} * *`
}

/** One cron can have several times only if every one of its hours goes with every one of its minutes. */
function crossOf(text: string): { minutes: number[]; hours: number[] } {
  const times = text.split(/[\s,]+/).filter((time) => time !== '')
  const parsed = times.map((time) => {
    const match = /^(\d{1,2}):(\d{2})$/.exec(time)
    const hour = Number(match?.[1])
    const minute = Number(match?.[2])
    if (match === null || hour > 23 || minute > 59) {
      throw new FieldMistake('times', `"${time}" is not a time of day such as 09:00.`)
    }
    return { hour, minute }
  })
  if (parsed.length === 0) throw new FieldMistake('times', 'Give a time, such as 09:00.')
  const minutes = ascending(parsed.map(({ minute }) => minute))
  const hours = ascending(parsed.map(({ hour }) => hour))
  const distinct = new Set(parsed.map(({ hour, minute }) => hour * 60 + minute))
  if (distinct.size !== minutes.length * hours.length) {
    throw new FieldMistake(
      'times',
      'One schedule cannot have these times: all must have the same minutes. Make a job for each.',
    )
  }
  return { minutes, hours }
}

function exclusionOf(line: string): NonNullable<ScheduleObject['exclusions']>[number] {
  const text = line.trim()
  const calendar = /^calendar\s+(\S+)$/.exec(text)
  if (calendar !== null) return { calendar: calendar[1]! }
  const range = /^(\S+)\s+to\s+(\S+)$/.exec(text)
  if (range !== null) return { from: range[1]!, to: range[2]! }
  if (/^\S+$/.test(text)) return { date: text }
  throw new FieldMistake('exclusions', `"${text}" is not a day, "A to B" or "calendar NAME".`)
}

function exclusionLine(exclusion: NonNullable<ScheduleObject['exclusions']>[number]): string {
  if (exclusion.calendar !== undefined) return `calendar ${exclusion.calendar}`
  return exclusion.date ?? `${exclusion.from} to ${exclusion.to}`
}

class FieldMistake extends Error {
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

function needed(text: string, field: string, message: string): string {
  if (text.trim() === '') throw new FieldMistake(field, message)
  return text.trim()
}

function wholeNumber(text: string, field: string, message: string): number {
  if (!/^\d{1,12}$/.test(text.trim()) || Number(text) < 1) throw new FieldMistake(field, message)
  return Number(text)
}

function numbersOf(field: string, max: number): number[] | null {
  const parts = field.split(',')
  if (parts.length > 24 || !parts.every((part) => /^\d{1,2}$/.test(part) && Number(part) <= max)) return null
  return parts.map(Number)
}

function weekdaysOf(field: string): number[] | null {
  const days = field.split(',').map((part) => {
    const match = /^([0-7])(?:-([0-7]))?$/.exec(part)
    if (match === null) return null
    const first = Number(match[1])
    const last = Number(match[2] ?? first)
    return last < first ? null : Array.from({ length: last - first + 1 }, (_, index) => (first + index) % 7)
  })
  return days.some((part) => part === null) ? null : ascending(days.flatMap((part) => part ?? []))
}

function weekdayField(days: readonly number[]): string {
  const sorted = ascending(days)
  const isRun = sorted.length > 2 && sorted.at(-1)! - sorted[0]! === sorted.length - 1
  return isRun ? `${sorted[0]}-${sorted.at(-1)}` : sorted.join(',')
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b)
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}

// The order of fields does not matter, that of lists does.
function sameSchedule(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
