import assert from 'node:assert/strict'
import test from 'node:test'
import { at, cursorOf, entryOf, everySecond, plan } from '../../test/entry.ts'
import { runIdOfSlot } from '../domain/graphs/graph-run.ts'
import { type EpochMs, epochMs } from '../lib/time/epoch.ts'
import { toEntry } from './entry.ts'
import { planSlots } from './plan-slots.ts'

test('a job that is due fires one slot with the fields of the job', () => {
  assert.deepEqual(plan(entryOf(), 0), {
    slots: [
      {
        jobId: 'a job',
        version: 3,
        slot: at(0),
        dueAt: at(0),
        route: 'server',
        priority: 4,
        overlapPolicy: 'SKIP',
        limited: false,
        ownRow: false,
        late: false,
        owedTo: null,
        owedPaceMs: 0,
        recordedAt: null,
        previousSlot: at(-1),
        skipped: [],
        skip: null,
        runs: null,
        calendars: null,
        graphId: null,
        runId: null,
        move: null,
      },
    ],
    decidedTo: at(0),
    next: at(1),
  })
})

test('each slot of a root starts the run of its graph for that slot, in its own row', () => {
  const graphId = '019b0000-0000-7000-8000-000000000001'
  const changes = { graphId, overlapPolicy: 'ALLOW', misfirePolicy: 'FIRE_ALL' } as const
  const { slots } = plan(entryOf(everySecond, changes), 20)
  assert(slots.length > 1)
  for (const { slot, graphId: graph, runId, ownRow } of slots)
    assert.deepEqual([graph, runId, ownRow], [graphId, runIdOfSlot(graphId, slot), true])
  assert.equal(new Set(slots.map(({ runId }) => runId)).size, slots.length)
})

test('a slot that is up to two seconds late counts as on time, and later slots come one by one', () => {
  const { slots, next } = plan(entryOf(), 2)
  assert.deepEqual(
    slots.map(({ slot, late, owedTo }) => ({ slot, late, owedTo })),
    [{ slot: at(0), late: false, owedTo: null }],
  )
  assert.equal(next, at(1))
})

test('a job that may overlap is planned without the slot before', () => {
  const { slots } = plan(entryOf(everySecond, { overlapPolicy: 'ALLOW' }), 0)
  assert.deepEqual([slots[0]!.overlapPolicy, slots[0]!.previousSlot], ['ALLOW', null])
})

test('the cursor stays while the next slot is in memory, and moves when it is not', () => {
  assert.equal(plan(entryOf(), 0, true).slots[0]!.move, null)
  const { slots, next } = plan(entryOf(), 0, false)
  assert.deepEqual(slots[0]!.move, { slotAt: at(1), dueAt: at(1), decidedTo: at(0) })
  assert.equal(next, at(1))
})

test('the due time of the next slot decides whether a job stays in memory', () => {
  const asked: EpochMs[] = []
  planSlots(entryOf('*/10 * * * * *'), {
    now: at(0),
    misfireAfterMs: 60_000,
    outageUpTo: at(0),
    staysInMemory: (dueAt) => asked.push(dueAt) > 0,
  })
  assert.deepEqual(asked, [at(10)])
})

test('the cursor moves once a minute', () => {
  const entry = entryOf()
  entry.movedAt = at(-59)
  assert.equal(plan(entry, 0).slots[0]!.move, null)
  entry.movedAt = at(-60)
  assert.deepEqual(plan(entry, 0).slots[0]!.move, { slotAt: at(1), dueAt: at(1), decidedTo: at(0) })
})

test('jobs loaded together write their cursors at different times', () => {
  const moved = [0, 16, 63].map((partitionId) => entryOf(everySecond, { partitionId }).movedAt)
  assert.deepEqual(moved, [at(0), at(-15), epochMs(at(0) - 59_062)])
})

test('after the last slot the cursor has no next slot', () => {
  const entry = entryOf(everySecond, {
    schedule: { type: 'ONE_TIME', scheduled_time: '2026-01-02T10:00:00Z' },
  })
  const { slots, next } = plan(entry, 0)
  assert.deepEqual(slots[0]!.move, { slotAt: null, dueAt: null, decidedTo: at(0) })
  assert.equal(next, null)
})

test('a late job fires its first open slot and owes the others, one after the other', () => {
  const { slots, decidedTo, next } = plan(entryOf(), 30)
  assert.equal(slots.length, 1)
  const { slot, late, owedTo, skipped, skip, move } = slots[0]!
  assert.deepEqual({ slot, late, owedTo }, { slot: at(0), late: true, owedTo: at(30) })
  assert.deepEqual({ skipped, skip }, { skipped: [], skip: null })
  assert.deepEqual(move, { slotAt: at(31), dueAt: at(31), decidedTo: at(30) })
  assert.deepEqual([decidedTo, next], [at(30), at(31)])
})

test('a late job with misfired slots fires the latest of them and records the others', () => {
  const { slots, next } = plan(entryOf(), 600)
  assert.equal(slots.length, 1)
  const { slot, late, owedTo, skipped, skip, move } = slots[0]!
  // 539 is the latest that is older than a minute.
  assert.deepEqual({ slot, late, owedTo }, { slot: at(539), late: true, owedTo: at(600) })
  assert.deepEqual(skipped, [{ from: at(0), to: at(538), count: 539, reason: 'misfire' }])
  assert.equal(skip, null)
  assert.deepEqual(move, { slotAt: at(601), dueAt: at(601), decidedTo: at(600) })
  assert.equal(next, at(601))
})

test('one late slot owes no others', () => {
  const { slots } = plan(entryOf('0 * * * *'), 1_800)
  assert.deepEqual(
    slots.map(({ slot, late, owedTo }) => ({ slot, late, owedTo })),
    [{ slot: at(0), late: true, owedTo: null }],
  )
})

test('a late job that may overlap fires all its slots beside each other', () => {
  const { slots, decidedTo, next } = plan(entryOf(everySecond, { overlapPolicy: 'ALLOW' }), 600)
  assert.deepEqual(
    slots.map(({ slot }) => slot),
    Array.from({ length: 62 }, (_, i) => at(539 + i)),
  )
  assert(slots.every(({ late, owedTo }) => !late && owedTo === null))
  assert.deepEqual(slots[0]!.skipped, [{ from: at(0), to: at(538), count: 539, reason: 'misfire' }])
  assert(slots.slice(1).every(({ skipped }) => skipped.length === 0))
  assert(
    slots.slice(0, -1).every(({ move }) => move === null),
    'only the last one moves the cursor',
  )
  assert.deepEqual(slots.at(-1)!.move, { slotAt: at(601), dueAt: at(601), decidedTo: at(600) })
  assert.deepEqual([decidedTo, next], [at(600), at(601)])
})

test('a slot that is late by load alone is a slot like any other, until it is misfired', () => {
  const entry = entryOf(everySecond)
  entry.slot = at(10)
  const planAt = (now: number, outageUpTo: number) => {
    const options = { misfireAfterMs: 60_000, staysInMemory: () => true }
    const { slots, next } = planSlots(entry, { now: at(now), outageUpTo: at(outageUpTo), ...options })
    return [slots[0]!.slot, slots[0]!.late, slots[0]!.owedTo, next]
  }
  assert.deepEqual(planAt(20, 9), [at(10), false, null, at(11)])
  assert.deepEqual(planAt(70, 9), [at(10), false, null, at(11)])
  // Delayed by an outage, it is owed with all slots that came since.
  assert.deepEqual(planAt(20, 10), [at(10), true, at(20), at(21)])
  assert.equal(planAt(71, 9)[1], true)
  entry.delayedByOutage = true
  assert.deepEqual(planAt(20, 9), [at(10), true, at(20), at(21)], 'it was tried in vain')
  assert.equal(planAt(12, 9)[1], false)
})

test('slots that were due before their job came into memory were delayed by an outage', () => {
  const late = entryOf(everySecond)
  const options = { misfireAfterMs: 60_000, outageUpTo: at(-10), staysInMemory: () => true }
  assert.equal(planSlots(late, { now: at(5), ...options }).slots[0]!.late, true)
})

test('more than a hundred late slots are fired in several plans, and none is left out', () => {
  const entry = entryOf(everySecond, { overlapPolicy: 'ALLOW' })
  const options = { now: at(250), misfireAfterMs: 600_000, outageUpTo: at(250), staysInMemory: () => true }
  const fired: EpochMs[] = []
  for (const expected of [100, 100, 51]) {
    const { slots, decidedTo, next } = planSlots(entry, options)
    assert.equal(slots.length, expected)
    assert.equal(slots.at(-1)!.slot, decidedTo)
    assert.deepEqual(slots.at(-1)!.move, { slotAt: next, dueAt: next, decidedTo })
    fired.push(...slots.map(({ slot }) => slot))
    entry.slot = next!
  }
  assert.deepEqual(
    fired,
    Array.from({ length: 251 }, (_, i) => at(i)),
  )
})

test('when no slot of a job runs any more, its last slot is recorded with the ranges before it', () => {
  const { slots, decidedTo, next } = plan(entryOf('*/10 * * * *', { misfireWindowSeconds: 30 }), 1_500)
  assert.equal(slots.length, 1)
  const { slot, skipped, skip, late, owedTo, move } = slots[0]!
  assert.equal(slot, at(1_200))
  assert.deepEqual(skipped, [{ from: at(0), to: at(1_200), count: 3, reason: 'misfire' }])
  assert.deepEqual({ skip, late, owedTo }, { skip: 'misfire', late: false, owedTo: null })
  assert.deepEqual(move, { slotAt: at(1_800), dueAt: at(1_800), decidedTo: at(1_200) })
  assert.deepEqual([decidedTo, next], [at(1_200), at(1_800)])
})

test('a single slot that is too old is recorded, and then none is left', () => {
  const schedule = { type: 'ONE_TIME', scheduled_time: '2026-01-02T10:00:00Z' } as const
  const { slots, next } = plan(entryOf(everySecond, { schedule, misfireWindowSeconds: 60 }), 61)
  assert.deepEqual(slots[0]!.skipped, [{ from: at(0), to: at(0), count: 1, reason: 'misfire' }])
  assert.equal(slots[0]!.skip, 'misfire')
  assert.deepEqual(slots[0]!.move, { slotAt: null, dueAt: null, decidedTo: at(0) })
  assert.equal(next, null)
})

test('a slot that is already recorded does not come into memory again', () => {
  assert.equal(entryOf(everySecond, { recordedAt: at(20) }).slot, at(21))
  const once = { type: 'ONE_TIME', scheduled_time: '2026-01-02T10:00:00Z' } as const
  assert.equal(toEntry(cursorOf(everySecond, { schedule: once, recordedAt: at(0) }), at(0)), null)
})
