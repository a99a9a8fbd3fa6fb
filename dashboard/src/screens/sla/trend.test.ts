// Activity as a trend.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityItem } from '@carillon/contract/activity.ts'
import { beginOf, formatRate, readWindow, trendOf } from './trend.ts'

const nowMs = Date.parse('2026-11-17T12:00:30Z')

function item(at: string, given: Partial<ActivityItem>): ActivityItem {
  return {
    at,
    succeeded: 0,
    failed: 0,
    timed_out: 0,
    cancelled: 0,
    skipped: 0,
    retries: 0,
    dead_letters: 0,
    duration_ms_sum: 0,
    duration_ms_max: 0,
    started: 0,
    within_1s: 0,
    within_5s: 0,
    late_ms_max: 0,
    ...given,
  }
}

test('an hour has a place for every minute, and a minute in which nothing began has no share', () => {
  const trend = trendOf(
    [item('2026-11-17T11:59:00Z', { started: 4, within_1s: 3, within_5s: 4, succeeded: 4 })],
    '1h',
    nowMs,
  )
  assert.equal(trend.times.length, 60)
  assert.equal(trend.within1s.at(-2), 75)
  assert.equal(trend.within5s.at(-2), 100)
  assert.equal(trend.within1s.at(-1), null)
  assert.equal(trend.succeeded.at(-2), 4)
})

test('minutes of a day are added up to ten minutes each', () => {
  const trend = trendOf(
    [
      item('2026-11-17T11:51:00Z', { succeeded: 1, started: 1, within_1s: 1 }),
      item('2026-11-17T11:59:00Z', { succeeded: 2, failed: 1, started: 3, within_1s: 0 }),
    ],
    '24h',
    nowMs,
  )
  assert.equal(trend.succeeded.at(-2), 3)
  assert.equal(trend.failed.at(-2), 1)
  assert.equal(trend.within1s.at(-2), 25)
})

test('executions outside the window are not counted', () => {
  const trend = trendOf([item('2026-11-16T10:00:00Z', { succeeded: 9 })], '1h', nowMs)
  assert.equal(
    trend.succeeded.reduce((sum, count) => sum + count, 0),
    0,
  )
})

test('the window begins at a whole bucket and is never longer than it says, and an unknown one is a day', () => {
  assert.equal(new Date(beginOf('30d', nowMs)).toISOString(), '2026-10-18T18:00:00.000Z')
  assert.equal(readWindow('1h'), '1h')
  assert.equal(readWindow('1y'), '24h')
  assert.equal(readWindow(undefined), '24h')
})

test('rates have as many digits as can be read', () => {
  assert.deepEqual([0, 0.001, 0.4333, 9.5, 12.54, 1204.6].map(formatRate), [
    '0',
    '< 0.01',
    '0.43',
    '9.5',
    '12.5',
    '1,205',
  ])
})
