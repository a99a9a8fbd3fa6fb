import assert from 'node:assert/strict'
import test from 'node:test'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { latePlansOf } from './late-plan.ts'
import type { SkippedSlots } from './misfire.ts'

const skip = (from: number, to: number, reason: SkippedSlots['reason']): SkippedSlots => ({
  from: epochMs(from),
  to: epochMs(to),
  count: to - from + 1,
  reason,
})

function slotOf(slot: number, { skipped = [] as SkippedSlots[], decidedTo = null as number | null } = {}) {
  const move = decidedTo === null ? null : { decidedTo: epochMs(decidedTo) }
  return { jobId: 'a job', slot: epochMs(slot), skipped, move }
}

function planOf(...slots: ReturnType<typeof slotOf>[]): { from: EpochMs; to: EpochMs } | undefined {
  return latePlansOf(slots).get('a job')
}

test('a slot alone is no late plan, whether its cursor moves or not', () => {
  assert.equal(planOf(slotOf(5)), undefined)
  assert.equal(planOf(slotOf(5, { decidedTo: 5 })), undefined)
})

test('a plan reaches from the first skipped slot to the last that is decided', () => {
  const skipped = [skip(1, 2, 'misfire'), skip(3, 4, 'exclusion')]
  assert.deepEqual(planOf(slotOf(5, { skipped, decidedTo: 9 })), { from: 1, to: 9 })
  assert.deepEqual(planOf(slotOf(5, { skipped })), { from: 1, to: 5 })
  assert.deepEqual(planOf(slotOf(5, { decidedTo: 9 })), { from: 5, to: 9 })
})

test('a slot that is only recorded, as the only one, is no late plan', () => {
  assert.equal(planOf(slotOf(5, { skipped: [skip(5, 5, 'misfire')], decidedTo: 5 })), undefined)
})

test('several slots of a job are one plan, and each job has its own', () => {
  const skipped = [skip(1, 4, 'misfire')]
  const other = { ...slotOf(3, { decidedTo: 6 }), jobId: 'another' }
  const plans = latePlansOf([slotOf(5, { skipped }), other, slotOf(6), slotOf(7, { decidedTo: 7 })])
  assert.deepEqual(Object.fromEntries(plans), { 'a job': { from: 1, to: 7 }, another: { from: 3, to: 6 } })
})
