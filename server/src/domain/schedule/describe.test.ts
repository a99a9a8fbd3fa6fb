import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCron } from './cron.ts'
import { describeCron, describeSchedule } from './describe.ts'

const sentences: [string, string][] = [
  ['*/5 * * * *', 'every 5 minutes'],
  ['* * * * *', 'every minute'],
  ['*/45 * * * *', 'every hour at :00 and :45'],
  ['0 * * * *', 'every hour at :00'],
  ['0 */2 * * *', 'every 2 hours at :00'],
  ['0 */5 * * *', 'at 00:00, 05:00, 10:00, 15:00 and 20:00 every day'],
  ['0 10 * * *', 'at 10:00 every day'],
  ['0 9,17 * * 1-5', 'at 09:00 and 17:00 on Monday to Friday'],
  ['*/15 9-16 * * 1-5', 'every 15 minutes from 09:00 to 16:59 on Monday to Friday'],
  ['*/10 22-1 * * *', 'every 10 minutes from 22:00 to 01:59'],
  ['30 1 1 * *', 'at 01:30 on day 1 of the month'],
  ['0 0 13 * FRI', 'at 00:00 on day 13 of the month, or on Friday'],
  ['0 0 13 * +FRI', 'at 00:00 on day 13 of the month, but only if that is also on Friday'],
  ['0 0 L * *', 'at 00:00 on the last day of the month'],
  ['0 0 L-3 * *', 'at 00:00 on 3 days before the last day of the month'],
  [
    '0 0 15W,LW * *',
    'at 00:00 on the weekday nearest to day 15 of the month and the last weekday (Monday to Friday) of the month',
  ],
  ['0 30 1 * * SUN#1', 'at 01:30 on the first Sunday of the month'],
  ['0 0 * * FRIL', 'at 00:00 on the last Friday of the month'],
  ['0 0 1-5,10 1,7 *', 'at 00:00 on days 1 to 5 and 10 of the month in January and July'],
  ['0 0 */10 * *', 'at 00:00 on days 1, 11, 21 and 31 of the month'],
  ['30 15 10 * * *', 'at 10:15:30 every day'],
  ['*/20 * 9 * * *', 'every 20 seconds from 09:00 to 09:59'],
  ['0 0 0 1 1 ? 2027-2030', 'at 00:00 on day 1 of the month in January in 2027 to 2030'],
  ['0 0 * * 0-7', 'at 00:00 on every day of the week'],
]

for (const [text, wanted] of sentences) {
  test(`${text} reads "${wanted}"`, () => {
    const fields = parseCron(text)
    assert.ok(fields.ok)
    assert.equal(describeCron(fields.value), wanted)
  })
}

test('intervals, bounds and zones are said too', () => {
  const say = (definition: Parameters<typeof describeSchedule>[0]['definition'], zone = 'UTC') =>
    describeSchedule({ definition, fields: null, zone })
  assert.equal(say({ type: 'INTERVAL', interval: 'PT90M' }), 'Every 1 hour and 30 minutes.')
  assert.equal(
    say({ type: 'INTERVAL', interval: 'P1M' }, 'Europe/London'),
    'Every month on the clock of Europe/London.',
  )
  assert.equal(
    say({ type: 'INTERVAL', interval: 'R10/2026-01-01T00:00:00Z/PT1H' }),
    'Every hour, at 2026-01-01T00:00:00Z and 10 times more.',
  )
  assert.equal(
    say({
      type: 'INTERVAL',
      every_seconds: 60,
      after_completion: true,
      max_runs: 1,
      exclusions: [{ date: '2026-12-25' }],
    }),
    'Every minute, counted from the end of the last execution, at most 1 run, except 2026-12-25.',
  )
  assert.equal(say({ type: 'IMMEDIATE' }), 'Once, now.')
  const days = Array.from({ length: 100 }, (_, i) => ({ date: `2026-01-${10 + (i % 20)}` }))
  assert.equal(
    say({ type: 'INTERVAL', every_seconds: 5, exclusions: days }),
    'Every 5 seconds, except 2026-01-10, 2026-01-11, 2026-01-12 and 97 more.',
  )
})
