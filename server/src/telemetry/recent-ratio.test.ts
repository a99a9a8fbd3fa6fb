import assert from 'node:assert/strict'
import test from 'node:test'
import { RecentRatio, ratioOf } from './recent-ratio.ts'

test('the ratio covers five minutes and drops older observations', () => {
  let nowMs = 1_000_000
  const ratio = new RecentRatio(() => nowMs)
  assert.equal(ratio.read(), null)
  ratio.add(true)
  ratio.add(false)
  assert.equal(ratio.read(), 0.5)
  nowMs += 200_000
  ratio.add(true)
  ratio.add(true)
  assert.equal(ratio.read(), 0.75)
  nowMs += 110_000
  assert.equal(ratio.read(), 1)
  nowMs += 3_600_000
  assert.equal(ratio.read(), null)
})

test('of several the ratio is that of all that they counted', () => {
  const ratio = new RecentRatio(() => 0)
  assert.deepEqual(ratio.counts(), { good: 0, all: 0 })
  ratio.add(true)
  ratio.add(false)
  assert.deepEqual(ratio.counts(), { good: 1, all: 2 })
  assert.equal(ratioOf([ratio.counts(), { good: 6, all: 6 }]), 7 / 8)
  assert.equal(ratioOf([]), null)
})
