import assert from 'node:assert/strict'
import test from 'node:test'
import { SeededRandom } from '../../../test/virtual-world.ts'
import { floorOf, ownShareOf, sharesOf } from './request-shares.ts'

const sumOf = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0)

test('the shares are the limit together, and none is negative, for any requests', () => {
  const random = new SeededRandom(7)
  for (let round = 0; round < 500; round++) {
    const limit = 1 + Math.floor(random.next() * 1_000)
    const rates = Array.from({ length: 1 + Math.floor(random.next() * 12) }, () =>
      Math.floor(random.next() * random.next() * 3 * limit),
    )
    const shares = sharesOf(limit, rates)
    assert(Math.abs(sumOf(shares) - limit) < 1e-6 * limit, `${rates}: ${sumOf(shares)} of ${limit}`)
    assert(Math.min(...shares) >= 0)
    // The limit is used up: no share is larger than its requests where there are more than allowed.
    if (sumOf(rates) > limit) for (const [at, share] of shares.entries()) assert(share <= rates[at]! + 1e-9)
  }
})

test('a process alone has the whole limit', () => {
  assert.deepEqual(sharesOf(100, [3]), [100])
  assert.equal(Math.round(sharesOf(100, [5_000])[0]!), 100)
  assert.equal(ownShareOf(100, { own: 40, others: [], processes: 3 }), 100)
})

test('beyond the limit shares are in proportion to the requests, above a floor', () => {
  assert.deepEqual(
    sharesOf(100, [900, 300]).map((share) => Math.round(share)),
    [70, 30],
  )
  const [many, few] = sharesOf(100, [980, 4])
  assert.equal(few, 4, 'below the floor it has room for all')
  assert.equal(many, 96)
})

test('below the limit each process has room for its requests and an even part of the rest', () => {
  assert.deepEqual(sharesOf(100, [50, 20]), [65, 35])
  assert.deepEqual(sharesOf(100, [0, 0]), [50, 50])
})

test('a process with its first request has its floor at once, or an even share while nobody has requests', () => {
  assert.equal(ownShareOf(100, { own: null, others: [500], processes: 4 }), floorOf(100, 2))
  assert.equal(ownShareOf(100, { own: 0, others: [500, 100], processes: 4 }), floorOf(100, 3))
  assert.equal(ownShareOf(100, { own: null, others: [], processes: 4 }), 25)
  assert.equal(ownShareOf(100, { own: null, others: [], processes: 1 }), 100)
})

test('processes that know the same agree: their own shares are the limit together', () => {
  const rates = [300, 40, 90]
  const own = rates.map((rate, at) =>
    ownShareOf(120, { own: rate, others: rates.filter((_, other) => other !== at), processes: 3 }),
  )
  assert(Math.abs(sumOf(own) - 120) < 1e-9, String(own))
})
