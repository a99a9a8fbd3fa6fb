// A schedule in few words, for lists. A schedule without a short form is shown as its own text; a preview tells the
// rest.
import type { Job } from '@carillon/contract/job.ts'
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import { formOf, type ScheduleForm, timesFormOf } from '../job-editor/schedule-form.ts'

const weekdayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const macros: Readonly<Record<string, string>> = {
  '@hourly': 'every hour',
  '@daily': 'every day at 00:00',
  '@midnight': 'every day at 00:00',
  '@weekly': 'Sundays at 00:00',
  '@monthly': 'day 1 of the month at 00:00',
  '@yearly': '1 January at 00:00',
  '@annually': '1 January at 00:00',
}

/** `isText`: it is the expression itself, to be shown as code. */
export interface ScheduleWords {
  words: string
  isText: boolean
  /** Null: no zone matters. */
  zone: string | null
}

export function scheduleWords(job: Pick<Job, 'schedule' | 'depends_on'>): ScheduleWords {
  if (job.depends_on.length > 0) {
    const count = job.depends_on.length
    return { words: `after ${count === 1 ? '1 job' : `${count} jobs`}`, isText: false, zone: null }
  }
  if (job.schedule === null) return { words: 'only when triggered', isText: false, zone: null }
  return wordsOf(job.schedule)
}

export function wordsOf(schedule: ScheduleObject): ScheduleWords {
  const zone = schedule.timezone ?? 'UTC'
  if (schedule.type === 'IMMEDIATE') return { words: 'once, at once', isText: false, zone: null }
  if (schedule.scheduled_time !== undefined) {
    return { words: `once, at ${schedule.scheduled_time}`, isText: false, zone: schedule.timezone ?? null }
  }
  if (schedule.cron_expression !== undefined) return cronWords(schedule.cron_expression, zone)
  const form = formOf(schedule)
  const words = form.kind === 'every' ? everyWords(Number(form.every), form.unit) : form.interval
  const hasDays = form.kind === 'every' && unitsOnClock.includes(form.unit)
  const suffix = schedule.after_completion === true ? ' after the end of the last' : ''
  return { words: `${words}${suffix}`, isText: form.kind !== 'every', zone: hasDays ? zone : null }
}

const unitsOnClock: readonly string[] = ['days', 'weeks', 'months']

function cronWords(cron: string, zone: string): ScheduleWords {
  const known = macros[cron] ?? stepWords(cron)
  if (known !== undefined) return { words: known, isText: false, zone }
  const form = timesFormOf(cron)
  if (form === null) return { words: cron, isText: true, zone }
  return { words: `${daysWords(form)} at ${form.times}`, isText: false, zone }
}

/** Steps that divide an hour or a day evenly; others do not come at the same distance. */
function stepWords(cron: string): string | undefined {
  const seconds = /^\*\/(\d+) \* \* \* \* \*$/.exec(cron)
  const minutes = /^\*\/(\d+) \* \* \* \*$/.exec(cron)
  const hours = /^(\d+) \*\/(\d+) \* \* \*$/.exec(cron)
  if (cron === '* * * * *') return 'every minute'
  if (cron === '* * * * * *') return 'every second'
  if (seconds !== null && 60 % Number(seconds[1]) === 0) return everyWords(Number(seconds[1]), 'seconds')
  if (minutes !== null && 60 % Number(minutes[1]) === 0) return everyWords(Number(minutes[1]), 'minutes')
  if (hours !== null && 24 % Number(hours[2]) === 0) {
    return `${everyWords(Number(hours[2]), 'hours')}${hours[1] === '0' ? '' : ` at minute ${hours[1]}`}`
  }
  const minute = /^(\d+) \* \* \* \*$/.exec(cron)
  if (minute !== null) return minute[1] === '0' ? 'every hour' : `every hour at minute ${minute[1]}`
  return undefined
}

function everyWords(count: number, unit: string): string {
  return count === 1 ? `every ${unit.slice(0, -1)}` : `every ${count} ${unit}`
}

function daysWords(form: ScheduleForm): string {
  if (form.pattern === 'daily') return 'every day'
  if (form.pattern === 'monthly') {
    const days = form.monthDays.replace('L', 'last')
    return `day ${days} of the month`
  }
  const days = form.weekdays
  if (days.join() === '1,2,3,4,5') return 'Monday to Friday'
  if (days.join() === '0,6') return 'Saturday and Sunday'
  if (days.length === 1) return `${weekdayNames[days[0]!]}s`
  return days.map((day) => weekdayNames[day]!.slice(0, 3)).join(', ')
}
