import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatSearch, parseSearch, withPatch } from './filters.ts'

test('filters go into the address as plain texts and come back the same', () => {
  const filters = { status: 'FAILED', q: 'a b&c="1"+2', tag: '007' }
  assert.equal(formatSearch({ status: 'FAILED' }), '?status=FAILED')
  assert.deepEqual(parseSearch(formatSearch(filters)), filters)
})

test('empty filters are not in the address', () => {
  assert.equal(formatSearch({ status: undefined, q: '' }), '')
  assert.deepEqual(withPatch({ status: 'FAILED', q: 'x' }, { status: undefined, q: '', tag: 'y' }), {
    tag: 'y',
  })
})
