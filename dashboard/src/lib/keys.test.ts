import assert from 'node:assert/strict'
import { test } from 'node:test'
import { strokeOf } from './keys.ts'

const plain = { metaKey: false, ctrlKey: false, altKey: false }

test('both the control and the command key are mod', () => {
  assert.equal(strokeOf({ ...plain, key: 'k', ctrlKey: true }), 'mod+k')
  assert.equal(strokeOf({ ...plain, key: 'K', metaKey: true }), 'mod+k')
})

test('a key that only modifies is no stroke', () => {
  assert.equal(strokeOf({ ...plain, key: 'Shift' }), null)
  assert.equal(strokeOf({ ...plain, key: 'j', altKey: true }), null)
  assert.equal(strokeOf({ ...plain, key: '?' }), '?')
})
