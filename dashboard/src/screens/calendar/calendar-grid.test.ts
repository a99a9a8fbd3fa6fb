import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hourMs } from '../../lib/units.ts'
import {
  addUp,
  aheadOf,
  calendarsOn,
  countIn,
  dateOf,
  daysOf,
  hoursOf,
  sayCounts,
  stepDate,
} from './calendar-grid.ts'

test('a week begins on Monday, a month is shown in whole weeks, a day is alone', () => {
  const dates = (view: 'day' | 'week' | 'month', date: string) =>
    daysOf(view, date, 'UTC').map((day) => day.date)
  assert.deepEqual(dates('day', '2026-11-17'), ['2026-11-17'])
  assert.deepEqual(
    [dates('week', '2026-11-22')[0], dates('week', '2026-11-22').at(-1)],
    ['2026-11-16', '2026-11-22'],
  )
  const november = daysOf('month', '2026-11-17', 'UTC')
  assert.deepEqual(
    [november.length, november[0]?.date, november.at(-1)?.date],
    [42, '2026-10-26', '2026-12-06'],
  )
  assert.deepEqual([november[0]?.isOutside, november[7]?.isOutside], [true, false])
  assert.equal(daysOf('month', '2027-02-10', 'UTC').length, 28)
})

test('days follow each other without a gap, also where the clock changes', () => {
  for (const clock of ['UTC', 'local'] as const) {
    const days = daysOf('month', '2026-03-15', clock)
    for (const [index, day] of days.entries()) {
      if (index > 0) assert.equal(day.fromMs, days[index - 1]!.toMs)
      assert.equal(hoursOf(day).at(-1)?.toMs, day.toMs)
    }
  }
})

test('before and after are a day, a week or a month away', () => {
  assert.equal(stepDate('day', '2026-12-31', 1), '2027-01-01')
  assert.equal(stepDate('week', '2026-11-17', -1), '2026-11-10')
  assert.equal(stepDate('month', '2026-12-31', 1), '2027-01-01')
  assert.equal(stepDate('month', '2027-01-15', -1), '2026-12-01')
  assert.equal(dateOf(Date.parse('2026-11-17T23:59:00Z'), 'UTC'), '2026-11-17')
})

const [day] = daysOf('day', '2026-11-17', 'UTC')
const hours = hoursOf(day!)

test('ended and future executions are counted in their hour, and others outside the day are not', () => {
  const past = [
    { at: '2026-11-17T00:00:00Z', succeeded: 2, failed: 1, timed_out: 1 },
    { at: '2026-11-16T23:00:00Z', succeeded: 9, failed: 9, timed_out: 9 },
  ]
  const ahead = [
    { atMs: Date.parse('2026-11-17T23:59:59Z'), count: 3 },
    { atMs: Date.parse('2026-11-18T00:00:00Z'), count: 7 },
  ]
  const counts = countIn(hours, past, ahead)
  assert.deepEqual(
    [counts.length, counts[0], counts[23]],
    [24, { ok: 2, bad: 2, ahead: 0, isAbout: false }, { ok: 0, bad: 0, ahead: 3, isAbout: false }],
  )
  assert.equal(sayCounts(addUp(counts)), '2 succeeded, 2 failed, 3 to come')
  assert.equal(sayCounts(addUp([])), 'nothing')
})

test('of a job that runs oftener than a preview tells the rest is reckoned and said to be', () => {
  const fromMs = day!.fromMs
  const slots = Array.from({ length: 100 }, (_, index) => fromMs + index * 60_000)
  const counts = countIn(hours, [], aheadOf(slots, 100, fromMs + 4 * hourMs))
  assert.deepEqual(counts[0], { ok: 0, bad: 0, ahead: 60, isAbout: false })
  assert.equal(counts[2]?.isAbout, true)
  assert.deepEqual(
    counts.slice(0, 5).map(({ ahead }) => ahead),
    [60, 60, 60, 60, 0],
  )
  assert.deepEqual(aheadOf(slots.slice(0, 3), 100, day!.toMs).length, 3)
  assert.deepEqual(aheadOf([], 100, day!.toMs), [])
})

test('a day is in a calendar by its date or by a range that has it', () => {
  const calendars = [
    { name: 'holidays', entries: [{ date: '2026-10-03' }, { from: '2026-12-24', to: '2026-12-26' }] },
    { name: 'freeze', entries: [{ from: '2026-12-25T10:00', to: '2026-12-25T12:00' }] },
  ]
  assert.deepEqual(calendarsOn('2026-12-25', calendars), ['holidays', 'freeze'])
  assert.deepEqual(calendarsOn('2026-12-27', calendars), [])
})
