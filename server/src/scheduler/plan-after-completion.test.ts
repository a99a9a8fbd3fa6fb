import assert from 'node:assert/strict'
import test from 'node:test'
import { MISFIRE_POLICIES } from '@carillon/contract/constants.ts'
import { at, cursorOf, entryOf, everySecond, plan } from '../../test/entry.ts'
import { epochMs, toRfc3339 } from '../lib/time/epoch.ts'
import type { Cursor } from '../ports/slots.ts'
import { toEntry } from './entry.ts'
import { planSlots } from './plan-slots.ts'

/** Ten minutes after the end of the last execution; the slot at second 7 is on no grid. */
function jobOf(schedule: Partial<Cursor['schedule']> = {}, changes: Partial<Cursor> = {}): Partial<Cursor> {
  return {
    schedule: { type: 'INTERVAL', every_seconds: 600, after_completion: true, ...schedule },
    anchorAt: at(-86_400),
    slotAt: at(7),
    dueAt: at(7),
    ...changes,
  }
}

const awaits = { slotAt: null, dueAt: null, decidedTo: at(7), awaits: true }

test('after its slot the job awaits the end of the execution: the next slot is not known', () => {
  const { slots, decidedTo, next } = plan(entryOf(everySecond, jobOf()), 7)
  assert.equal(slots.length, 1)
  const { slot, late, owedTo, previousSlot, skip, skipped, move } = slots[0]!
  assert.deepEqual(
    { slot, late, owedTo, previousSlot },
    { slot: at(7), late: false, owedTo: null, previousSlot: null },
  )
  assert.deepEqual({ skip, skipped, move }, { skip: null, skipped: [], move: awaits })
  assert.deepEqual([decidedTo, next], [at(7), null])
})

for (const [misfirePolicy, seconds] of [
  ['FIRE_ONCE', 10],
  ['FIRE_ONCE', 3_607],
  ['FIRE_ALL', 3_607],
  ['SKIP', 67],
] as const) {
  test(`a late slot runs under ${misfirePolicy} ${seconds - 7} s after its time, alone`, () => {
    const { slots, next } = plan(entryOf(everySecond, jobOf({}, { misfirePolicy })), seconds)
    assert.equal(slots.length, 1)
    const { slot, late, owedTo, skip, move } = slots[0]!
    assert.deepEqual({ slot, late, owedTo, skip }, { slot: at(7), late: true, owedTo: null, skip: null })
    assert.deepEqual([move, next], [awaits, null])
  })
}

for (const [misfirePolicy, seconds] of [
  ['FIRE_ONCE', 3_608],
  ['FIRE_ALL', 3_608],
  ['SKIP', 68],
] as const) {
  test(`under ${misfirePolicy} a slot that is too old is skipped, and the interval begins anew`, () => {
    const { slots, decidedTo, next } = plan(entryOf(everySecond, jobOf({}, { misfirePolicy })), seconds)
    assert.equal(slots.length, 1)
    const { slot, skip, skipped, move } = slots[0]!
    assert.deepEqual([slot, skip], [at(7), 'misfire'])
    assert.deepEqual(skipped, [{ from: at(7), to: at(7), count: 1, reason: 'misfire' }])
    const nextAt = at(seconds + 600)
    assert.deepEqual(move, { slotAt: nextAt, dueAt: nextAt, decidedTo: at(7) })
    assert.deepEqual([decidedTo, next], [at(7), nextAt])
  })
}

test('an excluded slot is recorded, and the next one comes an interval after it', () => {
  const exclusions = [{ from: toRfc3339(at(0)), to: toRfc3339(at(1_000)) }]
  const entry = entryOf(everySecond, jobOf({ exclusions }))
  const { slots, next } = plan(entry, 9)
  const { skip, skipped, previousSlot, move } = slots[0]!
  assert.deepEqual({ skip, skipped, previousSlot }, { skip: 'exclusion', skipped: [], previousSlot: null })
  assert.deepEqual(move, { slotAt: at(607), dueAt: at(607), decidedTo: at(7) })
  assert.equal(next, at(607))
  entry.slot = at(607)
  assert.deepEqual([plan(entry, 607).slots[0]!.skip, plan(entry, 607).next], ['exclusion', at(1_207)])
  entry.slot = at(1_207)
  assert.equal(plan(entry, 1_207).slots[0]!.skip, null, 'past the exclusion it runs')
})

test('an excluded slot that comes late is followed by one after now, not by all between', () => {
  const exclusions = [{ from: toRfc3339(at(0)), to: toRfc3339(at(1_000)) }]
  for (const misfirePolicy of MISFIRE_POLICIES) {
    const { slots, next } = plan(entryOf(everySecond, jobOf({ exclusions }, { misfirePolicy })), 50_000)
    assert.deepEqual([slots[0]!.skip, slots[0]!.skipped, next], ['exclusion', [], at(50_600)])
  }
})

test('calendars do not keep the next slot from being known', () => {
  const calendars = { entries: { holidays: [{ date: '2026-01-02' }] }, revision: 1 }
  const { slots, next } = plan(
    entryOf(everySecond, jobOf({ exclusions: [{ calendar: 'holidays' }] }, { calendars })),
    7,
  )
  assert.deepEqual([slots[0]!.skip, next], ['exclusion', at(607)])
})

test('without a slot before its end the job has none left after a skip', () => {
  const entry = entryOf(everySecond, jobOf({ end_at: toRfc3339(at(600)) }, { misfirePolicy: 'SKIP' }))
  const { slots, next } = plan(entry, 100)
  assert.deepEqual(slots[0]!.move, { slotAt: null, dueAt: null, decidedTo: at(7) })
  assert.equal(next, null)
})

test('with max_runs a run counts, a skip does not', () => {
  const entry = entryOf(everySecond, jobOf({ max_runs: 3 }, { runs: 1, misfirePolicy: 'SKIP' }))
  assert.deepEqual(plan(entry, 7).slots[0]!.runs, { max: 3, count: 1 })
  assert.deepEqual(plan(entry, 500).slots[0]!.runs, { max: 3, count: 0 })
})

test('jitter moves the due time, and lateness counts from it', () => {
  const entry = entryOf(everySecond, jobOf({}, { jitterSeconds: 300, misfirePolicy: 'SKIP' }))
  assert(entry.dueAt > at(7) && entry.dueAt < at(307))
  const skipAt = (now: number) =>
    planSlots(entry, {
      now: epochMs(now),
      misfireAfterMs: 60_000,
      outageUpTo: epochMs(now),
      staysInMemory: () => true,
    }).slots[0]!.skip
  assert.deepEqual([skipAt(entry.dueAt + 60_000), skipAt(entry.dueAt + 60_001)], [null, 'misfire'])
})

test('a job with an already recorded slot is not loaded into memory, since the end of that slot is awaited', () => {
  assert.equal(toEntry(cursorOf(everySecond, jobOf({}, { recordedAt: at(7) })), at(0)), null)
})
