import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import { wordsOf } from './schedule-words.ts'

const cases: [ScheduleObject, string, string | null][] = [
  [{ cron_expression: '0 10 * * *', timezone: 'America/New_York' }, 'every day at 10:00', 'America/New_York'],
  [{ cron_expression: '30 9 * * 1-5' }, 'Monday to Friday at 09:30', 'UTC'],
  [{ cron_expression: '0 9 * * 1' }, 'Mondays at 09:00', 'UTC'],
  [{ cron_expression: '0 9 1,L * *' }, 'day 1, last of the month at 09:00', 'UTC'],
  [{ cron_expression: '*/10 * * * * *' }, 'every 10 seconds', 'UTC'],
  [{ cron_expression: '*/5 * * * *' }, 'every 5 minutes', 'UTC'],
  [{ cron_expression: '0 */2 * * *' }, 'every 2 hours', 'UTC'],
  [{ cron_expression: '50 */3 * * *' }, 'every 3 hours at minute 50', 'UTC'],
  [{ cron_expression: '@hourly' }, 'every hour', 'UTC'],
  [{ every_seconds: 60 }, 'every minute', null],
  [{ interval: 'P1D', timezone: 'Europe/Berlin' }, 'every day', 'Europe/Berlin'],
  [{ every_seconds: 600, after_completion: true }, 'every 10 minutes after the end of the last', null],
]

for (const [schedule, words, zone] of cases) {
  test(`${JSON.stringify(schedule)} reads "${words}"`, () => {
    assert.deepEqual(wordsOf(schedule), { words, isText: false, zone })
  })
}

test('a schedule without a short form is shown as its own text', () => {
  assert.deepEqual(wordsOf({ cron_expression: '*/45 * * * *' }), {
    words: '*/45 * * * *',
    isText: true,
    zone: 'UTC',
  })
  assert.deepEqual(wordsOf({ interval: 'PT1H30M' }), { words: 'PT1H30M', isText: true, zone: null })
})
