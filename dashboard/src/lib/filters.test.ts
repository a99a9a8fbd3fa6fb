import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatSearch, parseSearch, queryOf, withPatch } from './filters.ts'

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

const now = Date.parse('2026-11-17T12:00:30Z')

test('a range becomes the minute it began in, and is not sent itself', () => {
  assert.deepEqual(queryOf({ range: '1h', status: 'FAILED' }, ['status', 'range'], now), {
    status: 'FAILED',
    start_date: '2026-11-17T11:00:00.000Z',
  })
})

test('parameters of the address other than filters are not sent', () => {
  assert.deepEqual(queryOf({ tab: 'x', q: 'mail' }, ['q', 'status'], now), { q: 'mail' })
})
