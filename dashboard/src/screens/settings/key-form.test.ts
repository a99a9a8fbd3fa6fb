// The form of a new API key.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KeyForm, keyFormError, keyRequestOf, keyStateOf } from './key-form.ts'

const form: KeyForm = { name: ' deploy ', scopes: ['write', 'read'], expiry: '', isOperator: false }
const nowMs = Date.parse('2026-01-01T00:00:00Z')

test('a key without an end has none, and scopes are in their order', () => {
  assert.deepEqual(keyRequestOf(form, nowMs), { name: 'deploy', scopes: ['read', 'write'] })
})

test('a key that ends in 30 days and is an operator’s says so', () => {
  assert.deepEqual(keyRequestOf({ ...form, expiry: '30', isOperator: true }, nowMs), {
    name: 'deploy',
    scopes: ['read', 'write'],
    expires_at: '2026-01-31T00:00:00.000Z',
    operator: true,
  })
})

test('a name and a scope are needed', () => {
  assert.equal(keyFormError(form), null)
  assert.match(keyFormError({ ...form, name: '  ' })!, /name/)
  assert.match(keyFormError({ ...form, name: 'x'.repeat(129) })!, /128/)
  assert.match(keyFormError({ ...form, scopes: [] })!, /scope/)
})

test('a key is revoked before it is expired', () => {
  const past = '2025-12-31T00:00:00Z'
  assert.equal(keyStateOf({ revoked_at: null, expires_at: null }, nowMs), 'active')
  assert.equal(keyStateOf({ revoked_at: null, expires_at: past }, nowMs), 'expired')
  assert.equal(keyStateOf({ revoked_at: past, expires_at: past }, nowMs), 'revoked')
  assert.equal(keyStateOf({ revoked_at: null, expires_at: '2026-02-01T00:00:00Z' }, nowMs), 'active')
})
