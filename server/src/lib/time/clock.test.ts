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

test('before the first sample, and a minute after the last, the uncertainty has no bound', () => {
  const { now, clock } = setup()
  assert.equal(clock.uncertaintyMs(), Number.POSITIVE_INFINITY)
  clock.observe({ sentMs: 990, receivedMs: 1_000, databaseMs: 500_000 })
  assert.equal(clock.uncertaintyMs(), 5, 'half of the round trip')
  now.ms = 61_000
  assert.equal(clock.uncertaintyMs(), 65, 'and what two hosts may drift apart in a minute')
  now.ms = 61_001
  assert.equal(clock.uncertaintyMs(), Number.POSITIVE_INFINITY)
  assert.equal(clock.databaseNow(), 560_006, 'whoever only writes history goes on')
})

test('a slow sample makes nothing worse, and a fast one makes it better', () => {
  const { now, clock } = setup()
  clock.observe({ sentMs: 0, receivedMs: 1_000, databaseMs: 500_500 })
  assert.equal(clock.uncertaintyMs(), 500)
  now.ms = 2_000
  clock.observe({ sentMs: 1_990, receivedMs: 2_000, databaseMs: 501_995 })
  assert.equal(clock.uncertaintyMs(), 5)
  now.ms = 4_000
  clock.observe({ sentMs: 2_000, receivedMs: 4_000, databaseMs: 503_000 })
  assert.equal(clock.uncertaintyMs(), 7)
  assert.equal(clock.databaseNow(), 504_000)
})

test('an old sample gives way once its drift outweighs its shorter round trip', () => {
  const { now, clock } = setup()
  clock.observe({ sentMs: 998, receivedMs: 1_000, databaseMs: 500_000 })
  now.ms = 21_000
  clock.observe({ sentMs: 20_980, receivedMs: 21_000, databaseMs: 519_995 })
  assert.equal(clock.uncertaintyMs(), 10)
  assert.equal(clock.databaseNow(), 520_005)
})

test('a step of either clock is reported, and nobody is to rely on the clock for three seconds', () => {
  const { now, clock } = setup()
  assert.equal(clock.observe({ sentMs: 998, receivedMs: 1_000, databaseMs: 500_000 }), 0)
  now.ms = 6_000
  assert.equal(clock.observe({ sentMs: 5_998, receivedMs: 6_000, databaseMs: 4_105_000 }), 3_599_996)
  assert.equal(clock.databaseNow(), 4_105_001)
  assert.equal(clock.uncertaintyMs(), 3_599_996)
  now.ms = 8_999
  assert.equal(clock.observe({ sentMs: 8_997, receivedMs: 8_999, databaseMs: 4_107_999 }), 0)
  assert(clock.uncertaintyMs() > 1_000, 'one good sample is not enough')
  now.ms = 9_000
  assert(clock.uncertaintyMs() < 2, 'then it is as good as its samples')
})

test('clocks that drift apart faster than the allowance are followed, with the added uncertainty', () => {
  const { now, clock } = setup()
  // Ours runs 5 % fast.
  for (let i = 0; i <= 4; i++) {
    now.ms = 10_000 + i * 5_250
    clock.observe({ sentMs: now.ms - 2, receivedMs: now.ms, databaseMs: 500_000 + i * 5_000 })
  }
  now.ms += 5_250
  const offMs = Math.abs(clock.databaseNow() - 525_000)
  assert(offMs > 200, `${offMs}`)
  assert(clock.uncertaintyMs() >= offMs - 2, `${clock.uncertaintyMs()} is less than ${offMs}`)
  assert(clock.uncertaintyMs() < 1_000, 'good enough to hold partitions')
})

test('a local clock that goes back says nothing: neither from a sample nor from earlier knowledge', () => {
  const { now, clock } = setup()
  clock.observe({ sentMs: 998, receivedMs: 1_000, databaseMs: 500_000 })
  clock.observe({ sentMs: 3_600_000, receivedMs: 1_100, databaseMs: 500_101 })
  now.ms = 1_100
  assert.equal(clock.databaseNow(), 500_101)
  now.ms = 500
  assert.equal(clock.uncertaintyMs(), Number.POSITIVE_INFINITY)
})

test('a clock of ours that jumps within a sample is found out by the next one', () => {
  const { now, clock } = setup()
  clock.observe({ sentMs: 998, receivedMs: 1_000, databaseMs: 500_000 })
  assert.equal(clock.observe({ sentMs: 1_999, receivedMs: 602_001, databaseMs: 501_000 }), 0)
  now.ms = 602_001
  assert.equal(clock.uncertaintyMs(), Number.POSITIVE_INFINITY)
  const stepMs = clock.observe({ sentMs: 602_100, receivedMs: 602_102, databaseMs: 501_101 })
  assert(Math.abs(stepMs - 600_000) < 10, `${stepMs}`)
})
