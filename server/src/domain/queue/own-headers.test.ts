import assert from 'node:assert/strict'
import test from 'node:test'
import { isOwnHeader } from './own-headers.ts'

test('headers that identify, sign or answer for an attempt are ours; any other header is the job’s', () => {
  const ours = ['x-execution-id', 'traceparent', 'webhook-id', 'webhook-signature', 'x-carillon-token']
  assert.deepEqual(ours.filter(isOwnHeader), ours)
  assert.deepEqual(['authorization', 'x-execution', 'content-type', 'webhook'].filter(isOwnHeader), [])
})
