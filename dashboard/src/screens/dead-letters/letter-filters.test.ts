// Filters of dead letters, and the parameters of a redrive.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryOf } from '../../lib/filters.ts'
import { letterFilterNames, readRate, redriveCommandOf, redriveSeconds } from './letter-filters.ts'

test('only filters that the API knows are sent from the address to the API', () => {
  const filters = { job_id: 'j', letter: 'x', error_type: 'TIMEOUT', nonsense: '1' }
  assert.deepEqual(queryOf(filters, letterFilterNames, 0), {
    job_id: 'j',
    error_type: 'TIMEOUT',
  })
})

test('the command of a redrive has its filters, and there is none for filters it does not have', () => {
  assert.equal(
    redriveCommandOf({ job_id: 'j', error_type: 'HTTP_ERROR' }, 10),
    "dead-letters redrive --filter job='j' --filter error='HTTP_ERROR' --rate 10",
  )
  assert.equal(redriveCommandOf({ reason: 'WORKER_LOST' }, 10), undefined)
  assert.equal(redriveCommandOf({}, 10), undefined)
})

test('a rate is a whole number from 1 to 1,000', () => {
  assert.equal(readRate('50'), 50)
  for (const wrong of ['', '0', '1001', '1.5', '-1', 'fast', '1e2']) assert.equal(readRate(wrong), null)
})

test('the time a redrive takes is at least a second', () => {
  assert.equal(redriveSeconds(0, 50), 1)
  assert.equal(redriveSeconds(101, 50), 3)
})
