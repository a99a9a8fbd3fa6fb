import assert from 'node:assert/strict'
import test from 'node:test'
import { SeededRandom } from '../../../test/virtual-world.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { minuteMs } from '../../lib/time/units.ts'
import { rankOf, triggerPriority } from './rank.ts'

const start = Date.UTC(2026, 0, 1)

/** The effective priority of the specification: every 60 s of waiting are worth one level. Less goes first. */
function effectivePriority(one: { enqueuedAt: EpochMs; priority: number }, now: number): number {
  return one.priority - (now - one.enqueuedAt) / minuteMs
}

test('the order by rank is the order by effective priority, whenever one looks', () => {
  const random = new SeededRandom(7)
  // Half minutes, so that ties come up too; exact in floating point.
  const draw = () => ({
    enqueuedAt: epochMs(start + Math.floor(random.next() * 60) * 30_000),
    priority: 1 + Math.floor(random.next() * 10),
  })
  let ties = 0
  for (let i = 0; i < 5_000; i++) {
    const a = draw()
    const b = draw()
    const byRank = Math.sign(rankOf(a.enqueuedAt, a.priority) - rankOf(b.enqueuedAt, b.priority))
    if (byRank === 0) ties += 1
    const later = Math.max(a.enqueuedAt, b.enqueuedAt) + Math.floor(random.next() * 1_000) * 30_000
    const byPriority = Math.sign(effectivePriority(a, later) - effectivePriority(b, later))
    assert.equal(byRank, byPriority, JSON.stringify({ a, b, later }))
  }
  assert(ties > 10, `${ties} ties`)
})

test('nothing is overtaken by an execution that was enqueued more than nine minutes after it', () => {
  const lowest = rankOf(epochMs(start), 10)
  assert(rankOf(epochMs(start + 9 * minuteMs - 1), 1) < lowest)
  assert.equal(rankOf(epochMs(start + 9 * minuteMs), 1), lowest)
  assert(rankOf(epochMs(start + 9 * minuteMs + 1), 1) > lowest)
})

test('a trigger goes two levels above its job, and never above the highest', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(triggerPriority), [1, 1, 1, 2, 3, 4, 5, 6, 7, 8])
})
