import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityItem } from '@carillon/contract/activity.ts'
import type { Pulse } from '../../live/live.ts'
import { minutesOf } from './activity.ts'
import { isQuiet, tilesOf } from './health.ts'

const bucket = (change: Partial<ActivityItem>): ActivityItem => ({
  at: '2026-11-17T12:00:00Z',
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
  ...change,
})
const pulse = (as_of: string, succeeded: number): Pulse => ({
  as_of,
  lag_ms: 1,
  started: 0,
  succeeded,
  failed: 0,
  timed_out: 0,
  running: 0,
  waiting: 0,
})
const now = Date.parse('2026-11-17T12:02:30Z')

const none = { total: 0, capped: false }

test('the tiles count failing jobs, dead letters, late slots and executions that began on time', () => {
  const activity = [bucket({ succeeded: 400, failed: 12, started: 400, within_1s: 396 })]
  const trouble = { failing: { total: 3, capped: false }, deadLetters: { total: 10_000, capped: true } }
  const tiles = tilesOf({ ...trouble, late: 2, activity })
  assert.deepEqual(
    tiles.map(({ name, value, tone }) => [name, value, tone]),
    [
      ['Failing', '3', 'bad'],
      ['Dead letters', '10,000+', 'warn'],
      ['Late', '2', 'warn'],
      ['On time', '99 %', 'good'],
    ],
  )
  assert(isQuiet([]) && !isQuiet(activity))
})

test('a tile says nothing before it knows, and there is none for dead letters that the tier hides', () => {
  const tiles = tilesOf({ failing: undefined, deadLetters: null, late: undefined, activity: undefined })
  assert.deepEqual(
    tiles.map(({ name, value }) => [name, value]),
    [
      ['Failing', null],
      ['Late', null],
      ['On time', null],
    ],
  )
  const [failing, , , onTime] = tilesOf({ failing: none, deadLetters: none, late: 0, activity: [] })
  assert.deepEqual([failing!.value, failing!.tone, onTime!.value], ['0', 'good', '–'])
})

test('every minute has its place, and the last one is the present one', () => {
  const { times, values } = minutesOf([bucket({ at: '2026-11-17T12:01:00Z', succeeded: 5 })], [], now, 3)
  assert.deepEqual(
    times.map((seconds) => new Date(seconds * 1_000).toISOString().slice(11, 16)),
    ['12:00', '12:01', '12:02'],
  )
  assert.deepEqual(values.succeeded, [0, 5, 0])
})

test('pulses fill in where they know more than the rollup, and are not counted twice', () => {
  const pulses = [
    pulse('2026-11-17T12:01:59Z', 2),
    pulse('2026-11-17T12:02:01Z', 3),
    pulse('2026-11-17T12:02:02Z', 1),
  ]
  const buckets = [
    bucket({ at: '2026-11-17T12:01:00Z', succeeded: 5 }),
    bucket({ at: '2026-11-17T12:02:00Z', succeeded: 1 }),
  ]
  assert.deepEqual(minutesOf(buckets, pulses, now, 3).values.succeeded, [0, 5, 4])
})

test('executions outside the hour are left out', () => {
  const { values } = minutesOf([bucket({ at: '2026-11-17T10:00:00Z', succeeded: 9 })], [], now, 3)
  assert.deepEqual(values.succeeded, [0, 0, 0])
})
