import assert from 'node:assert/strict'
import test from 'node:test'
import { isOwnHeader } from './own-headers.ts'

test('what identifies, signs or answers for an attempt is ours; anything else is the job’s', () => {
  const ours = ['x-execution-id', 'traceparent', 'webhook-id', 'webhook-signature', 'x-carillon-token']
  assert.deepEqual(ours.filter(isOwnHeader), ours)
  assert.deepEqual(['authorization', 'x-execution', 'content-type', 'webhook'].filter(isOwnHeader), [])
})
