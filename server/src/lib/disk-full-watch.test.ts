import assert from 'node:assert/strict'
import test from 'node:test'
import { DiskFullWatch } from './disk-full-watch.ts'

test('a full disk is told once a minute, and remembered for half a minute', () => {
  let nowMs = 0
  let told = 0
  const watch = new DiskFullWatch(
    () => nowMs,
    () => {
      told += 1
    },
  )
  assert.equal(watch.isFull(), false)
  for (; nowMs < 60_000; nowMs += 1_000) watch.note()
  assert.deepEqual([told, watch.isFull()], [1, true])
  watch.note()
  assert.equal(told, 2)
  nowMs += 29_999
  assert.equal(watch.isFull(), true)
  nowMs += 1
  assert.equal(watch.isFull(), false)
})
