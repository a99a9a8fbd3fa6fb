import assert from 'node:assert/strict'
import test from 'node:test'
import { DatabaseClock } from './clock.ts'

function setup() {
  const now = { ms: 1_000 }
  const clock = new DatabaseClock(() => now.ms)
  return { now, clock }
}

test('reading the database clock before it was measured is a broken invariant', () => {
  const { clock } = setup()
  assert.throws(() => clock.databaseNow(), /before it was first measured/)
})

test('the clock runs on from the middle of the sampled round trip', () => {
  const { now, clock } = setup()
  clock.observe({ sentMs: 990, receivedMs: 1_000, databaseMs: 500_000 })
  assert.equal(clock.databaseNow(), 500_005)
  now.ms = 2_000
  assert.equal(clock.databaseNow(), 501_005)
})

test('a slower round trip does not replace a faster one', () => {
  const { clock } = setup()
  clock.observe({ sentMs: 999, receivedMs: 1_001, databaseMs: 500_000 })
  clock.observe({ sentMs: 1_000, receivedMs: 1_100, databaseMs: 500_090 })
  assert.equal(clock.databaseNow(), 500_000)
})

test('a slow sample still replaces one that a step of the database clock made impossible', () => {
  const { now, clock } = setup()
  clock.observe({ sentMs: 999, receivedMs: 1_001, databaseMs: 500_000 })
  clock.observe({ sentMs: 1_000, receivedMs: 1_100, databaseMs: 4_100_000 })
  now.ms = 1_100
  assert.equal(clock.databaseNow(), 4_100_050)
})

test('after a minute the best of the newer samples takes over, not just the next one', () => {
  const { now, clock } = setup()
  clock.observe({ sentMs: 999, receivedMs: 1_001, databaseMs: 500_000 })
  clock.observe({ sentMs: 30_999, receivedMs: 31_003, databaseMs: 530_004 })
  clock.observe({ sentMs: 61_000, receivedMs: 61_100, databaseMs: 560_090 })
  now.ms = 61_100
  assert.equal(clock.databaseNow(), 560_103)
})

test('a sample older than a minute gives way, so that drift cannot build up', () => {
  const { now, clock } = setup()
  clock.observe({ sentMs: 999, receivedMs: 1_001, databaseMs: 500_000 })
  clock.observe({ sentMs: 61_000, receivedMs: 61_010, databaseMs: 560_010 })
  now.ms = 61_010
  assert.equal(clock.databaseNow(), 560_015)
})
