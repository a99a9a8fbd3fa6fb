import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorWords, failureWords, type LastExecution } from './last-result.ts'

const failed: LastExecution = {
  execution_id: '019b76da-a87b-7003-97cc-4b34a88bc231',
  status: 'FAILED',
  finished_at: '2026-11-17T12:00:00Z',
  http_status: 503,
  error: { type: 'HTTP_ERROR', message: 'Callback returned 503 Service Unavailable' },
}

test('an error is named in a few words: by its HTTP status, or by its type', () => {
  assert.equal(errorWords(failed), 'HTTP 503')
  const refused = { type: 'CONNECTION_REFUSED', message: 'connect ECONNREFUSED' } as never
  assert.equal(errorWords({ ...failed, http_status: null, error: refused }), 'connection refused')
  const unknown = { ...failed, http_status: null, error: { type: null, message: '' } }
  assert.equal(errorWords(unknown), 'error')
  assert.equal(errorWords({ ...unknown, status: 'TIMED_OUT' }), '', 'its status says it')
  assert.equal(errorWords({ ...failed, status: 'SUCCEEDED', error: null }), '')
})

test('one failure is not a row of them', () => {
  assert.deepEqual([0, 1, 2].map(failureWords), ['', '', '2 failures in a row'])
})
