import assert from 'node:assert/strict'
import test from 'node:test'
import { RecentRatio } from './recent-ratio.ts'

test('the ratio covers five minutes and forgets what is older', () => {
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
