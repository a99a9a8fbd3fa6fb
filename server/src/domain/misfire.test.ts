import assert from 'node:assert/strict'
import test from 'node:test'
import { SeededRandom } from '../../test/virtual-world.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../lib/epoch.ts'
import { misfireWindowMs, planLate } from './misfire.ts'
import { compileSchedule } from './schedule/compile-schedule.ts'
import { type CompiledSchedule, slotsBetween } from './schedule/next-run.ts'

const misfireAfterMs = 60_000
const hourMs = 3_600_000
const createdAt = epochMs(Date.UTC(2026, 0, 1))

function compile(schedule: unknown): CompiledSchedule {
  const compiled = compileSchedule(schedule, { createdAt, jobId: 'a job' })
  assert(compiled.ok)
  return compiled.value.compiled
}

function cron(expression: string, timezone = 'UTC'): CompiledSchedule {
  return compile({ type: 'CRON', cron_expression: expression, timezone })
}

const everySecond = cron('* * * * * *')
const everyMinute = cron('* * * * *')
const hourly = cron('0 * * * *')
const daily = cron('0 9 * * *')

function at(text: string): EpochMs {
  return epochMs(Date.parse(text))
}

/** The plan with times one can read. */
function plan(schedule: CompiledSchedule, from: string, now: string, windowMs = hourMs) {
  const text = (slot: EpochMs | null) => (slot === null ? null : toRfc3339(slot))
  const late = planLate(schedule, { from: at(from), now: at(now), misfireAfterMs, windowMs })
  const { skipped, first, last } = late
  return {
    skipped: skipped && { from: text(skipped.from), to: text(skipped.to), count: skipped.count },
    first: text(first),
    last: text(last),
  }
}

const nothing = { skipped: null, first: null, last: null }

test('before its slot a job owes nothing', () => {
  assert.deepEqual(plan(hourly, '2026-01-02T10:00:00Z', '2026-01-02T09:59:59.999Z'), nothing)
})

test('a slot that is due this very millisecond runs', () => {
  const ten = '2026-01-02T10:00:00Z'
  assert.deepEqual(plan(hourly, ten, ten), { skipped: null, first: ten, last: ten })
})

test('one late slot runs, whether it is misfired or not', () => {
  const ten = '2026-01-02T10:00:00Z'
  const alone = { skipped: null, first: ten, last: ten }
  assert.deepEqual(plan(hourly, ten, '2026-01-02T10:00:03Z'), alone)
  assert.deepEqual(plan(hourly, ten, '2026-01-02T10:30:00Z'), alone)
})

test('slots missed within the last minute all run', () => {
  assert.deepEqual(plan(everySecond, '2026-01-02T10:00:00Z', '2026-01-02T10:01:00Z'), {
    skipped: null,
    first: '2026-01-02T10:00:00Z',
    last: '2026-01-02T10:01:00Z',
  })
})

test('a slot is misfired when it is older than a minute, not when it is exactly a minute old', () => {
  // 10:00:00 alone is misfired, and as the latest of them it runs.
  assert.deepEqual(plan(everySecond, '2026-01-02T10:00:00Z', '2026-01-02T10:01:00.001Z'), {
    skipped: null,
    first: '2026-01-02T10:00:00Z',
    last: '2026-01-02T10:01:00Z',
  })
  assert.deepEqual(plan(everySecond, '2026-01-02T10:00:00Z', '2026-01-02T10:01:01.001Z'), {
    skipped: { from: '2026-01-02T10:00:00Z', to: '2026-01-02T10:00:00Z', count: 1 },
    first: '2026-01-02T10:00:01Z',
    last: '2026-01-02T10:01:01Z',
  })
})

test('of misfired slots the latest runs, and with it every younger one', () => {
  assert.deepEqual(plan(everyMinute, '2026-01-02T10:00:00Z', '2026-01-02T10:10:30Z'), {
    skipped: { from: '2026-01-02T10:00:00Z', to: '2026-01-02T10:08:00Z', count: 9 },
    first: '2026-01-02T10:09:00Z',
    last: '2026-01-02T10:10:00Z',
  })
})

test('a year of misfires is counted exactly', () => {
  const { skipped, first, last } = plan(everySecond, '2025-01-02T10:00:00Z', '2026-01-02T10:00:00Z')
  assert.deepEqual(skipped, {
    from: '2025-01-02T10:00:00Z',
    to: '2026-01-02T09:58:58Z',
    count: 365 * 86_400 - 61,
  })
  assert.deepEqual([first, last], ['2026-01-02T09:58:59Z', '2026-01-02T10:00:00Z'])
})

test('the latest misfired slot runs up to the end of the window and not after', () => {
  const ten = '2026-01-02T10:00:00Z'
  assert.deepEqual(plan(daily, '2026-01-02T09:00:00Z', ten, hourMs), {
    skipped: null,
    first: '2026-01-02T09:00:00Z',
    last: '2026-01-02T09:00:00Z',
  })
  assert.deepEqual(plan(daily, '2026-01-02T09:00:00Z', '2026-01-02T10:00:00.001Z', hourMs), {
    skipped: { from: '2026-01-02T09:00:00Z', to: '2026-01-02T09:00:00Z', count: 1 },
    first: null,
    last: null,
  })
})

test('outside the window all misfired slots are skipped, the latest too, and younger ones run all the same', () => {
  const windowMs = 30_000
  assert.deepEqual(plan(everyMinute, '2026-01-02T10:00:00Z', '2026-01-02T10:10:30Z', windowMs), {
    skipped: { from: '2026-01-02T10:00:00Z', to: '2026-01-02T10:09:00Z', count: 10 },
    first: '2026-01-02T10:10:00Z',
    last: '2026-01-02T10:10:00Z',
  })
  // A window of nothing.
  assert.deepEqual(plan(everyMinute, '2026-01-02T10:00:00Z', '2026-01-02T10:10:30Z', 0), {
    skipped: { from: '2026-01-02T10:00:00Z', to: '2026-01-02T10:09:00Z', count: 10 },
    first: '2026-01-02T10:10:00Z',
    last: '2026-01-02T10:10:00Z',
  })
})

test('a sparse schedule outside its window is skipped altogether', () => {
  assert.deepEqual(plan(daily, '2026-01-02T09:00:00Z', '2026-01-05T12:00:00Z', hourMs), {
    skipped: { from: '2026-01-02T09:00:00Z', to: '2026-01-05T09:00:00Z', count: 4 },
    first: null,
    last: null,
  })
})

test('a schedule with one slot runs it within the window, and records it as skipped after', () => {
  const once = compile({ type: 'ONE_TIME', scheduled_time: '2026-01-02T10:00:00Z' })
  const slot = '2026-01-02T10:00:00Z'
  assert.deepEqual(plan(once, slot, '2026-01-02T11:00:00Z'), { skipped: null, first: slot, last: slot })
  assert.deepEqual(plan(once, slot, '2026-01-02T11:00:01Z'), {
    skipped: { from: slot, to: slot, count: 1 },
    first: null,
    last: null,
  })
})

test('slots before the first one that is open are neither run nor counted', () => {
  assert.deepEqual(plan(everyMinute, '2026-01-02T10:09:00Z', '2026-01-02T10:10:30Z'), {
    skipped: null,
    first: '2026-01-02T10:09:00Z',
    last: '2026-01-02T10:10:00Z',
  })
})

test('a schedule that has ended owes what came before its end', () => {
  const ended = compile({
    type: 'CRON',
    cron_expression: '* * * * *',
    end_at: '2026-01-02T10:05:00Z',
  })
  assert.deepEqual(plan(ended, '2026-01-02T10:00:00Z', '2026-01-02T10:30:00Z'), {
    skipped: { from: '2026-01-02T10:00:00Z', to: '2026-01-02T10:04:00Z', count: 5 },
    first: '2026-01-02T10:05:00Z',
    last: '2026-01-02T10:05:00Z',
  })
})

test('over the night of a clock change the count is that of the zone', () => {
  // In Berlin the clock goes from 02:00 to 03:00 on 29 March: 2:30 runs at 03:00, once, at 01:00 UTC.
  const berlin = cron('30 2 * * *', 'Europe/Berlin')
  assert.deepEqual(plan(berlin, '2026-03-28T01:30:00Z', '2026-03-30T00:15:00Z', 24 * hourMs), {
    skipped: { from: '2026-03-28T01:30:00Z', to: '2026-03-28T01:30:00Z', count: 1 },
    first: '2026-03-29T01:00:00Z',
    last: '2026-03-29T01:00:00Z',
  })
  // In the autumn an hour comes twice, and every half hour is elapsed time: two more slots than on other days.
  const halfHours = cron('*/30 * * * *', 'Europe/Berlin')
  const { skipped, first } = plan(halfHours, '2026-10-24T22:00:00Z', '2026-10-25T23:10:00Z', 24 * hourMs)
  assert.deepEqual(skipped, { from: '2026-10-24T22:00:00Z', to: '2026-10-25T22:30:00Z', count: 50 })
  assert.equal(first, '2026-10-25T23:00:00Z')
})

test('skipped and run slots together are all slots that are due, each once, whatever the schedule', () => {
  const random = new SeededRandom(21)
  const draw = (below: number) => Math.floor(random.next() * below)
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu']
  const texts = ['*/7 * * * *', '5,35 1-3 * * *', '0 */6 * * *', '15 2 * * 0', '*/40 * * * * *', '0 0 1 * *']
  for (let i = 0; i < 400; i++) {
    const schedule = cron(texts[draw(texts.length)]!, zones[draw(zones.length)]!)
    const spring = draw(2) === 0 ? Date.UTC(2026, 2, 1) : Date.UTC(2026, 9, 1)
    const now = epochMs(spring + draw(40 * 86_400_000))
    const slots = slotsBetween(schedule, { from: epochMs(now - draw(3 * 86_400_000)), to: epochMs(now + 1) })
    const from = slots[0]
    if (from === undefined) continue
    const windowMs = [0, 30_000, hourMs, 24 * hourMs][draw(4)]!
    const { skipped, first, last } = planLate(schedule, { from, now, misfireAfterMs, windowMs })
    const runs = first === null ? [] : slots.filter((slot) => slot >= first)
    assert.equal(first, runs[0] ?? null)
    assert.equal(last, runs.at(-1) ?? null)
    const left = slots.slice(0, slots.length - runs.length)
    const range = left.length === 0 ? null : { from: left[0]!, to: left.at(-1)!, count: left.length }
    assert.deepEqual(skipped, range)
    // By the rule in words: the young ones, and the latest of the others if it is not too old.
    const misfired = slots.filter((slot) => slot < now - misfireAfterMs)
    const runsToo = misfired.length > 0 && misfired.at(-1)! >= now - windowMs ? 1 : 0
    assert.equal(runs.length, slots.length - misfired.length + runsToo)
  }
})

test('the window is an hour for schedules finer than a day, else a day', () => {
  const window = (schedule: CompiledSchedule) => misfireWindowMs(schedule, null) / 1_000
  assert.equal(window(everySecond), 3_600)
  assert.equal(window(hourly), 3_600)
  assert.equal(window(cron('0 9,17 * * *')), 3_600)
  assert.equal(window(compile({ type: 'INTERVAL', every_seconds: 86_399 })), 3_600)
  assert.equal(window(compile({ type: 'INTERVAL', every_seconds: 86_400 })), 86_400)
  assert.equal(window(daily), 86_400)
  assert.equal(window(cron('0 9 * * 1-5')), 86_400)
  assert.equal(window(cron('0 9 1 * *')), 86_400)
  assert.equal(window(compile({ type: 'ONE_TIME', scheduled_time: '2026-01-02T10:00:00Z' })), 86_400)
})

test('a window that was given holds, also one of nothing', () => {
  assert.equal(misfireWindowMs(everySecond, 90), 90_000)
  assert.equal(misfireWindowMs(daily, 0), 0)
})
