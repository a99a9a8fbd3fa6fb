// The phrases of a sentence to one schedule: cron where cron says it exactly, an interval where it does not
// ("every 90 minutes", "every other week"), a refusal where it would take two schedules.
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import { type EpochMs, toRfc3339 } from '../../../lib/time/epoch.ts'
import { twoDigits } from '../civil.ts'
import { parseCron } from '../cron.ts'
import { compileCron } from '../cron-pattern.ts'
import { nextSlot } from '../next-run.ts'
import { type Result, refuse } from '../schedule-error.ts'
import { findZone } from '../zone.ts'
import type { EnglishContext, Sentence } from './english.ts'
import type { TimeOfDay, Unit } from './words.ts'

export function buildSchedule(
  sentence: Sentence,
  text: string,
  context: EnglishContext,
): Result<ScheduleObject> {
  const { every, times, window, minutesPast } = sentence
  const unit = every?.unit ?? 'day'
  const short = unit === 'second' || unit === 'minute' || unit === 'hour'
  if (!short && window !== null) return unclear('"between" needs "every so many minutes" or "every hour".')
  if (short && times.length > 0) {
    return unclear(`"every ${unit}" and a time of day do not go together; say between which hours.`)
  }
  if (minutesPast.length > 0 && unit !== 'hour') return unclear('Minutes past the hour need "every hour".')
  if (short) return buildShort(sentence, every!.count, unit)
  if (every !== null && every.count > 1) return buildCalendar(sentence, every.count, every.unit, context)
  const clock = clockFields(times, sentence, text)
  if (!clock.ok) return clock
  const days = dayFields(sentence, unit)
  return days.ok ? cron(`${clock.value} ${days.value}`, sentence.zone) : days
}

function buildShort(sentence: Sentence, count: number, unit: Unit): Result<ScheduleObject> {
  const size = unit === 'hour' ? 24 : 60
  const restricted = hasDays(sentence) || sentence.window !== null || sentence.minutesPast.length > 0
  if (size % count !== 0) {
    // 24 hours are no multiple of 5: as cron it would stumble at midnight, so it is an interval.
    if (!restricted) return interval(`PT${count}${unit[0]!.toUpperCase()}`, sentence.zone)
    return unclear(
      `Every ${count} ${unit}s does not divide ${unit === 'hour' ? 'a day' : `an ${unit === 'minute' ? 'hour' : 'minute'}`}, so it cannot be tied to hours or days.`,
    )
  }
  const days = dayFields(sentence, 'day')
  if (!days.ok) return days
  const step = count === 1 ? '*' : `*/${count}`
  const hours = windowHours(sentence, unit, count)
  if (!hours.ok) return hours
  if (unit === 'second') return cron(`${step} * ${hours.value} ${days.value}`, sentence.zone)
  if (unit === 'minute') return cron(`${step} ${hours.value} ${days.value}`, sentence.zone)
  const minutes = sentence.minutesPast.length === 0 ? '0' : sortedList(sentence.minutesPast)
  return cron(`${minutes} ${hours.value} ${days.value}`, sentence.zone)
}

/** The hour field. Runs every few minutes end before the window's end; runs on the hour include it. */
function windowHours(sentence: Sentence, unit: Unit, count: number): Result<string> {
  const step = unit === 'hour' && count > 1 ? `/${count}` : ''
  if (sentence.window === null) return { ok: true, value: step === '' ? '*' : `*${step}` }
  const { from, to } = sentence.window
  if (from.minute !== 0 || to.minute !== 0) return unclear('"between" takes whole hours.')
  if (to.hour <= from.hour && !from.explicit && !to.explicit && to.hour !== 0) {
    const hint = `between ${from.hour}:00 and ${to.hour + 12}:00`
    return unclear(`"between ${from.hour} and ${to.hour}" has two readings; write am and pm, or ${hint}.`)
  }
  const onTheHour = unit === 'hour' && sentence.minutesPast.every((minute) => minute === 0)
  const last = onTheHour ? to.hour : (to.hour + 23) % 24
  return { ok: true, value: last === from.hour ? `${from.hour}` : `${from.hour}-${last}${step}` }
}

/** Minute and hour fields, if the times are all combinations of their minutes and hours. */
function clockFields(times: TimeOfDay[], sentence: Sentence, text: string): Result<string> {
  if (times.length === 0) return { ok: true, value: '0 0' }
  const hours = [...new Set(times.map((time) => time.hour))]
  const minutes = [...new Set(times.map((time) => time.minute))]
  const different = new Set(times.map((time) => time.hour * 60 + time.minute)).size
  if (hours.length * minutes.length === different) {
    return { ok: true, value: `${sortedList(minutes)} ${sortedList(hours)}` }
  }
  const span = sentence.timesSpan!
  const suggestions = minutes.map((minute) => {
    const group = times.filter((time) => time.minute === minute).map(writeTime)
    return `${text.slice(0, span.from)}${group.join(' and ')}${text.slice(span.to)}`.trim()
  })
  const message = `This takes ${minutes.length === 2 ? 'two' : minutes.length} schedules, because one cron would also run at the other combinations: make a job of each.`
  return refuse('ENGLISH_NEEDS_TWO_SCHEDULES', message, { position: span.from, suggestions })
}

/** Day of month, month and day of week. */
function dayFields(sentence: Sentence, unit: Unit): Result<string> {
  const { weekdays, dayTerms, weekdayTerms, months } = sentence
  const weekdayList = [...(weekdays.size > 0 ? [listWeekdays(weekdays)] : []), ...weekdayTerms].join(',')
  const monthList = months.size === 0 ? '*' : sortedList([...months])
  let dayList = [...new Set(dayTerms)].join(',')
  const mixed = mixedDays(sentence, unit)
  if (mixed !== null) return mixed
  if (unit === 'week' && weekdayList === '' && dayList === '') return { ok: true, value: `* ${monthList} 0` }
  if (unit === 'week' && dayList !== '') return unclear('A week has no days of the month.')
  if (dayList === '' && weekdayList === '' && (unit === 'month' || unit === 'quarter' || unit === 'year'))
    dayList = '1'
  if (unit === 'year' && months.size === 0 && (dayTerms.length > 0 || weekdayList !== '')) {
    return unclear('Once a year needs the month.')
  }
  if (unit === 'quarter' && months.size > 0) return unclear('A quarter already says which months.')
  const inMonths =
    unit === 'quarter' ? quarterMonths(sentence) : unit === 'year' && months.size === 0 ? '1' : monthList
  // "in January" with nothing else does not say which days; "every day in January" does.
  if (months.size > 0 && dayList === '' && weekdayList === '' && sentence.every === null) {
    return unclear('Say which days of the month, or "every day".')
  }
  return { ok: true, value: `${dayList || '*'} ${inMonths} ${weekdayList || '*'}` }
}

/** Days that one cron would read otherwise than the sentence does. */
function mixedDays(sentence: Sentence, unit: Unit): Result<never> | null {
  const { weekdays, dayTerms, weekdayTerms, ownDays, dayOfBoth } = sentence
  if (ownDays && new Set([...weekdays, ...dayTerms, ...weekdayTerms]).size > 1) {
    const message =
      'Months with days of their own take a schedule each, because one cron would run on every combination.'
    return refuse('ENGLISH_NEEDS_TWO_SCHEDULES', message, { position: 0 })
  }
  if (dayOfBoth) {
    return unclear(
      'Join the days with "and" if either is meant; if both at once, write cron with +: "0 0 13 * +FRI".',
    )
  }
  if (weekdays.size > 0 && weekdayTerms.length > 0)
    return unclear('Say of each weekday which one of the month is meant.')
  if (weekdays.size > 0 && (unit === 'month' || unit === 'quarter')) {
    return unclear(`Say which one of the ${unit}: "first monday of the month".`)
  }
  const terms = [...dayTerms, ...weekdayTerms]
  const lasts = terms.filter((term) => term.includes('L')).length
  if (unit === 'quarter' && lasts > 0 && lasts < terms.length)
    return unclear('The first and the last month of a quarter do not mix.')
  return null
}

/** A quarter begins in January, April, July and October; its last day is in March, June, September and December. */
function quarterMonths({ dayTerms, weekdayTerms }: Sentence): string {
  return [...dayTerms, ...weekdayTerms].some((term) => term.includes('L')) ? '3,6,9,12' : '1,4,7,10'
}

/** Every n days, weeks, months or years: an interval; a given day or time decides where its grid begins. */
function buildCalendar(
  sentence: Sentence,
  count: number,
  unit: Unit,
  context: EnglishContext,
): Result<ScheduleObject> {
  const { weekdays, dayTerms, weekdayTerms, months, times } = sentence
  if (
    weekdayTerms.length > 0 ||
    weekdays.size > 1 ||
    dayTerms.length > 1 ||
    months.size > 1 ||
    times.length > 1
  ) {
    return unclear(`Every ${count} ${unit}s takes one day and one time.`)
  }
  if (dayTerms.some((term) => !/^\d+$/.test(term)))
    return unclear(`Every ${count} ${unit}s takes a day with a number.`)
  const fits = {
    day: 0,
    week: weekdays.size,
    month: dayTerms.length,
    year: dayTerms.length + months.size,
    quarter: 0,
  }
  const given = weekdays.size + dayTerms.length + months.size
  if (given !== (fits[unit as keyof typeof fits] ?? 0))
    return unclear(`Every ${count} ${unit}s cannot be tied to such a day.`)
  const letter = unit === 'quarter' ? 'M' : unit[0]!.toUpperCase()
  const duration = `P${unit === 'quarter' ? count * 3 : count}${letter}`
  if (given === 0 && times.length === 0) return interval(duration, sentence.zone)
  const time = times[0] ?? { hour: 0, minute: 0 }
  const day = dayTerms[0] ?? (unit === 'year' || unit === 'quarter' ? '1' : '*')
  const month = months.size > 0 ? [...months][0] : '*'
  const weekday = weekdays.size > 0 ? [...weekdays][0] : '*'
  const fields = parseCron(`${time.minute} ${time.hour} ${day} ${month} ${weekday}`)
  const zone = findZone(sentence.zone ?? context.timezone ?? 'UTC')
  if (!fields.ok) return fields
  if (!zone.ok) return zone
  // A first run that a clock change moves would move all that follow; the grid begins at one that exists.
  const first = compileCron(fields.value, zone.value, { dstGap: 'skip', dstFold: undefined })
  if (!first.ok) return first
  const start = nextSlot(first.value, context.createdAt) as EpochMs
  const built = interval(duration, sentence.zone)
  return built.ok ? { ok: true, value: { ...built.value, start_at: toRfc3339(start) } } : built
}

function hasDays({ weekdays, dayTerms, weekdayTerms, months }: Sentence): boolean {
  return weekdays.size + dayTerms.length + weekdayTerms.length + months.size > 0
}

function cron(expression: string, zone: string | null): Result<ScheduleObject> {
  return withZone({ type: 'CRON', cron_expression: expression }, zone)
}

function interval(duration: string, zone: string | null): Result<ScheduleObject> {
  return withZone({ type: 'INTERVAL', interval: duration }, zone)
}

function withZone(schedule: ScheduleObject, zone: string | null): Result<ScheduleObject> {
  return { ok: true, value: zone === null ? schedule : { ...schedule, timezone: zone } }
}

function unclear(message: string): Result<never> {
  return refuse('ENGLISH_NOT_UNDERSTOOD', message, { position: 0 })
}

function sortedList(values: number[]): string {
  return [...new Set(values)].sort((a, b) => a - b).join(',')
}

function listWeekdays(weekdays: Set<number>): string {
  const list = sortedList([...weekdays])
  return list === '1,2,3,4,5' ? '1-5' : list === '0,1,2,3,4,5,6' ? '*' : list
}

function writeTime({ hour, minute }: TimeOfDay): string {
  return `${twoDigits(hour)}:${twoDigits(minute)}`
}
