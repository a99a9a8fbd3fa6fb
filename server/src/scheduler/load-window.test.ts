import assert from 'node:assert/strict'
import test from 'node:test'
import { epochMs } from '../lib/time/epoch.ts'
import { LoadWindow } from './load-window.ts'

const at = (seconds: number) => epochMs(Date.UTC(2026, 0, 2) + seconds * 1_000)

function holding(...partitionIds: number[]): LoadWindow {
  const window = new LoadWindow()
  window.hold(partitionIds)
  return window
}

test('a partition that was just taken covers nothing and is loaded from the beginning', () => {
  const window = holding(3, 5)
  assert.deepEqual(window.partitionIds, [3, 5])
  assert.equal(window.covers(3, at(0)), false)
  assert.deepEqual(window.begin(at(30), at(60)), [
    { partitionId: 3, after: null },
    { partitionId: 5, after: null },
  ])
})

test('rows of a load count as covered from the beginning of the load', () => {
  const window = holding(3)
  window.begin(at(30), at(60))
  assert.equal(window.covers(3, at(60)), true)
  assert.equal(window.covers(3, epochMs(at(60) + 1)), false)
  assert.equal(window.covers(4, at(0)), false, 'another’s partition')
})

test('a whole load covers up to its bound, and the next one goes on behind its last row', () => {
  const window = holding(3)
  window.begin(at(30), at(60))
  window.end(3, { dueAt: at(40), jobId: 'b' }, true)
  assert.equal(window.covers(3, at(60)), true)
  assert.deepEqual(window.begin(at(60), at(90)), [], 'all that is wanted is there')
  assert.deepEqual(window.begin(at(61), at(91)), [{ partitionId: 3, after: { dueAt: at(40), jobId: 'b' } }])
})

test('a load cut short covers up to its last row, and goes on from there at once', () => {
  const window = holding(3)
  window.begin(at(30), at(60))
  window.end(3, { dueAt: at(20), jobId: 'b' }, false)
  assert.equal(window.covers(3, at(20)), true)
  assert.equal(window.covers(3, at(21)), false)
  assert.deepEqual(window.begin(at(30), at(60)), [{ partitionId: 3, after: { dueAt: at(20), jobId: 'b' } }])
})

test('after a load that finds nothing the next one goes on behind the last loaded row', () => {
  const window = holding(3)
  window.begin(at(30), at(60))
  window.end(3, { dueAt: at(40), jobId: 'b' }, true)
  window.begin(at(90), at(120))
  window.end(3, null, true)
  assert.deepEqual(window.begin(at(150), at(180)), [{ partitionId: 3, after: { dueAt: at(40), jobId: 'b' } }])
})

test('a partition that is kept stays loaded, and one that left and came back does not', () => {
  const window = holding(3, 5)
  window.begin(at(30), at(60))
  window.hold([5])
  assert.deepEqual([window.has(3), window.has(5)], [false, true])
  assert.equal(window.covers(3, at(10)), false)
  assert.equal(window.covers(5, at(10)), true)
  window.hold([3, 5])
  assert.equal(window.covers(3, at(10)), false)
  assert.deepEqual(window.begin(at(30), at(60)), [{ partitionId: 3, after: null }])
})

test('the end of a load of a partition that left meanwhile changes nothing', () => {
  const window = holding(3)
  window.begin(at(30), at(60))
  window.hold([])
  window.end(3, { dueAt: at(20), jobId: 'b' }, false)
  assert.equal(window.has(3), false)
})

test('a reload starts everything from the beginning', () => {
  const window = holding(3)
  window.begin(at(30), at(60))
  window.end(3, { dueAt: at(40), jobId: 'b' }, true)
  window.reload()
  assert.equal(window.covers(3, at(0)), false)
  assert.deepEqual(window.begin(at(30), at(60)), [{ partitionId: 3, after: null }])
})

test('the end of a load that began before a reload does not shorten the reload', () => {
  const window = holding(3)
  window.begin(at(30), at(60))
  window.reload()
  window.end(3, { dueAt: at(40), jobId: 'b' }, true)
  assert.deepEqual(window.begin(at(30), at(60)), [{ partitionId: 3, after: null }])
})

test('the end of a load that began before a partition left and came back does not shorten its load', () => {
  const window = holding(3)
  window.begin(at(30), at(60))
  window.hold([])
  window.hold([3])
  window.end(3, { dueAt: at(40), jobId: 'b' }, false)
  assert.equal(window.covers(3, at(0)), false)
  assert.deepEqual(window.begin(at(30), at(60)), [{ partitionId: 3, after: null }])
})
