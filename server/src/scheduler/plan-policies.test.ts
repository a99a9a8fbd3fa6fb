// Plans of jobs with exclusions, calendars, jitter, a limit of runs, and each misfire policy.
import assert from 'node:assert/strict'
import test from 'node:test'
import { MISFIRE_POLICIES, OVERLAP_POLICIES } from '@carillon/contract/constants.ts'
import { at, entryOf, everySecond, plan } from '../../test/entry.ts'
import { dueAtOf } from '../domain/schedule/jitter.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../lib/time/epoch.ts'
import type { Cursor } from '../ports/slots.ts'
import type { Entry } from './entry.ts'
import { planSlots } from './plan-slots.ts'
import type { PlannedSlot } from './planned-slot.ts'

type Schedule = Cursor['schedule']

/** A schedule of each second, or as given, that excludes [from, to) of each pair of seconds. */
function excluding(windows: [number, number][], rest: Partial<Schedule> = {}): Schedule {
  const exclusions = windows.map(([from, to]) => ({ from: toRfc3339(at(from)), to: toRfc3339(at(to)) }))
  return { type: 'CRON', cron_expression: everySecond, exclusions, ...rest }
}

const each = (from: number, to: number, count: number, reason: 'misfire' | 'exclusion' = 'misfire') => ({
  ...{ from: at(from), to: at(to), count, reason },
})
const pickOwed = ({ slot, late, owedTo, owedPaceMs }: PlannedSlot) => ({ slot, late, owedTo, owedPaceMs })

// Misfire policies.

for (const overlapPolicy of OVERLAP_POLICIES) {
  test(`FIRE_ALL under ${overlapPolicy} fires the first misfired slot and owes the others at its pace`, () => {
    const { slots, next } = plan(entryOf(everySecond, { overlapPolicy, misfirePolicy: 'FIRE_ALL' }), 600)
    assert.deepEqual(slots.map(pickOwed), [{ slot: at(0), late: true, owedTo: at(600), owedPaceMs: 100 }])
    assert.deepEqual(slots[0]!.skipped, [])
    assert.deepEqual(slots[0]!.move, { slotAt: at(601), dueAt: at(601), decidedTo: at(600) })
    assert.equal(next, at(601))
  })
}

test('a slot on time joins a catch-up under FIRE_ALL where it would be skipped, and under no other policy', () => {
  for (const overlapPolicy of OVERLAP_POLICIES) {
    for (const misfirePolicy of MISFIRE_POLICIES) {
      const entry = entryOf(everySecond, { overlapPolicy, misfirePolicy })
      const joins = misfirePolicy === 'FIRE_ALL' && ['SKIP', 'BUFFER_ONE'].includes(overlapPolicy)
      const move = { slotAt: at(1), dueAt: at(1), decidedTo: at(0) }
      assert.deepEqual(plan(entry, 0).slots[0]!.joins, joins ? move : undefined)
      const late = plan(entry, 600).slots[0]!
      assert.deepEqual(late.joins, joins ? late.move! : undefined)
    }
  }
})

test('FIRE_ALL records the slots beyond the latest thousand', () => {
  const { slots } = plan(entryOf(everySecond, { misfirePolicy: 'FIRE_ALL' }), 2_000)
  // 1939 is the latest misfired one.
  assert.deepEqual(slots.map(pickOwed), [{ slot: at(940), late: true, owedTo: at(2_000), owedPaceMs: 100 }])
  assert.deepEqual(slots[0]!.skipped, [each(0, 939, 940)])
})

test('FIRE_ALL has no pace for slots that are only late', () => {
  const { slots } = plan(entryOf(everySecond, { misfirePolicy: 'FIRE_ALL' }), 30)
  assert.deepEqual(slots.map(pickOwed), [{ slot: at(0), late: true, owedTo: at(30), owedPaceMs: 0 }])
  const allowed = plan(entryOf(everySecond, { misfirePolicy: 'FIRE_ALL', overlapPolicy: 'ALLOW' }), 30)
  assert.equal(allowed.slots.length, 31, 'they fire beside each other')
})

test('SKIP records all misfired slots and runs the younger ones', () => {
  const { slots } = plan(entryOf(everySecond, { misfirePolicy: 'SKIP' }), 600)
  assert.deepEqual(slots.map(pickOwed), [{ slot: at(540), late: true, owedTo: at(600), owedPaceMs: 0 }])
  assert.deepEqual(slots[0]!.skipped, [each(0, 539, 540)])
})

test('a single slot in the past runs while it is young, and is recorded after under SKIP', () => {
  const schedule = { type: 'ONE_TIME', scheduled_time: toRfc3339(at(0)) } as const
  const entry = entryOf(everySecond, { schedule, misfirePolicy: 'SKIP' })
  const young = plan(entry, 60).slots[0]!
  assert.deepEqual([young.slot, young.skip, young.skipped], [at(0), null, []])
  const { slots, next } = plan(entry, 61)
  assert.deepEqual([slots[0]!.skip, slots[0]!.skipped], ['misfire', [each(0, 0, 1)]])
  assert.deepEqual(slots[0]!.move, { slotAt: null, dueAt: null, decidedTo: at(0) })
  assert.equal(next, null)
})

// Exclusions.

for (const overlapPolicy of OVERLAP_POLICIES) {
  test(`an excluded slot is recorded when it comes, under ${overlapPolicy} as under every policy`, () => {
    const { slots, next } = plan(entryOf(everySecond, { schedule: excluding([[0, 5]]), overlapPolicy }), 0)
    assert.equal(slots.length, 1)
    const { slot, skip, skipped, previousSlot, late, move } = slots[0]!
    assert.deepEqual(
      { slot, skip, skipped, previousSlot },
      { ...{ slot: at(0), skip: 'exclusion' }, skipped: [], previousSlot: at(-1) },
    )
    assert.deepEqual({ late, move, next }, { late: false, move: null, next: at(1) })
  })
}

test('late slots that are all excluded are recorded as such, with the last of them', () => {
  const { slots, decidedTo, next } = plan(entryOf(everySecond, { schedule: excluding([[0, 500]]) }), 300)
  assert.equal(slots.length, 1)
  const { slot, skip, skipped } = slots[0]!
  assert.deepEqual(
    { slot, skip, skipped },
    { slot: at(300), skip: 'exclusion', skipped: [each(0, 300, 301, 'exclusion')] },
  )
  assert.deepEqual([decidedTo, next], [at(300), at(301)])
})

test('when nothing runs the last slot has the reason of the last range', () => {
  const skip = (windows: [number, number][], nowSeconds: number) => {
    const schedule = excluding(windows, { cron_expression: '*/10 * * * *' })
    const [one] = plan(entryOf(everySecond, { schedule, misfirePolicy: 'SKIP' }), nowSeconds).slots
    return [one!.slot, one!.skip, one!.skipped]
  }
  assert.deepEqual(skip([[0, 100]], 700), [
    at(600),
    'misfire',
    [each(0, 0, 1, 'exclusion'), each(600, 600, 1)],
  ])
  assert.deepEqual(skip([[600, 700]], 700), [
    at(600),
    'exclusion',
    [each(0, 0, 1), each(600, 600, 1, 'exclusion')],
  ])
})

test('excluded slots behind the first that runs are owed with the others', () => {
  const { slots } = plan(entryOf(everySecond, { schedule: excluding([[10, 20]]) }), 30)
  assert.deepEqual(slots.map(pickOwed), [{ slot: at(0), late: true, owedTo: at(30), owedPaceMs: 0 }])
  assert.deepEqual(slots[0]!.skipped, [])
})

/** The fate of each slot when a job catches up, plan after plan. */
function catchUp(entry: Entry, nowSeconds: number): Map<EpochMs, string> {
  const said = new Map<EpochMs, string>()
  const say = (slot: EpochMs, what: string) => {
    assert(!said.has(slot), `${toRfc3339(slot)} is decided twice`)
    said.set(slot, what)
  }
  while (entry.slot <= at(nowSeconds)) {
    const { slots, decidedTo, next } = plan(entry, nowSeconds)
    for (const { slot, skip, skipped } of slots) {
      for (const { from, to, reason } of skipped) {
        for (let one = from; one <= to; one = epochMs(one + 1_000)) say(one, reason)
      }
      if (skip === null) say(slot, 'runs')
      else if (skipped.length === 0) say(slot, skip)
    }
    assert.equal(next, decidedTo + 1_000)
    assert(slots.length === 1 || slots.at(-1)!.move !== null)
    entry.slot = next
  }
  return said
}

test('a late job that may overlap fires around excluded slots, each slot once', () => {
  const windows: [number, number][] = [
    [500, 510],
    [545, 550],
    [570, 571],
    [599, 610],
  ]
  const entry = entryOf(everySecond, { schedule: excluding(windows), overlapPolicy: 'ALLOW' })
  const expected = Array.from({ length: 601 }, (_, second) => {
    const isExcluded = windows.some(([from, to]) => second >= from && second < to)
    return [at(second), isExcluded ? 'exclusion' : second >= 539 ? 'runs' : 'misfire'] as const
  })
  assert.deepEqual([...catchUp(entry, 600)], expected)
})

// Calendars.

test('a plan names the calendars that its cursor came with', () => {
  const schedule: Schedule = {
    type: 'CRON',
    cron_expression: everySecond,
    exclusions: [{ calendar: 'holidays' }],
  }
  const entries = { holidays: [{ date: '2026-01-02' }] }
  const entry = entryOf(everySecond, { schedule, calendars: { entries, revision: 7 } })
  const [one] = plan(entry, 0).slots
  assert.equal(one!.skip, 'exclusion')
  assert.deepEqual(one!.calendars, { names: ['holidays'], revision: 7 })
  const open = entryOf(everySecond, { schedule, calendars: { entries: { holidays: [] }, revision: 8 } })
  assert.equal(plan(open, 0).slots[0]!.skip, null)
  assert.deepEqual(plan(open, 30).slots[0]!.calendars, { names: ['holidays'], revision: 8 })
})

// Jitter.

const hourly = '0 * * * *'
const jitterSeconds = 1_800

test('with jitter a job is due later, and late only when it is later than that', () => {
  const entry = entryOf(hourly, { jitterSeconds })
  const dueAt = dueAtOf({ jobId: 'a job', jitterSeconds }, at(0))
  assert(dueAt > at(3), 'else this test would say nothing')
  assert.deepEqual([entry.slot, entry.dueAt], [at(0), dueAt])
  const planAt = (now: number) =>
    planSlots(entry, {
      now: epochMs(now),
      misfireAfterMs: 60_000,
      outageUpTo: epochMs(now),
      staysInMemory: () => true,
    }).slots[0]!
  for (const [now, late] of [
    [dueAt, false],
    [dueAt + 2_000, false],
    [dueAt + 2_001, true],
  ] as const) {
    const one = planAt(now)
    assert.deepEqual([one.slot, one.dueAt, one.late], [at(0), dueAt, late])
  }
  // Tried again a second later: as late as it is, not as it is tried.
  entry.dueAt = epochMs(dueAt + 3_000)
  assert.equal(planAt(dueAt + 3_000).late, true)
})

test('with jitter the cursor moves to the next slot and its due time, and that due time decides whether it stays in memory', () => {
  const entry = entryOf(hourly, { jitterSeconds })
  const nextDueAt = dueAtOf({ jobId: 'a job', jitterSeconds }, at(3_600))
  assert.notEqual(nextDueAt, at(3_600))
  const asked: EpochMs[] = []
  const staysInMemory = (dueAt: EpochMs) => asked.push(dueAt) < 0
  const { slots, next } = planSlots(entry, {
    now: entry.dueAt,
    misfireAfterMs: 60_000,
    outageUpTo: entry.dueAt,
    staysInMemory,
  })
  assert.deepEqual(asked, [nextDueAt])
  assert.deepEqual(slots[0]!.move, { slotAt: at(3_600), dueAt: nextDueAt, decidedTo: at(0) })
  assert.equal(next, at(3_600))
  const late = plan(entry, 3_599)
  assert.deepEqual(late.slots[0]!.move, { slotAt: at(3_600), dueAt: nextDueAt, decidedTo: at(0) })
})

// Limits.

test('a job with a concurrency limit is planned as limited, and with the slot before also when it may overlap', () => {
  const [one] = plan(entryOf(everySecond, { overlapPolicy: 'ALLOW', limited: true }), 0).slots
  assert.deepEqual([one!.limited, one!.previousSlot], [true, at(-1)])
})

// max_runs.

const limitedTo = (max: number, windows: [number, number][] = []) => excluding(windows, { max_runs: max })

for (const overlapPolicy of OVERLAP_POLICIES) {
  test(`with max_runs each fire counts one and moves the cursor, under ${overlapPolicy}`, () => {
    const { slots } = plan(entryOf(everySecond, { schedule: limitedTo(10), overlapPolicy, runs: 4 }), 0)
    assert.deepEqual(slots[0]!.runs, { max: 10, count: 1 })
    assert.deepEqual(slots[0]!.move, { slotAt: at(1), dueAt: at(1), decidedTo: at(0) })
  })

  test(`late slots with max_runs are owed in order up to the limit, under ${overlapPolicy}`, () => {
    const owe = (runs: number) => {
      const entry = entryOf(everySecond, { schedule: limitedTo(10), overlapPolicy, runs })
      const { slots, decidedTo, next } = plan(entry, 5)
      assert.equal(slots.length, 1)
      const { slot, late, owedTo, move } = slots[0]!
      assert.deepEqual([slot, late], [at(0), true])
      assert.deepEqual(move, { slotAt: next, dueAt: next, decidedTo })
      return { owedTo, decidedTo, runs: slots[0]!.runs }
    }
    assert.deepEqual(owe(0), { owedTo: at(5), decidedTo: at(5), runs: { max: 10, count: 6 } })
    assert.deepEqual(owe(4), { owedTo: at(5), decidedTo: at(5), runs: { max: 10, count: 6 } })
    assert.deepEqual(owe(5), { owedTo: at(4), decidedTo: at(4), runs: { max: 10, count: 5 } })
    assert.deepEqual(owe(9), { owedTo: null, decidedTo: at(0), runs: { max: 10, count: 1 } })
  })
}

test('excluded slots do not count against max_runs', () => {
  const entry = entryOf(everySecond, { schedule: limitedTo(10, [[2, 20]]), runs: 5 })
  const { slots } = plan(entry, 40)
  assert.deepEqual(slots.map(pickOwed), [{ slot: at(0), late: true, owedTo: at(22), owedPaceMs: 0 }])
  assert.deepEqual(slots[0]!.runs, { max: 10, count: 5 })
  const short = plan(entry, 19).slots[0]!
  assert.deepEqual([short.owedTo, short.runs], [at(19), { max: 10, count: 2 }])
})

test('skipped slots do not count against max_runs, and slots that run after them do', () => {
  const entry = entryOf(everySecond, { schedule: limitedTo(10), misfirePolicy: 'SKIP', runs: 7 })
  const { slots, decidedTo } = plan(entry, 600)
  assert.deepEqual(slots[0]!.skipped, [each(0, 539, 540)])
  assert.deepEqual([slots[0]!.slot, slots[0]!.owedTo, decidedTo], [at(540), at(542), at(542)])
  assert.deepEqual(slots[0]!.runs, { max: 10, count: 3 })
})

test('a slot that is only recorded does not count against max_runs', () => {
  const excluded = plan(entryOf(everySecond, { schedule: limitedTo(10, [[0, 5]]) }), 0)
  assert.deepEqual(excluded.slots[0]!.runs, { max: 10, count: 0 })
  const daily = excluding([], { cron_expression: '0 10 * * *', max_runs: 10 })
  for (const misfirePolicy of MISFIRE_POLICIES) {
    const { slots } = plan(
      entryOf(everySecond, { schedule: daily, misfirePolicy, misfireWindowSeconds: 1 }),
      100,
    )
    assert.deepEqual([slots[0]!.skip, slots[0]!.runs], ['misfire', { max: 10, count: 0 }])
  }
})

test('the last slot of a thousand million runs is found without walking there', () => {
  const max = 1_000_000_000
  const entry = entryOf(everySecond, { schedule: limitedTo(max), runs: max - 40_000 })
  const { slots } = planSlots(entry, {
    now: at(80_000),
    misfireAfterMs: 86_400_000,
    outageUpTo: at(80_000),
    staysInMemory: () => true,
  })
  assert.deepEqual([slots[0]!.owedTo, slots[0]!.runs], [at(39_999), { max, count: 40_000 }])
})
