import assert from 'node:assert/strict'
import test from 'node:test'
import { LaneChooser, sharedLane } from './lane.ts'

/** The lanes of so many executions of a tenant, enqueued in one go. */
function enqueue(lanes: LaneChooser, tenantId: string, count: number, nowMs: number): string[] {
  return Array.from({ length: count }, () => lanes.choose(tenantId, nowMs))
}

function count(lanes: readonly string[], lane: string): number {
  return lanes.filter((one) => one === lane).length
}

test('fifty executions a second of a tenant go through the shared lane, and all further ones through its own lane', () => {
  const lanes = new LaneChooser()
  assert.deepEqual(new Set(enqueue(lanes, 'a', 50, 5_000)), new Set([sharedLane]))
  assert.deepEqual(new Set(enqueue(lanes, 'a', 50, 5_999)), new Set(['a']))
})

test('a steady fifty a second stay in the shared lane for ever', () => {
  const lanes = new LaneChooser()
  for (let second = 1; second < 20; second++)
    assert.equal(count(enqueue(lanes, 'a', 50, second * 1_000), sharedLane), 50)
})

test('a burst that goes on keeps its lane from the first execution of the next second', () => {
  const lanes = new LaneChooser()
  assert.equal(count(enqueue(lanes, 'a', 51, 5_000), 'a'), 1)
  for (let second = 6; second < 10; second++)
    assert.equal(count(enqueue(lanes, 'a', 51, second * 1_000), 'a'), 51, `second ${second}`)
})

test('a burst that is over gives its lane up a second later', () => {
  const lanes = new LaneChooser()
  enqueue(lanes, 'a', 500, 5_000)
  assert.deepEqual(enqueue(lanes, 'a', 1, 6_999), ['a'])
  assert.deepEqual(enqueue(lanes, 'a', 1, 7_000), [sharedLane])
})

test('a burst before a pause does not count', () => {
  const lanes = new LaneChooser()
  enqueue(lanes, 'a', 500, 5_000)
  assert.deepEqual(enqueue(lanes, 'a', 1, 7_000), [sharedLane])
  enqueue(lanes, 'b', 500, 8_000)
  assert.deepEqual(enqueue(lanes, 'b', 1, 3_600_000), [sharedLane])
})

test('one tenant’s burst does not move another tenant', () => {
  const lanes = new LaneChooser()
  enqueue(lanes, 'a', 500, 5_000)
  assert.deepEqual(enqueue(lanes, 'b', 1, 5_000), [sharedLane])
  assert.deepEqual(enqueue(lanes, 'b', 1, 6_000), [sharedLane])
})

test('with ten thousand tenants in one second further tenants stay in the shared lane, and counted ones are still counted', () => {
  const lanes = new LaneChooser()
  for (let i = 0; i < 10_000; i++) lanes.choose(`tenant ${i}`, 5_000)
  assert.deepEqual(new Set(enqueue(lanes, 'one too many', 200, 5_000)), new Set([sharedLane]))
  assert.equal(count(enqueue(lanes, 'tenant 0', 100, 5_000), 'tenant 0'), 51)
  // The next second starts anew.
  assert.equal(count(enqueue(lanes, 'one too many', 51, 6_000), 'one too many'), 1)
})
