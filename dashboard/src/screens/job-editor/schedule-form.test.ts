import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import { blankSchedule, formOf, type ScheduleForm, scheduleOf } from './schedule-form.ts'

const stored: ScheduleObject[] = [
  { type: 'INTERVAL', every_seconds: 300 },
  { type: 'INTERVAL', every_seconds: 90, after_completion: true },
  { type: 'INTERVAL', every_seconds: 7_200 },
  { type: 'INTERVAL', interval: 'P2W', timezone: 'Europe/London', start_at: '2026-11-20T09:00:00Z' },
  { type: 'INTERVAL', interval: 'PT1H30M' },
  { type: 'INTERVAL', interval: 'R10/2026-01-01T00:00:00Z/PT1H' },
  { type: 'CRON', cron_expression: '0 10 * * *', timezone: 'America/New_York' },
  { type: 'CRON', cron_expression: '30 9,17 * * 1-5' },
  { type: 'CRON', cron_expression: '00 9 * * MON' },
  { type: 'CRON', cron_expression: '0 9 * * 1,2,3,4,5' },
  { type: 'CRON', cron_expression: '0 6 1,15,L * *', dst_gap: 'skip', dst_fold: 'both' },
  { type: 'CRON', cron_expression: '@daily', max_runs: 10 },
  { type: 'CRON', cron_expression: '*/5 9-16 * * 1-5' },
  { type: 'CRON', cron_expression: '0 0 13 * +FRI' },
  { type: 'ONE_TIME', scheduled_time: '2027-01-01T00:00:00', timezone: 'Europe/Berlin' },
  { type: 'ONE_TIME', scheduled_time: '2027-01-01T00:00:00Z' },
  {
    type: 'CRON',
    cron_expression: '0 9 * * 1-5',
    exclusions: [{ date: '2026-10-03' }, { from: '2026-12-24', to: '2026-12-26' }, { calendar: 'holidays' }],
  },
  { type: 'IMMEDIATE' },
]

for (const schedule of stored) {
  test(`a stored schedule that nobody touched is sent as it was: ${JSON.stringify(schedule)}`, () => {
    assert.deepEqual(scheduleOf(formOf(schedule)).schedule, schedule)
  })
}

test('the builder knows daily, weekly and monthly times and plain intervals again', () => {
  const kindOf = (schedule: ScheduleObject) => {
    const { kind, pattern, times, every, unit } = formOf(schedule)
    return kind === 'every' ? `${kind} ${every} ${unit}` : kind === 'times' ? `${pattern} ${times}` : kind
  }
  assert.deepEqual(stored.map(kindOf), [
    'every 5 minutes',
    'every 90 seconds',
    'every 2 hours',
    'every 2 weeks',
    'interval',
    'interval',
    'daily 10:00',
    'weekly 09:30, 17:30',
    'cron',
    'cron',
    'monthly 06:00',
    'cron',
    'cron',
    'cron',
    'once',
    'once',
    'weekly 09:00',
    'now',
  ])
})

const times = (change: Partial<ScheduleForm>): ScheduleForm => ({
  ...blankSchedule,
  kind: 'times',
  ...change,
})

test('times of day become one cron where one cron can say them', () => {
  const cronOf = (form: ScheduleForm) => (scheduleOf(form).schedule as ScheduleObject).cron_expression
  assert.equal(cronOf(times({ times: '9:00' })), '0 9 * * *')
  assert.equal(cronOf(times({ times: '17:30, 09:30' })), '30 9,17 * * *')
  assert.equal(cronOf(times({ times: '09:00 09:30' })), '0,30 9 * * *')
  assert.equal(cronOf(times({ pattern: 'weekly', weekdays: [5, 1] })), '0 9 * * 1,5')
  assert.equal(cronOf(times({ pattern: 'weekly', weekdays: [3, 1, 2] })), '0 9 * * 1-3')
  assert.equal(cronOf(times({ pattern: 'monthly', monthDays: '1, l' })), '0 9 1,L * *')
})

test('an impossible schedule or an invalid time or day is refused at its field', () => {
  const fieldOf = (form: ScheduleForm) => {
    const read = scheduleOf(form)
    return read.error === null ? null : read.field
  }
  assert.equal(fieldOf(times({ times: '09:00, 17:30' })), 'times')
  assert.equal(fieldOf(times({ times: '25:00' })), 'times')
  assert.equal(fieldOf(times({ times: '' })), 'times')
  assert.equal(fieldOf(times({ pattern: 'weekly', weekdays: [] })), 'weekdays')
  assert.equal(fieldOf(times({ pattern: 'monthly', monthDays: '32' })), 'monthDays')
  assert.equal(fieldOf({ ...blankSchedule, every: '0' }), 'every')
  assert.equal(fieldOf({ ...blankSchedule, maxRuns: 'many' }), 'maxRuns')
  assert.equal(fieldOf({ ...blankSchedule, exclusions: 'a b c' }), 'exclusions')
  assert.equal(fieldOf({ ...blankSchedule, kind: 'cron', cron: ' ' }), 'cron')
})

test('a job that runs after others sends no schedule, and a text is sent as it is', () => {
  assert.deepEqual(scheduleOf({ ...blankSchedule, kind: 'after' }), { schedule: undefined, error: null })
  assert.equal(formOf(null).kind, 'after')
  assert.equal(
    scheduleOf({ ...blankSchedule, kind: 'text', text: ' weekdays at 9 ' }).schedule,
    'weekdays at 9',
  )
})
