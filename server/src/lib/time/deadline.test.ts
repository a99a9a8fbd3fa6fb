import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import { withDeadline } from './deadline.ts'

test('a promise that settles in time passes through, value or error, and leaves no timer behind', async () => {
  const { timers } = createVirtualWorld()
  assert.equal(await withDeadline(timers, 100, Promise.resolve(7)), 7)
  await assert.rejects(withDeadline(timers, 100, Promise.reject(new Error('no'))), /no/)
  assert.equal(timers.pending, 0)
})

test('a promise that takes longer is late', async () => {
  const { timers, advance } = createVirtualWorld()
  const result = withDeadline(timers, 100, new Promise(() => {}))
  await advance(100)
  assert.equal(await result, 'late')
})
