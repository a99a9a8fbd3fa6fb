// The day half of a description: days of the month, days of the week, and how the two go together.
import type { CronFields } from './cron.ts'

export const MONTHS: readonly string[] = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
export const WEEKDAYS: readonly string[] = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
]
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth']

/** Empty when every day matches. */
export function describeDays(fields: CronFields): string {
  if (fields.dayStar && fields.weekdayStar) return ''
  const days = fields.dayStar ? '' : `on ${joinList(describeMonthDays(fields))}`
  const weekdays = fields.weekdayStar ? '' : `on ${joinList(describeWeekdays(fields))}`
  if (days === '' || weekdays === '') return days + weekdays
  return fields.bothDays ? `${days}, but only if that is also ${weekdays}` : `${days}, or ${weekdays}`
}

export function joinList(items: string[]): string {
  if (items.length < 2) return items.join()
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

function describeMonthDays(fields: CronFields): string[] {
  const said: string[] = []
  const days = bits(fields.days).map((bit) => bit + 1)
  if (days.length === 1) said.push(`day ${days[0]} of the month`)
  else if (days.length > 1) said.push(`days ${joinList(runsOf(days, String))} of the month`)
  for (const bit of bits(fields.lastDays)) {
    said.push(
      bit === 0 ? 'the last day of the month' : `${count(bit, 'day')} before the last day of the month`,
    )
  }
  for (const bit of bits(fields.nearestWeekdays))
    said.push(`the weekday nearest to day ${bit + 1} of the month`)
  for (const bit of bits(fields.lastNearestWeekdays)) {
    said.push(
      bit === 0
        ? 'the last weekday (Monday to Friday) of the month'
        : `the weekday nearest to ${count(bit, 'day')} before the last day of the month`,
    )
  }
  return said
}

function describeWeekdays(fields: CronFields): string[] {
  const said: string[] = []
  const plain = bits(fields.weekdays)
  if (plain.join() === '1,2,3,4,5') said.push('Monday to Friday')
  else if (plain.length === 7) said.push('every day of the week')
  else said.push(...plain.map((day) => WEEKDAYS[day]!))
  for (const bit of bits(fields.nthWeekdays)) {
    said.push(`the ${ORDINALS[Math.floor(bit / 7)]} ${WEEKDAYS[bit % 7]} of the month`)
  }
  for (const bit of bits(fields.endWeekdays)) {
    said.push(`the ${bit < 7 ? 'fifth' : 'last'} ${WEEKDAYS[bit % 7]} of the month`)
  }
  return said
}

/** 1, 2, 3, 7 becomes "1 to 3", "7". */
export function runsOf(values: number[], write: (value: number) => string): string[] {
  const runs: string[] = []
  for (let i = 0; i < values.length; i++) {
    const from = i
    while (values[i + 1] === values[i]! + 1) i++
    if (i - from >= 2) runs.push(`${write(values[from]!)} to ${write(values[i]!)}`)
    else for (let j = from; j <= i; j++) runs.push(write(values[j]!))
  }
  return runs
}

function bits(mask: number): number[] {
  const found: number[] = []
  for (let bit = 0; bit < 31; bit++) if ((mask >>> bit) & 1) found.push(bit)
  return found
}

function count(value: number, unit: string): string {
  return `${value} ${unit}${value === 1 ? '' : 's'}`
}
