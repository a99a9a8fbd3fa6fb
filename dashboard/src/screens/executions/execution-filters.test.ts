import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelFilterOf, queryOf, redriveFilterOf } from './execution-filters.ts'

const now = Date.parse('2026-11-17T12:00:30Z')

test('a range becomes the minute it began in, and is not sent itself', () => {
  assert.deepEqual(queryOf({ range: '1h', status: 'FAILED' }, now), {
    status: 'FAILED',
    start_date: '2026-11-17T11:00:00.000Z',
  })
})

test('parameters of the address other than filters are not sent', () => {
  assert.deepEqual(queryOf({ tab: 'x', q: 'mail' }, now), { q: 'mail' })
})

test('all that match can be cancelled only when some have not ended, and never all of everything', () => {
  assert.deepEqual(cancelFilterOf({ tag: 'a', status: 'RUNNING' }), { tag: 'a', status: 'RUNNING' })
  assert.deepEqual(cancelFilterOf({ tag: 'a' }), { tag: 'a' })
  assert.equal(cancelFilterOf({ status: 'FAILED' }), null)
  assert.equal(cancelFilterOf({ dead_letter: 'true', tag: 'a' }), null)
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
