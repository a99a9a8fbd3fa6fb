import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, compiled, cron, runsAfter, runsBefore } from '../../../test/schedule/list-runs.ts'
import {
  randomExpression,
  randomInstant,
  randomZone,
  seededRandom,
} from '../../../test/schedule/random-case.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import { compileSchedule } from './compile-schedule.ts'
import {
  type CompiledSchedule,
  countExcluded,
  countSlots,
  isExcluded,
  nextRun,
  nextSlot,
  previousSlot,
  slotsBetween,
  slotsBetweenMax,
} from './next-run.ts'

/** Random schedules of every kind, each with an instant near a clock change of its zone. */
function* randomSchedules(
  count: number,
  seed: number,
): Generator<{ schedule: CompiledSchedule; t: EpochMs; what: string }> {
  const random = seededRandom(seed)
  const durations = ['PT1H', 'PT90M', 'PT7S', 'P1D', 'P1W', 'P1M', 'P1Y', 'P1M15D', 'P1DT12H', 'P31D']
  for (let i = 0; i < count; i++) {
    const timezone = randomZone(random)
    const t = epochMs(randomInstant(random, timezone))
    const dst =
      random() < 0.3
        ? { dst_gap: random() < 0.5 ? 'skip' : 'run_after', dst_fold: random() < 0.5 ? 'first' : 'both' }
        : {}
    const start = epochMs(Math.max(0, t - Math.floor(random() * 400) * dayMs))
    const input =
      random() < 0.75
        ? { cron_expression: randomExpression(random), timezone, ...dst }
        : {
            interval: durations[Math.floor(random() * durations.length)],
            timezone,
            start_at: new Date(start).toISOString(),
            ...dst,
          }
    const answer = compileSchedule(input, { createdAt: start })
    if (answer.ok) yield { schedule: answer.value.compiled, t, what: `${JSON.stringify(input)} at ${t}` }
  }
}

test('the next slot is strictly later, and the same for every instant before it', () => {
  for (const { schedule, t, what } of randomSchedules(3_000, 11)) {
    const next = nextSlot(schedule, t)
    if (next === null) continue
    assert.ok(next > t, what)
    assert.equal(nextSlot(schedule, epochMs(next - 1)), next, what)
    assert.equal(nextSlot(schedule, epochMs(Math.floor((t + next - 1) / 2))), next, what)
  }
})

test('previous undoes next: the slot before the next one is not after the instant asked', () => {
  for (const { schedule, t, what } of randomSchedules(3_000, 12)) {
    const next = nextSlot(schedule, t)
    const previous = previousSlot(schedule, epochMs(t + 1))
    if (next !== null) {
      assert.equal(previousSlot(schedule, epochMs(next + 1)), next, what)
      const before = previousSlot(schedule, next)
      assert.ok(before === null || before <= t, what)
      assert.equal(before, previous, what)
    }
    if (previous !== null) {
      assert.ok(previous <= t, what)
      assert.equal(nextSlot(schedule, epochMs(previous - 1)), previous, what)
      assert.equal(nextSlot(schedule, previous), next, what)
    }
  }
})

test('a later question never has an earlier answer', () => {
  for (const { schedule, t, what } of randomSchedules(500, 13)) {
    let last = Number.NEGATIVE_INFINITY
    for (let step = 0; step < 40; step++) {
      const next = nextSlot(schedule, epochMs(t + step * 947_000)) ?? Number.POSITIVE_INFINITY
      assert.ok(next >= last, what)
      last = next
    }
  }
})

test('between and count agree with asking for the next slot again and again', () => {
  for (const { schedule, t, what } of randomSchedules(1_500, 14)) {
    const range = { from: t, to: epochMs(t + 3 * dayMs) }
    const walked: EpochMs[] = []
    let slot = nextSlot(schedule, epochMs(range.from - 1))
    while (slot !== null && slot < range.to && walked.length < slotsBetweenMax) {
      walked.push(slot)
      slot = nextSlot(schedule, slot)
    }
    assert.deepEqual(slotsBetween(schedule, range), walked, what)
    if (walked.length < slotsBetweenMax) assert.equal(countSlots(schedule, range), walked.length, what)
  }
})

test('counting a long range equals counting its parts', () => {
  for (const { schedule, t, what } of randomSchedules(300, 15)) {
    const far = epochMs(t + 4_000 * dayMs)
    const middle = epochMs(t + 1_234 * dayMs + 5_000)
    const parts =
      countSlots(schedule, { from: t, to: middle }) + countSlots(schedule, { from: middle, to: far })
    assert.equal(countSlots(schedule, { from: t, to: far }), parts, what)
  }
})

test('every second of 230 years is counted, not walked', () => {
  const every = compiled(cron('* * * * * *', 'America/New_York'))
  assert.equal(
    countSlots(every, { from: at('1970-01-01T00:00:00Z'), to: at('2200-01-01T00:00:00Z') }),
    7_258_118_400,
  )
})

test('no slot lies before 1970 or after 2199, and asking there is answered', () => {
  const daily = compiled(cron('0 0 * * *'))
  assert.equal(nextSlot(daily, epochMs(-1e15)), at('1970-01-01T00:00:00Z'))
  assert.equal(nextSlot(daily, at('2199-12-31T00:00:00Z')), null)
  assert.equal(nextSlot(daily, epochMs(8.64e15)), null)
  assert.equal(previousSlot(daily, epochMs(0)), null)
  assert.equal(previousSlot(daily, epochMs(8.64e15)), at('2199-12-31T00:00:00Z'))
  assert.deepEqual(runsAfter(cron('0 12 1 7 * '.trim(), 'America/New_York'), '2150-01-01T00:00:00Z', 1), [
    '2150-07-01T16:00:00Z',
  ])
})

test('dst_gap and dst_fold hold for any schedule', () => {
  const gap = '2026-03-08T05:00:00Z'
  const zone = 'America/New_York'
  assert.deepEqual(runsAfter({ ...cron('*/30 2 * * *', zone), dst_gap: 'skip' }, gap, 1), [
    '2026-03-09T06:00:00Z',
  ])
  assert.deepEqual(runsAfter(cron('*/30 2 * * *', zone), gap, 1), ['2026-03-08T07:00:00Z'])
  assert.deepEqual(runsAfter({ ...cron('30 2 * * *', zone), dst_gap: 'skip' }, gap, 1), [
    '2026-03-09T06:30:00Z',
  ])
  const fold = '2026-11-01T05:15:00Z'
  assert.deepEqual(runsAfter({ ...cron('0,30 1 * * *', zone), dst_fold: 'both' }, fold, 3), [
    '2026-11-01T05:30:00Z',
    '2026-11-01T06:00:00Z',
    '2026-11-01T06:30:00Z',
  ])
  assert.deepEqual(runsAfter({ ...cron('30 * * * *', zone), dst_fold: 'first' }, fold, 2), [
    '2026-11-01T05:30:00Z',
    '2026-11-01T07:30:00Z',
  ])
})

test('start_at and end_at are both included', () => {
  const bounded = { ...cron('0 * * * *'), start_at: '2026-01-01T02:00:00Z', end_at: '2026-01-01T04:00:00Z' }
  assert.deepEqual(runsAfter(bounded, '2020-01-01T00:00:00Z', 9), [
    '2026-01-01T02:00:00Z',
    '2026-01-01T03:00:00Z',
    '2026-01-01T04:00:00Z',
  ])
  assert.deepEqual(runsBefore(bounded, '2030-01-01T00:00:00Z', 9).length, 3)
  assert.equal(
    countSlots(compiled(bounded), { from: at('2020-01-01T00:00:00Z'), to: at('2030-01-01T00:00:00Z') }),
    3,
  )
})

test('an exclusion skips runs but not slots: the ledger still shows them', () => {
  const schedule = compiled(
    {
      ...cron('0 12 * * *', 'America/New_York'),
      exclusions: [
        { date: '2026-12-25' },
        { from: '2026-12-30', to: '2026-12-31' },
        { calendar: 'holidays' },
      ],
    },
    {
      calendars: {
        holidays: [{ date: '2027-01-01' }, { from: '2027-01-02T11:00:00', to: '2027-01-02T12:00:00' }],
      },
    },
  )
  const christmas = at('2026-12-25T17:00:00Z')
  assert.equal(nextSlot(schedule, at('2026-12-24T18:00:00Z')), christmas)
  assert.equal(isExcluded(schedule, christmas), true)
  assert.equal(nextRun(schedule, at('2026-12-24T18:00:00Z')), at('2026-12-26T17:00:00Z'))
  // Two excluded days and New Year follow each other; the window of 2 January ends at noon, so noon runs.
  assert.equal(nextRun(schedule, at('2026-12-29T18:00:00Z')), at('2027-01-02T17:00:00Z'))
  assert.equal(
    countExcluded(schedule, { from: at('2026-12-01T00:00:00Z'), to: at('2027-02-01T00:00:00Z') }),
    4,
  )
})

test('an excluded day is the local day, also when its midnight does not exist', () => {
  const schedule = compiled({
    ...cron('30 * * * *', 'America/Sao_Paulo'),
    exclusions: [{ date: '2018-11-04' }],
  })
  assert.equal(nextRun(schedule, at('2018-11-04T02:45:00Z')), at('2018-11-05T02:30:00Z'))
  assert.equal(
    countExcluded(schedule, { from: at('2018-11-01T00:00:00Z'), to: at('2018-11-09T00:00:00Z') }),
    23,
  )
})
