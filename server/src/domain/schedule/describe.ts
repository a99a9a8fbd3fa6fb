// English out: every schedule says in one sentence when it runs. Written from the parsed sets, not from the text,
// so that it is right about steps that do not divide, either-or of the two day fields, and zones.
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import { twoDigits } from './civil.ts'
import type { CronFields } from './cron.ts'
import { describeDays, joinList, MONTHS, runsOf } from './describe-days.ts'
import { type Duration, parseInterval } from './interval.ts'
import { membersOf } from './shortest-gap.ts'

interface Described {
  definition: ScheduleObject
  /** The parsed cron; null for any other type. */
  fields: CronFields | null
  /** The zone's own spelling. */
  zone: string
}

const timesMax = 6
const exclusionsSaidMax = 3

export function describeSchedule({ definition, fields, zone }: Described): string {
  const { type, start_at, end_at, max_runs, exclusions, after_completion } = definition
  const parts: string[] = []
  if (type === 'IMMEDIATE') parts.push('once, now')
  else if (type === 'ONE_TIME') parts.push(`once, at ${definition.scheduled_time}`)
  else if (fields !== null) parts.push(`${describeCron(fields)}, ${zone === 'UTC' ? 'UTC' : `${zone} time`}`)
  else parts.push(describeInterval(definition, zone))
  if (after_completion === true) parts.push('counted from the end of the last execution')
  if (start_at !== undefined) parts.push(`from ${start_at}`)
  if (end_at !== undefined) parts.push(`until ${end_at}`)
  if (max_runs !== undefined) parts.push(`at most ${max_runs} ${max_runs === 1 ? 'run' : 'runs'}`)
  if (exclusions !== undefined && exclusions.length > 0) {
    const more = exclusions.length - exclusionsSaidMax
    const first = exclusions.slice(0, exclusionsSaidMax).map(describeExclusion)
    parts.push(`except ${joinList(more > 0 ? [...first, `${more} more`] : first)}`)
  }
  const sentence = parts.join(', ')
  return `${sentence[0]!.toUpperCase()}${sentence.slice(1)}.`
}

export function describeCron(fields: CronFields): string {
  const days = describeDays(fields)
  const { phrase, daily } = describeTimes(fields)
  const when = days === '' ? (daily ? ' every day' : '') : ` ${days}`
  const months = membersOf(fields.months, 0)
  const inMonths = months.length === 12 ? '' : ` in ${joinList(months.map((month) => MONTHS[month - 1]!))}`
  return `${phrase}${when}${inMonths}${describeYears(fields.years)}`
}

/** `daily` when the phrase names times of a day, so that "every day" completes it. */
function describeTimes(fields: CronFields): { phrase: string; daily: boolean } {
  const seconds = membersOf(fields.secondLow, fields.secondHigh)
  const minutes = membersOf(fields.minuteLow, fields.minuteHigh)
  const hours = membersOf(fields.hours, 0)
  const allHours = hours.length === 24
  if (seconds.length === 1 && minutes.length * hours.length <= timesMax && !allHours) {
    const times = hours.flatMap((hour) => minutes.map((minute) => writeTime(hour, minute, seconds[0]!)))
    return { phrase: `at ${joinList(times)}`, daily: true }
  }
  const within = describeHours(hours)
  if (seconds.length > 1) {
    const every = everyStep(seconds, 60, 'second')
    const ofMinutes = minutes.length === 60 ? '' : ` during ${plural(minutes, 'minute')} of each hour`
    return {
      phrase: `${every ?? `at ${plural(seconds, 'second')} of each minute`}${ofMinutes}${within}`,
      daily: false,
    }
  }
  const atSecond = seconds[0] === 0 ? '' : ` at second ${seconds[0]}`
  const every = everyStep(minutes, 60, 'minute')
  if (every !== null && minutes.length > 1) return { phrase: `${every}${atSecond}${within}`, daily: false }
  const past =
    minutes.length === 1
      ? `:${twoDigits(minutes[0]!)}`
      : joinList(minutes.map((minute) => `:${twoDigits(minute)}`))
  const hourStep = everyStep(hours, 24, 'hour')
  if (hourStep !== null) return { phrase: `${hourStep} at ${past}${atSecond}`, daily: false }
  return { phrase: `at ${past}${atSecond} of each hour${within}`, daily: false }
}

/** ` from 09:00 to 16:59` for neighbouring hours (over midnight too), else the hours one by one. */
function describeHours(hours: number[]): string {
  if (hours.length === 24) return ''
  const starts = hours.filter((hour) => !hours.includes((hour + 23) % 24))
  if (starts.length === 1) {
    const last = (starts[0]! + hours.length - 1) % 24
    return ` from ${twoDigits(starts[0]!)}:00 to ${twoDigits(last)}:59`
  }
  return ` in the ${hours.length === 1 ? 'hour' : 'hours'} starting ${joinList(hours.map((hour) => `${twoDigits(hour)}:00`))}`
}

/** "every 5 minutes", only if the step goes evenly round: 0, 45 is not every 45 minutes. */
function everyStep(values: number[], size: number, unit: string): string | null {
  if (values.length === size) return `every ${unit}`
  if (values.length < 2 || values[0] !== 0) return null
  const step = values[1]!
  const even = values.length === size / step && values.every((value, i) => value === i * step)
  return even ? `every ${step} ${unit}s` : null
}

function plural(values: number[], unit: string): string {
  return `${unit}${values.length === 1 ? '' : 's'} ${joinList(runsOf(values, String))}`
}

function describeYears(years: Uint8Array | null): string {
  if (years === null) return ''
  const listed = [...years.keys()].filter((i) => years[i] === 1).map((i) => i + 1970)
  const first = listed[0]!
  const last = listed.at(-1)!
  if (listed.length > 2 && last - first === listed.length - 1) return ` in ${first} to ${last}`
  if (listed.length > 12)
    return ` in ${listed.slice(0, 3).join(', ')} and ${listed.length - 3} more years up to ${last}`
  return ` in ${joinList(listed.map(String))}`
}

function describeInterval(definition: ScheduleObject, zone: string): string {
  const { interval, every_seconds } = definition
  if (interval === undefined)
    return `every ${describeDuration({ months: 0, days: 0, seconds: every_seconds ?? 0 })}`
  const parsed = parseInterval(interval)
  if (!parsed.ok) return `every ${interval}`
  const { duration, repetitions, start } = parsed.value
  const counted = duration.months + duration.days > 0 ? ` on the clock of ${zone}` : ''
  const from = start === null ? '' : `, at ${start.text}`
  const more = start === null ? '' : ' more'
  const times =
    repetitions === null ? '' : ` and ${repetitions === 1 ? 'once' : `${repetitions} times`}${more}`
  return `every ${describeDuration(duration)}${counted}${from}${times}`
}

function describeDuration({ months, days, seconds }: Duration): string {
  const units: [number, string][] = [
    [Math.floor(months / 12), 'year'],
    [months % 12, 'month'],
    [days % 7 === 0 ? days / 7 : 0, 'week'],
    [days % 7 === 0 ? 0 : days, 'day'],
    [Math.floor(seconds / 3600), 'hour'],
    [Math.floor(seconds / 60) % 60, 'minute'],
    [seconds % 60, 'second'],
  ]
  const said = units.filter(([count]) => count > 0)
  if (said.length === 1 && said[0]![0] === 1) return said[0]![1]
  return joinList(said.map(([count, unit]) => `${count} ${unit}${count === 1 ? '' : 's'}`))
}

function describeExclusion(one: NonNullable<ScheduleObject['exclusions']>[number]): string {
  if ('date' in one) return one.date
  if ('calendar' in one) return `calendar ${one.calendar}`
  return `${one.from} to ${one.to}`
}

function writeTime(hour: number, minute: number, second: number): string {
  return `${twoDigits(hour)}:${twoDigits(minute)}${second === 0 ? '' : `:${twoDigits(second)}`}`
}
