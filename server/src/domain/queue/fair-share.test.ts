import assert from 'node:assert/strict'
import test from 'node:test'
import { SeededRandom } from '../../../test/virtual-world.ts'
import { FairShare, type LaneWeight } from './fair-share.ts'
import { sharedLane } from './lane.ts'

const shared: LaneWeight = { lane: sharedLane, weight: 1 }
const free: LaneWeight = { lane: 'free', weight: 1 }
const pro: LaneWeight = { lane: 'pro', weight: 3 }
const enterprise: LaneWeight = { lane: 'enterprise', weight: 10 }
const none = () => 0

/** Rounds in which every lane has as much work as it is offered, and nothing stays in flight. */
function serve(
  share: FairShare,
  lanes: readonly LaneWeight[],
  { rounds, places }: { rounds: number; places: number },
): Record<string, number> {
  const served: Record<string, number> = {}
  for (let round = 0; round < rounds; round++) {
    for (const { lane, count } of share.split(lanes, { free: places, capacity: 2_000, inFlight: none })) {
      share.count(lane, count)
      served[lane] = (served[lane] ?? 0) + count
    }
  }
  return served
}

function total(shares: readonly { count: number }[]): number {
  return shares.reduce((sum, { count }) => sum + count, 0)
}

test('a lane that is alone gets everything that is free', () => {
  const share = new FairShare()
  const places = { free: 2_000, capacity: 2_000, inFlight: none }
  assert.deepEqual(share.split([pro], places), [{ lane: 'pro', count: 2_000 }])
  assert.deepEqual(share.split([shared], places), [{ lane: sharedLane, count: 2_000 }])
})

test('the shared lane comes first, with half of the free capacity while others wait', () => {
  const share = new FairShare()
  const [first, ...others] = share.split([enterprise, shared, free], {
    free: 7,
    capacity: 2_000,
    inFlight: none,
  })
  assert.deepEqual(first, { lane: sharedLane, count: 4 })
  assert.equal(total(others), 3)
  // The last free place is the shared lane's.
  assert.deepEqual(share.split([enterprise, shared], { free: 1, capacity: 2_000, inFlight: none }), [
    { lane: sharedLane, count: 1 },
  ])
})

for (const places of [10, 100, 500, 2_000]) {
  test(`weights are kept over many rounds of ${places} places`, () => {
    const served = serve(new FairShare(), [enterprise, free, pro], { rounds: 2_000, places })
    const all = 2_000 * places
    const expected = { free: 1 / 14, pro: 3 / 14, enterprise: 10 / 14 }
    for (const [lane, part] of Object.entries(expected)) {
      const got = served[lane]! / all
      assert(
        Math.abs(got - part) < 0.02,
        `${lane} got ${got.toFixed(3)}, its weight is worth ${part.toFixed(3)}`,
      )
    }
  })
}

test('equal weights get equal shares, regardless of the order of the lanes', () => {
  const a = { lane: 'a', weight: 3 }
  const b = { lane: 'b', weight: 3 }
  const share = new FairShare()
  const one = serve(share, [a, b], { rounds: 500, places: 30 })
  const two = serve(share, [b, a], { rounds: 500, places: 30 })
  assert(Math.abs(one['a']! + two['a']! - one['b']! - two['b']!) <= 100)
})

test('capacity that a lane was offered and did not use does not count as served', () => {
  const share = new FairShare()
  const a = { lane: 'a', weight: 1 }
  const b = { lane: 'b', weight: 1 }
  const places = { free: 100, capacity: 2_000, inFlight: none }
  const first = share.split([a, b], places)
  assert.deepEqual(first, [{ lane: 'a', count: 100 }])
  share.count('a', 3)
  // Served 3 against 0: the other's turn, and then the first one's again.
  assert.deepEqual(share.split([a, b], places), [{ lane: 'b', count: 100 }])
  share.count('b', 100)
  assert.deepEqual(share.split([a, b], places), [{ lane: 'a', count: 100 }])
})

for (const { lane, weight } of [free, enterprise]) {
  test(`a lane of weight ${weight} that becomes active does not collect for the time it was idle`, () => {
    const share = new FairShare()
    const busy = [
      { lane: 'busy a', weight: 10 },
      { lane: 'busy b', weight: 1 },
    ]
    serve(share, busy, { rounds: 1_000, places: 100 })
    const joined = [...busy, { lane, weight }]
    const served = serve(share, joined, { rounds: 21, places: 100 })
    const fair = (2_100 * weight) / (11 + weight)
    assert(Math.abs(served[lane]! - fair) <= 200, `${served[lane]} of 2,100, fair is ${Math.round(fair)}`)
    // Nor for the time it is idle between two bursts.
    serve(share, busy, { rounds: 1_000, places: 100 })
    const again = serve(share, joined, { rounds: 21, places: 100 })
    assert(Math.abs(again[lane]! - fair) <= 200, `${again[lane]} of 2,100, fair is ${Math.round(fair)}`)
  })
}

test('a lane does not collect shares for the round before', () => {
  const share = new FairShare()
  const a = { lane: 'a', weight: 1 }
  serve(share, [a], { rounds: 1, places: 2_000 })
  const served = serve(share, [a, { lane: 'b', weight: 1 }], { rounds: 4, places: 100 })
  assert.deepEqual(served, { a: 200, b: 200 })
})

test('while others wait, one lane has at most half of the worker, including its executions in flight', () => {
  const share = new FairShare()
  const inFlight = (lane: string) => (lane === 'enterprise' ? 900 : 0)
  const equal = { lane: 'equal', weight: enterprise.weight }
  const shares = share.split([enterprise, equal], { free: 1_100, capacity: 2_000, inFlight })
  assert.deepEqual(
    shares.toSorted((a, b) => a.count - b.count),
    [
      { lane: 'enterprise', count: 100 },
      { lane: 'equal', count: 1_000 },
    ],
  )
  // Or its share by weight, where that is more: 10 of 11.
  const [most] = share.split([enterprise, free], { free: 2_000, capacity: 2_000, inFlight: () => 0 })
  assert(most!.lane === 'enterprise' && most!.count > 1_700 && most!.count <= 1_818, JSON.stringify(most))
  const full = (lane: string) => (lane === 'enterprise' ? 1_500 : 0)
  assert.deepEqual(share.split([enterprise, shared], { free: 500, capacity: 2_000, inFlight: full }), [
    { lane: sharedLane, count: 250 },
  ])
  // Alone it may have all of it.
  assert.deepEqual(share.split([enterprise], { free: 1_100, capacity: 2_000, inFlight }), [
    { lane: 'enterprise', count: 1_100 },
  ])
})

test('a worker with a capacity of 1 serves one lane after the other', () => {
  const share = new FairShare()
  const lanes = [
    { lane: 'a', weight: 1 },
    { lane: 'b', weight: 1 },
  ]
  const turns: string[] = []
  for (let i = 0; i < 6; i++) {
    const [one] = share.split(lanes, { free: 1, capacity: 1, inFlight: none })
    assert.equal(one!.count, 1)
    share.count(one!.lane, 1)
    turns.push(one!.lane)
  }
  assert.deepEqual(turns, ['a', 'b', 'a', 'b', 'a', 'b'])
})

test('never more places are handed out than are free, and none of them in shares of nothing', () => {
  const random = new SeededRandom(11)
  const draw = (below: number) => Math.floor(random.next() * below)
  const share = new FairShare()
  for (let i = 0; i < 3_000; i++) {
    const lanes = [shared, free, pro, enterprise, { lane: 'a', weight: 3 }, { lane: 'b', weight: 1 }]
      .filter(() => random.next() < 0.6)
      .toSorted(() => random.next() - 0.5)
    const capacity = 1 + draw(3_000)
    const held = new Map(lanes.map(({ lane }) => [lane, draw(capacity)]))
    const places = { free: 1 + draw(capacity), capacity, inFlight: (lane: string) => held.get(lane)! }
    const shares = share.split(lanes, places)
    assert(total(shares) <= places.free, `${total(shares)} of ${places.free}`)
    assert(shares.every(({ count }) => count > 0))
    assert.equal(new Set(shares.map(({ lane }) => lane)).size, shares.length)
    for (const { lane, count } of shares) share.count(lane, draw(count + 1))
  }
})
