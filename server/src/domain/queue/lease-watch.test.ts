import assert from 'node:assert/strict'
import test from 'node:test'
import { LeaseWatch } from './lease-watch.ts'

const setup = () => new LeaseWatch({ termMs: 10_000, lookMsMax: 3_000 })

test('a worker is silent when its counter stands still for the term', () => {
  const watch = setup()
  const beats = [{ holderId: 'a', beats: 7 }]
  for (let nowMs = 0; nowMs < 10_000; nowMs += 1_000) assert.deepEqual(watch.look(beats, nowMs), [])
  assert.deepEqual(watch.look(beats, 10_000), [{ holderId: 'a', beats: 7, silentMs: 10_000 }])
})

test('a single beat within the term starts it anew', () => {
  const watch = setup()
  for (let nowMs = 0; nowMs <= 30_000; nowMs += 1_000) {
    const beats = Math.floor(nowMs / 9_000)
    assert.deepEqual(watch.look([{ holderId: 'a', beats }], nowMs), [])
  }
})

test('a watcher that could not look for a while accuses nobody of its own absence', () => {
  const watch = setup()
  const beats = [{ holderId: 'a', beats: 1 }]
  watch.look(beats, 0)
  watch.look(beats, 2_000)
  assert.deepEqual(watch.look(beats, 60_000), [])
  for (let nowMs = 61_000; nowMs < 70_000; nowMs += 1_000) assert.deepEqual(watch.look(beats, nowMs), [])
  assert.equal(watch.look(beats, 70_000).length, 1)
})

test('a worker that left is forgotten', () => {
  const watch = setup()
  watch.look([{ holderId: 'a', beats: 1 }], 0)
  watch.look([], 2_000)
  assert.deepEqual(watch.look([{ holderId: 'a', beats: 1 }], 4_000), [])
})

test('a watcher starts anew when its clock goes back, and does not wait until it is where it was', () => {
  const watch = setup()
  const beats = [{ holderId: 'a', beats: 1 }]
  watch.look(beats, 3_600_000)
  for (let nowMs = 0; nowMs < 10_000; nowMs += 1_000) assert.deepEqual(watch.look(beats, nowMs), [])
  assert.equal(watch.look(beats, 10_000).length, 1)
})
