import assert from 'node:assert/strict'
import test from 'node:test'
import { Stop } from './stop.ts'

test('listeners are notified once, and none that has left', () => {
  const stop = new Stop()
  let told = 0
  const listener = () => {
    told += 1
  }
  stop.addEventListener('abort', listener)
  assert.throws(() => stop.addEventListener('abort', () => {}), /listens already/)
  stop.removeEventListener('abort', () => {})
  stop.abort()
  stop.abort()
  assert.deepEqual([told, stop.aborted], [1, true])
  const left = new Stop()
  left.addEventListener('abort', listener)
  left.removeEventListener('abort', listener)
  left.abort()
  assert.deepEqual([told, left.aborted], [1, true])
})
