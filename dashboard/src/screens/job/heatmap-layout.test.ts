import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DayCount, dayAt, firstDayMs, layOutYear, monthTotals, sayDay } from './heatmap-layout.ts'

const today = Date.parse('2026-11-17T15:00:00Z') // a Tuesday

function count(date: string, succeeded: number, failed = 0, timed_out = 0): DayCount {
  return { at: `${date}T00:00:00Z`, succeeded, failed, timed_out }
}

test('the year has 53 columns from a Monday on and ends with the present day', () => {
  const { days } = layOutYear([], today)
  assert.equal(new Date(firstDayMs(today)).toISOString(), '2025-11-17T00:00:00.000Z')
  assert.deepEqual([days[0]?.date, days[0]?.week, days[0]?.weekday], ['2025-11-17', 0, 0])
  assert.deepEqual([days.at(-1)?.date, days.at(-1)?.week, days.at(-1)?.weekday], ['2026-11-17', 52, 1])
  assert.equal(new Set(days.map(({ date }) => date)).size, days.length)
})

test('a Sunday ends a full column and a Monday begins one', () => {
  assert.equal(layOutYear([], Date.parse('2026-11-22T23:59:59Z')).days.length, 53 * 7)
  assert.equal(layOutYear([], Date.parse('2026-11-23T00:00:00Z')).days.length, 52 * 7 + 1)
})

test('the colour of a day follows its volume relative to the busiest day and its share of failures', () => {
  const year = layOutYear(
    [count('2026-11-15', 1), count('2026-11-16', 900, 50, 50), count('2026-11-17', 300)],
    today,
  )
  const [one, busiest, now] = year.days.slice(-3)
  assert.deepEqual([one?.level, busiest?.level, now?.level], [1, 4, 3])
  assert.deepEqual([one?.badShare, busiest?.badShare], [0, 0.1])
  assert.deepEqual([year.ran, year.bad, year.busiest?.date], [1_301, 100, '2026-11-16'])
})

test('a day is found by its place, and outside of the year is none', () => {
  const year = layOutYear([count('2026-11-17', 2, 1)], today)
  assert.equal(dayAt(year, 52, 1)?.date, '2026-11-17')
  assert.equal(dayAt(year, 52, 2), null)
  assert.equal(dayAt(year, -1, 3), null)
  assert.equal(dayAt(year, 3, 7), null)
  assert.equal(sayDay(dayAt(year, 52, 1)!), '2026-11-17: 3 ended, 1 failed')
})

test('months are named where they begin, and never over each other', () => {
  const { months } = layOutYear([], today)
  assert.equal(months.at(-1)?.name, 'Nov')
  assert.ok(months.length >= 11 && months.length <= 13)
  for (const [index, month] of months.entries()) {
    if (index > 0) assert.ok(month.week - months[index - 1]!.week >= 3)
  }
})

test('the months in which something ran are told in numbers', () => {
  const year = layOutYear([count('2026-10-31', 3), count('2026-11-01', 1, 1), count('2026-11-17', 2)], today)
  assert.deepEqual(monthTotals(year), [
    { month: '2026-10', ok: 3, bad: 0 },
    { month: '2026-11', ok: 3, bad: 1 },
  ])
})
