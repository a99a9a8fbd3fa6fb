import assert from 'node:assert/strict'
import test from 'node:test'
import { HerdBackpressure } from './herd-backpressure.ts'

test('a herd causes backpressure from its arrival until it is nearly fired', () => {
  const backpressure = new HerdBackpressure()
  const looks = [10_000, 50_000, 19_000, 2_001, 2_000, 10_000].map((waiting, n) =>
    backpressure.check(waiting, n),
  )
  assert.deepEqual(looks, [false, true, true, true, false, false])
})

test('a herd that cannot be fired causes backpressure for 20 s only, and again after the scheduler has caught up', () => {
  const backpressure = new HerdBackpressure()
  assert.equal(backpressure.check(50_000, 0), true)
  assert.equal(backpressure.check(50_000, 19_999), true)
  assert.equal(backpressure.check(50_000, 20_000), false)
  assert.equal(backpressure.check(50_000, 90_000), false)
  assert.equal(backpressure.check(0, 91_000), false)
  assert.equal(backpressure.check(50_000, 92_000), true)
})
