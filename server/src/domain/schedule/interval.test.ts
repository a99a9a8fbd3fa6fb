import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, compiled, refusal, runsAfter, runsBefore } from '../../../test/schedule/list-runs.ts'
import { parseDuration } from './interval.ts'
import { countSlots } from './next-run.ts'

test('an interval without a start runs first one interval after the job was created', () => {
  assert.deepEqual(runsAfter('PT5M', '2025-01-01T00:00:00Z', 2), [
    '2026-01-01T00:05:00Z',
    '2026-01-01T00:10:00Z',
  ])
  assert.deepEqual(runsAfter({ every_seconds: 90 }, '2026-01-01T00:00:00Z', 2), [
    '2026-01-01T00:01:30Z',
    '2026-01-01T00:03:00Z',
  ])
})

test('an interval keeps to the grid of its start, however late it is asked', () => {
  const schedule = { interval: 'PT7H', start_at: '2026-01-01T01:00:00Z' }
  assert.deepEqual(runsAfter(schedule, '2025-01-01T00:00:00Z', 2), [
    '2026-01-01T01:00:00Z',
    '2026-01-01T08:00:00Z',
  ])
  const late = runsAfter(schedule, '2031-05-05T12:34:56Z', 1)[0]!
  assert.equal((at(late) - at('2026-01-01T01:00:00Z')) % 25_200_000, 0)
})

test('R10 is the start and ten times more', () => {
  const runs = runsAfter('R10/2026-01-01T00:00:00Z/PT1H', '2025-01-01T00:00:00Z', 99)
  assert.equal(runs.length, 11)
  assert.deepEqual([runs[0], runs[10]], ['2026-01-01T00:00:00Z', '2026-01-01T10:00:00Z'])
  assert.deepEqual(runsAfter('R0/2026-01-01T00:00:00Z/PT1H', '2025-01-01T00:00:00Z', 9), [
    '2026-01-01T00:00:00Z',
  ])
  assert.equal(runsAfter('R/2026-01-01T00:00:00Z/PT1H', '2025-01-01T00:00:00Z', 99).length, 99)
  assert.equal(runsAfter('R3/PT1H', '2025-01-01T00:00:00Z', 99).length, 3)
})

test('P1M from the 31st clamps to the end of the month and does not drift', () => {
  const monthly = { interval: 'P1M', start_at: '2027-12-31T10:00:00Z' }
  assert.deepEqual(runsAfter(monthly, '2027-12-01T00:00:00Z', 5), [
    '2027-12-31T10:00:00Z',
    '2028-01-31T10:00:00Z',
    '2028-02-29T10:00:00Z',
    '2028-03-31T10:00:00Z',
    '2028-04-30T10:00:00Z',
  ])
  assert.deepEqual(runsBefore(monthly, '2028-04-01T00:00:00Z', 2), [
    '2028-03-31T10:00:00Z',
    '2028-02-29T10:00:00Z',
  ])
  const leap = { interval: 'P1Y', start_at: '2024-02-29T00:00:00Z' }
  assert.deepEqual(runsAfter(leap, '2024-03-01T00:00:00Z', 4), [
    '2025-02-28T00:00:00Z',
    '2026-02-28T00:00:00Z',
    '2027-02-28T00:00:00Z',
    '2028-02-29T00:00:00Z',
  ])
})

test('P1D keeps its time of day across a clock change, PT24H does not', () => {
  const daily = { interval: 'P1D', start_at: '2026-03-07T02:30:00-05:00', timezone: 'America/New_York' }
  assert.deepEqual(runsAfter(daily, '2026-03-01T00:00:00Z', 3), [
    '2026-03-07T07:30:00Z',
    '2026-03-08T07:00:00Z',
    '2026-03-09T06:30:00Z',
  ])
  assert.deepEqual(runsAfter({ ...daily, dst_gap: 'skip' }, '2026-03-07T12:00:00Z', 1), [
    '2026-03-09T06:30:00Z',
  ])
  assert.deepEqual(runsAfter({ ...daily, interval: 'PT24H' }, '2026-03-07T12:00:00Z', 2), [
    '2026-03-08T07:30:00Z',
    '2026-03-09T07:30:00Z',
  ])
})

test('a daily interval runs once in a repeated hour, twice if asked to', () => {
  const daily = { interval: 'P1D', start_at: '2026-10-30T01:30:00', timezone: 'America/New_York' }
  assert.deepEqual(runsAfter(daily, '2026-10-31T12:00:00Z', 2), [
    '2026-11-01T05:30:00Z',
    '2026-11-02T06:30:00Z',
  ])
  assert.deepEqual(runsAfter({ ...daily, dst_fold: 'both' }, '2026-10-31T12:00:00Z', 2), [
    '2026-11-01T05:30:00Z',
    '2026-11-01T06:30:00Z',
  ])
})

test('a start in the second pass of a repeated hour is never run early', () => {
  const daily = { interval: 'P1D', start_at: '2026-11-01T06:30:00Z', timezone: 'America/New_York' }
  assert.deepEqual(runsAfter(daily, '2026-10-01T00:00:00Z', 1), ['2026-11-02T06:30:00Z'])
})

test('intervals are counted without walking them', () => {
  const range = { from: at('2026-01-01T00:00:00Z'), to: at('2027-01-01T00:00:00Z') }
  assert.equal(
    countSlots(compiled({ every_seconds: 1, start_at: '2026-01-01T00:00:00Z' }), range),
    31_536_000,
  )
  assert.equal(countSlots(compiled({ interval: 'P1M', start_at: '2020-01-31T00:00:00Z' }), range), 12)
  assert.equal(countSlots(compiled('R5/2026-12-31T23:59:58Z/PT1S'), range), 2)
})

test('@every is a fixed rate', () => {
  assert.deepEqual(runsAfter('@every 1h30m', '2026-01-01T00:00:00Z', 2), [
    '2026-01-01T01:30:00Z',
    '2026-01-01T03:00:00Z',
  ])
  assert.equal(refusal('@every 5').code, 'BAD_INTERVAL')
  assert.equal(refusal('@every 1m1h').code, 'BAD_INTERVAL')
})

test('durations are read in full or refused at the character to blame', () => {
  const year = parseDuration('P1Y2M3W4DT5H6M7S')
  assert.ok(year.ok)
  assert.deepEqual(year.value, { months: 14, days: 25, seconds: 18_367 })
  for (const [text, position] of [
    ['PT0S', 0],
    ['P', 0],
    ['PT', 2],
    ['P1', 2],
    ['PT1.5S', 3],
    ['PT5X', 3],
    ['P1D1M', 4],
    ['PT1M1H', 5],
    ['-PT5M', 0],
    ['P999Y', 0],
    ['P1DT', 4],
    ['PTT5M', 2],
  ] as const) {
    const duration = parseDuration(text)
    assert.ok(!duration.ok, text)
    assert.deepEqual([duration.error.code, duration.error.position], ['BAD_INTERVAL', position], text)
  }
})

test('repeating intervals with an end, or without a zone, are refused', () => {
  assert.equal(refusal('R5/2026-01-01T00:00:00Z/2026-02-01T00:00:00Z').code, 'BAD_INTERVAL')
  assert.equal(refusal('R5/PT1H/2026-02-01T00:00:00Z').code, 'BAD_INTERVAL')
  assert.equal(refusal('R5/2026-01-01T00:00:00/PT1H').code, 'BAD_INSTANT')
  assert.equal(refusal('R5/2026-02-30T00:00:00Z/PT1H').code, 'BAD_INSTANT')
  assert.equal(refusal('Rx/2026-01-01T00:00:00Z/PT1H').code, 'ENGLISH_NOT_UNDERSTOOD')
  const zoned = { interval: 'R1/2026-01-01T09:00:00/P1D', timezone: 'Asia/Tokyo' }
  assert.deepEqual(runsAfter(zoned, '2025-01-01T00:00:00Z', 9), [
    '2026-01-01T00:00:00Z',
    '2026-01-02T00:00:00Z',
  ])
})
