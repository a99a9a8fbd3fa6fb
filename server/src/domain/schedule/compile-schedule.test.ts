import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCHEDULE_TYPES } from '@carillon/contract/constants.ts'
import { at, compiled, cron, refusal, runsAfter } from '../../../test/schedule/list-runs.ts'
import { compileSchedule, compileStored } from './compile-schedule.ts'
import { calendarNames, checkEntries } from './exclusions.ts'
import { jitterMs, jitterSecondsMax } from './jitter.ts'
import { isExcluded, nextSlot } from './next-run.ts'
import { shortestGapSeconds } from './shortest-gap.ts'

const context = { createdAt: at('2026-01-01T00:00:00.500Z') }

test('equal expressions in one zone share one compiled form', () => {
  const one = compiled(cron('0 10 * * *', 'Europe/London'))
  assert.equal(compiled(cron('0 10 * * *', 'europe/london')), one)
  assert.notEqual(compiled(cron('0 10 * * *', 'Europe/Paris')), one)
  assert.notEqual(compiled({ ...cron('0 10 * * *', 'Europe/London'), dst_fold: 'both' }), one)
})

test('jobs with H share the forms that their hashes come to', () => {
  const forms = new Set(
    Array.from({ length: 1_000 }, (_, i) => compiled(cron('H * * * *'), { jobId: `job-${i}` })),
  )
  assert.ok(forms.size <= 60, `${forms.size} forms`)
})

test('a text is echoed as the object it became', () => {
  const echo = (input: unknown) => {
    const answer = compileSchedule(input, context)
    assert.ok(answer.ok, JSON.stringify(answer))
    return answer.value.definition
  }
  assert.deepEqual(echo(' 0 10 * * * '), { type: 'CRON', cron_expression: '0 10 * * *' })
  assert.deepEqual(echo('@daily'), { type: 'CRON', cron_expression: '@daily' })
  assert.deepEqual(echo('PT5M'), { type: 'INTERVAL', interval: 'PT5M' })
  assert.deepEqual(echo('@every 5m'), { type: 'INTERVAL', every_seconds: 300 })
  assert.deepEqual(echo('@every P1M'), { type: 'INTERVAL', interval: 'P1M' })
  assert.deepEqual(echo({ cron_expression: '0 0 * * *', timezone: 'us/eastern' }), {
    type: 'CRON',
    cron_expression: '0 0 * * *',
    timezone: 'US/Eastern',
  })
  assert.deepEqual(echo({ every_seconds: 5, after_completion: true }), {
    type: 'INTERVAL',
    every_seconds: 5,
    after_completion: true,
  })
})

test('IMMEDIATE is the creation second and ONE_TIME its time, never early', () => {
  const now = compileSchedule({ type: 'IMMEDIATE' }, context)
  assert.ok(now.ok)
  assert.equal(nextSlot(now.value.compiled, at('2025-01-01T00:00:00Z')), at('2026-01-01T00:00:00Z'))
  const once = (scheduled_time: string, timezone?: string) =>
    runsAfter(
      { type: 'ONE_TIME', scheduled_time, ...(timezone ? { timezone } : {}) },
      '2020-01-01T00:00:00Z',
      5,
    )
  assert.deepEqual(once('2026-05-01T10:00:00+02:00'), ['2026-05-01T08:00:00Z'])
  assert.deepEqual(once('2026-05-01T10:00:00.000Z'), ['2026-05-01T10:00:00Z'])
  assert.deepEqual(once('2026-03-08T02:30:00', 'America/New_York'), ['2026-03-08T07:00:00Z'])
  assert.deepEqual(once('2026-11-01T01:30:00', 'America/New_York'), ['2026-11-01T05:30:00Z'])
  assert.equal(refusal({ type: 'ONE_TIME', scheduled_time: '2026-05-01T10:00:00' }).code, 'BAD_INSTANT')
  assert.equal(refusal({ type: 'ONE_TIME' }).field, 'scheduled_time')
})

test('every type may carry bounds and exclusions', () => {
  const once = { type: 'ONE_TIME', scheduled_time: '2026-05-01T10:00:00Z' }
  assert.equal(refusal({ ...once, end_at: '2026-04-01T00:00:00Z' }).code, 'NEVER_MATCHES')
  const skipped = compiled({ ...once, exclusions: [{ date: '2026-05-01' }] })
  assert.equal(isExcluded(skipped, at('2026-05-01T10:00:00Z')), true)
  assert.equal(compiled({ type: 'IMMEDIATE', max_runs: 1 }).bounds?.maxRuns, 1)
})

test('wrong objects are refused by the name of the field', () => {
  const cases: [unknown, string, string | null][] = [
    [null, 'BAD_OPTION', 'schedule'],
    [[], 'BAD_OPTION', 'schedule'],
    [7, 'BAD_OPTION', 'schedule'],
    [{}, 'BAD_OPTION', 'type'],
    [{ type: 'WEEKLY' }, 'BAD_OPTION', 'type'],
    [{ type: { toString: 1 } }, 'BAD_OPTION', 'type'],
    [JSON.parse('{"cron_expression":"* * * * *","__proto__":1}'), 'UNKNOWN_FIELD', '__proto__'],
    [{ ...cron('* * * * *'), max_runs: { valueOf: 1 } }, 'BAD_OPTION', 'max_runs'],
    [{ ...cron('* * * * *'), exclusions: [null] }, 'BAD_OPTION', 'exclusions/0'],
    [{ ...cron('* * * * *'), exclusions: [{ date: 5 }] }, 'BAD_OPTION', 'exclusions/0'],
    [{ type: 'CRON' }, 'BAD_OPTION', 'cron_expression'],
    [{ type: 'CRON', cron_expression: 5 }, 'BAD_OPTION', 'cron_expression'],
    [{ type: 'CRON', cron_expression: '* * * * *', interval: 'PT5M' }, 'UNKNOWN_FIELD', 'interval'],
    [{ cron_expression: '* * * * *', surprise: 1 }, 'UNKNOWN_FIELD', 'surprise'],
    [{ type: 'INTERVAL' }, 'BAD_OPTION', 'interval'],
    [{ interval: 'PT5M', every_seconds: 5 }, 'BAD_OPTION', 'every_seconds'],
    [{ every_seconds: 0 }, 'BAD_OPTION', 'every_seconds'],
    [{ every_seconds: 1.5 }, 'BAD_OPTION', 'every_seconds'],
    [{ ...cron('* * * * *'), max_runs: 0 }, 'BAD_OPTION', 'max_runs'],
    [{ ...cron('* * * * *'), dst_gap: 'later' }, 'BAD_OPTION', 'dst_gap'],
    [{ ...cron('* * * * *'), dst_fold: true }, 'BAD_OPTION', 'dst_fold'],
    [{ ...cron('* * * * *'), start_at: 'tomorrow' }, 'BAD_INSTANT', 'start_at'],
    [
      { ...cron('* * * * *'), start_at: '2027-01-01T00:00:00Z', end_at: '2026-01-01T00:00:00Z' },
      'BAD_OPTION',
      'end_at',
    ],
    [{ ...cron('* * * * *'), exclusions: {} }, 'BAD_OPTION', 'exclusions'],
    [{ ...cron('* * * * *'), exclusions: [{ day: '2026-01-01' }] }, 'BAD_OPTION', 'exclusions/0'],
    [{ ...cron('* * * * *'), exclusions: [{ date: '2026-02-30' }] }, 'BAD_INSTANT', 'exclusions/0/date'],
    [
      { ...cron('* * * * *'), exclusions: [{ from: '2026-02-02', to: '2026-02-01' }] },
      'BAD_OPTION',
      'exclusions/0/to',
    ],
    [
      { ...cron('* * * * *'), exclusions: [{ date: '2026-01-01' }, { from: 'x', to: '2026-01-02' }] },
      'BAD_INSTANT',
      'exclusions/1/from',
    ],
    [
      { ...cron('* * * * *'), exclusions: ['a', 'b', 'c', 'd', 'e'].map((calendar) => ({ calendar })) },
      'BAD_OPTION',
      'exclusions',
    ],
    [{ interval: 'R9/PT1H', after_completion: true }, 'BAD_OPTION', 'interval'],
    [{ interval: 'R/2026-01-01T00:00:00Z/PT1H', after_completion: true }, 'BAD_OPTION', 'interval'],
    [{ ...cron('* * * * *'), after_completion: true }, 'UNKNOWN_FIELD', 'after_completion'],
    [
      { ...cron('* * * * *'), exclusions: new Array(101).fill({ date: '2026-01-01' }) },
      'BAD_OPTION',
      'exclusions',
    ],
    [cron('* * * * *', 'Mars/Olympus'), 'UNKNOWN_ZONE', 'timezone'],
  ]
  for (const [input, code, field] of cases) {
    const error = refusal(input)
    assert.deepEqual([error.code, error.field], [code, field], JSON.stringify(input))
  }
})

test('calendars that are handed in are all there are; without them every name stands for nothing', () => {
  const naming = (...names: string[]) => ({
    ...cron('0 12 * * *'),
    exclusions: names.map((calendar) => ({ calendar })),
  })
  const day = at('2026-12-25T12:00:00Z')
  const calendars = { holidays: [{ date: '2026-12-25' }] }
  assert.equal(isExcluded(compiled(naming('holidays'), { calendars }), day), true)
  assert.equal(isExcluded(compiled(naming('holidays', 'nope')), day), false)
  for (const name of ['nope', '__proto__']) {
    const error = refusal(naming('holidays', name), { calendars })
    assert.deepEqual([error.code, error.field], ['UNKNOWN_CALENDAR', 'exclusions/1/calendar'])
  }
  assert.deepEqual(calendarNames(naming('b', 'a', 'b')), ['a', 'b'])
  assert.equal(calendarNames({ exclusions: [{ date: '2026-12-25' }] }), null)
  assert.equal(calendarNames(cron('0 12 * * *')), null)
})

test('a window of a calendar that comes to nothing in a zone is empty, not a refusal', () => {
  // 02:10 to 02:20 does not exist in New York on that day; and 09:00Z comes after 10:00 in Tokyo.
  const entries = [
    { from: '2026-03-08T02:10:00', to: '2026-03-08T02:20:00' },
    { from: '2026-01-01T00:00:00Z', to: '2026-01-01T05:00:00Z' },
    { from: '2026-01-01T09:00:00Z', to: '2026-01-01T10:00:00' },
    { from: '2026-01-01T12:00:00Z', to: '2026-01-01T14:00:00Z' },
  ]
  assert.equal(checkEntries(entries), null)
  const excludedHours = (zone: string) => {
    const schedule = { ...cron('0 * * * *', zone), exclusions: [{ calendar: 'a' }] }
    const one = compiled(schedule, { calendars: { a: entries } })
    return Array.from({ length: 16 }, (_, hour) => hour).filter((hour) =>
      isExcluded(one, at(new Date(Date.UTC(2026, 0, 1, hour)).toISOString())),
    )
  }
  assert.deepEqual(excludedHours('America/New_York'), [0, 1, 2, 3, 4, 9, 10, 11, 12, 13, 14])
  assert.deepEqual(excludedHours('Asia/Tokyo'), [0, 1, 2, 3, 4, 12, 13])
})

test('entries of a calendar are refused by their place', () => {
  const cases: [unknown, string, string][] = [
    [{ date: '2026-13-01' }, 'BAD_INSTANT', 'entries/1/date'],
    [{ from: '2026-01-01', to: 'later' }, 'BAD_INSTANT', 'entries/1/to'],
    [{ from: '2026-01-02', to: '2026-01-01' }, 'BAD_OPTION', 'entries/1/to'],
    [{ from: '2026-01-02' }, 'BAD_OPTION', 'entries/1'],
    [{ date: '2026-01-01', from: '2026-01-01' }, 'BAD_OPTION', 'entries/1'],
    [{ calendar: 'other' }, 'BAD_OPTION', 'entries/1'],
  ]
  for (const [entry, code, field] of cases) {
    const error = checkEntries([{ date: '2026-01-01' }, entry])
    assert.deepEqual([error?.code, error?.field], [code, field], JSON.stringify(entry))
  }
})

test('a schedule that its own bounds leave empty is refused', () => {
  const empty = { ...cron('0 0 29 2 *'), start_at: '2025-01-01T00:00:00Z', end_at: '2027-01-01T00:00:00Z' }
  assert.equal(refusal(empty).code, 'NEVER_MATCHES')
  // The one time it names does not exist, and it may not run after the gap.
  const skipped = { ...cron('0 30 2 8 3 ? 2026', 'America/New_York'), dst_gap: 'skip' }
  assert.equal(refusal(skipped).code, 'NEVER_MATCHES')
})

test('jitter is the same for one job and slot, differs between jobs, and stays below its limit', () => {
  const slot = at('2026-06-01T00:00:00Z')
  const waits = Array.from({ length: 1_000 }, (_, i) => jitterMs(`job-${i}`, slot, 60))
  assert.ok(waits.every((wait) => wait >= 0 && wait < 60_000))
  assert.ok(new Set(waits).size > 900)
  assert.equal(jitterMs('job-1', slot, 60), waits[1])
  assert.notEqual(jitterMs('job-1', at('2026-06-01T00:00:01Z'), 60), waits[1])
  assert.equal(jitterMs('job-1', slot, 0), 0)
  assert.ok(jitterMs('job-1', slot, jitterSecondsMax) < jitterSecondsMax * 1000)
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length
  assert.ok(mean > 27_000 && mean < 33_000, `mean ${mean}`)
})

test('the least time between two slots is known without walking them', () => {
  for (const [text, seconds] of [
    ['* * * * * *', 1],
    ['*/7 * * * * *', 4],
    ['0,59 * * * * *', 1],
    ['0,50 0,59 * * * *', 10],
    ['0,59 0,1 5 * * *', 1],
    ['* * * * *', 60],
    ['*/45 * * * *', 900],
    ['0,59 * * * *', 60],
    ['0 * * * *', 3_600],
    ['0 9,17 * * *', 28_800],
    ['0 0 * * *', 86_400],
    ['0 0 * * 1', 604_800],
    ['0 0 1,15 * *', 1_209_600],
    ['59 23,0 * * *', 3_600],
  ] as const) {
    assert.equal(shortestGapSeconds(compiled(cron(text))), seconds, text)
  }
  assert.equal(shortestGapSeconds(compiled('PT90S')), 90)
  assert.equal(shortestGapSeconds(compiled({ type: 'IMMEDIATE' })), Number.POSITIVE_INFINITY)
  assert.equal(SCHEDULE_TYPES.length, 4)
})

test('a time with a fraction of a second is refused by name, and one that is stored rounds up', () => {
  const schedule = { type: 'ONE_TIME', scheduled_time: '2026-05-01T10:00:00.250Z' } as const
  const { code, field, message } = refusal(schedule)
  assert.deepEqual([code, field], ['BAD_INSTANT', 'scheduled_time'])
  assert.match(message, /has a fraction of a second, and jobs run at whole seconds/)
  const stored = compileStored({ schedule, anchorAt: context.createdAt, jobId: 'a' })
  assert.equal(nextSlot(stored!, context.createdAt), at('2026-05-01T10:00:01Z'))
})
