// Zone tables are read to 2100 first and grow when a search walks on. These run in a process of their own, so
// that every zone below is met for the first time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countSlots, slotsBetween } from '../../src/domain/schedule/next-run.ts'
import { at, compiled, cron, runsAfter, runsBefore } from './list-runs.ts'

test('a zone with a clock that has stopped changing goes on past 2100', () => {
  assert.deepEqual(runsAfter(cron('14 17 * FEB *', 'Asia/Irkutsk'), '2100-03-20T00:00:00Z', 1), [
    '2101-02-01T09:14:00Z',
  ])
})

test('the first months of 2101 are not lost in a zone with a clock that still changes', () => {
  assert.deepEqual(runsAfter(cron('0 12 5 * *', 'America/Chicago'), '2100-12-06T00:00:00Z', 5), [
    '2101-01-05T18:00:00Z',
    '2101-02-05T18:00:00Z',
    '2101-03-05T18:00:00Z',
    '2101-04-05T17:00:00Z',
    '2101-05-05T17:00:00Z',
  ])
})

test('going back from beyond 2100 sees its clock changes', () => {
  assert.deepEqual(runsBefore(cron('0 12 1 * *', 'America/Denver'), '2150-08-02T00:00:00Z', 3), [
    '2150-08-01T18:00:00Z',
    '2150-07-01T18:00:00Z',
    '2150-06-01T18:00:00Z',
  ])
})

test('counting and listing agree across the end of 2100', () => {
  const range = { from: at('2100-11-01T00:00:00Z'), to: at('2101-11-01T00:00:00Z') }
  const schedule = compiled(cron('30 * * * *', 'Europe/Madrid'))
  assert.equal(slotsBetween(schedule, range).length, 8_760)
  assert.equal(countSlots(compiled(cron('30 * * * *', 'Europe/Rome')), range), 8_760)
})

test('an interval on the calendar goes on past 2100', () => {
  const schedule = { interval: 'P1Y', start_at: '2026-07-01T09:00:00', timezone: 'Europe/Vienna' }
  assert.deepEqual(runsAfter(schedule, '2100-08-01T00:00:00Z', 2), [
    '2101-07-01T07:00:00Z',
    '2102-07-01T07:00:00Z',
  ])
})

test('the last hours of 2199 are a new year already in the east, and the first of 1970 an old one in the west', () => {
  assert.deepEqual(runsAfter(cron('34 * * jan,JUL *', 'Pacific/Chatham'), '2199-10-26T00:00:00Z', 1), [
    '2199-12-31T10:49:00Z',
  ])
  assert.deepEqual(runsAfter(cron('0 * * DEC *', 'America/New_York'), '1969-12-31T00:00:00Z', 1), [
    '1970-01-01T00:00:00Z',
  ])
  assert.deepEqual(runsBefore(cron('0 * * DEC *', 'Pacific/Honolulu'), '1970-06-01T00:00:00Z', 1), [
    '1970-01-01T09:00:00Z',
  ])
})
