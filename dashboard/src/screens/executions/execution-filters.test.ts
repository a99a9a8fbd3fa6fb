import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelFilterOf, redriveFilterOf } from './execution-filters.ts'

test('all that match can be cancelled only when some have not ended, and never all of everything', () => {
  assert.deepEqual(cancelFilterOf({ tag: 'a', status: 'RUNNING' }), { tag: 'a', status: 'RUNNING' })
  assert.deepEqual(cancelFilterOf({ tag: 'a' }), { tag: 'a' })
  assert.equal(cancelFilterOf({ status: 'FAILED' }), null)
  assert.equal(cancelFilterOf({ dead_letter: 'true', tag: 'a' }), null)
  assert.equal(cancelFilterOf({ worker_id: 'w', tag: 'a' }), null)
  assert.equal(cancelFilterOf({}), null)
})

test('a redrive is offered only where its filter finds the listed executions', () => {
  assert.deepEqual(redriveFilterOf({ dead_letter: 'true', job_id: 'j' }), { job_id: 'j' })
  assert.deepEqual(redriveFilterOf({ status: 'FAILED', error_type: 'HTTP_ERROR' }), {
    error_type: 'HTTP_ERROR',
  })
  assert.equal(redriveFilterOf({ dead_letter: 'true', tag: 'a' }), null)
  assert.equal(redriveFilterOf({ status: 'RUNNING' }), null)
  assert.equal(redriveFilterOf({}), null)
})
