import assert from 'node:assert/strict'
import test from 'node:test'
import { OnceByText } from './once-by-text.ts'

test('something is made once of equal documents, and anew of another one', () => {
  const once = new OnceByText<object>()
  const first = once.get({ a: [1] }, () => ({}))
  assert.equal(
    once.get({ a: [1] }, () => assert.fail('made twice')),
    first,
  )
  assert.notEqual(
    once.get({ a: [2] }, () => ({})),
    first,
  )
})
