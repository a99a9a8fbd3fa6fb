import assert from 'node:assert/strict'
import test from 'node:test'
import { Pressure } from './herd-backpressure.ts'

test('a herd presses from when it comes until it is nearly fired', () => {
  const pressure = new Pressure()
  const looks = [10_000, 50_000, 19_000, 2_001, 2_000, 10_000].map((waiting, n) => pressure.look(waiting, n))
  assert.deepEqual(looks, [false, true, true, true, false, false])
})

test('more than can be fired presses for a while only, and again once it was kept up with', () => {
  const pressure = new Pressure()
  assert.equal(pressure.look(50_000, 0), true)
  assert.equal(pressure.look(50_000, 19_999), true)
  assert.equal(pressure.look(50_000, 20_000), false)
  assert.equal(pressure.look(50_000, 90_000), false)
  assert.equal(pressure.look(0, 91_000), false)
  assert.equal(pressure.look(50_000, 92_000), true)
})
