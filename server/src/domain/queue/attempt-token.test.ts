import assert from 'node:assert/strict'
import test from 'node:test'
import { HmacSha256 } from '../../lib/hmac.ts'
import { attemptTokenOf, readAttemptToken } from './attempt-token.ts'

const key = new HmacSha256(Buffer.alloc(32, 1))
const one = {
  tenantId: '00000000-0000-7000-8000-000000000001',
  executionId: '0192abcd-ef01-7000-8000-000000000001',
  attempt: 3,
  fence: 5,
}

test('a token tells its attempt, its claim and its tenant', () => {
  assert.deepEqual(readAttemptToken(key, one.executionId, attemptTokenOf(key, one)), one)
})

test('a token is good for its own execution, attempt, claim and tenant, and under its own key', () => {
  const token = attemptTokenOf(key, one)
  const [, , tenant, mac] = token.split('.')
  const other = '0192abcd-ef01-7000-8000-000000000002'
  assert.equal(readAttemptToken(key, other, token), null)
  assert.equal(readAttemptToken(key, one.executionId, `4.5.${tenant}.${mac}`), null)
  assert.equal(readAttemptToken(key, one.executionId, `3.6.${tenant}.${mac}`), null)
  assert.equal(readAttemptToken(key, one.executionId, `3.5.${other.replaceAll('-', '')}.${mac}`), null)
  assert.equal(readAttemptToken(new HmacSha256(Buffer.alloc(32, 2)), one.executionId, token), null)
})

test('a malformed token is never accepted', () => {
  const token = attemptTokenOf(key, one)
  const odd = [
    '',
    '.',
    '3',
    '3..',
    '3.5..',
    token.replace('3.5.', '3.'),
    token.replace('3.5.', '3.05.'),
    `0${token}`,
    `${token}A`,
    token.slice(0, -1),
    token.toUpperCase(),
    ` ${token}`,
  ]
  for (const text of odd) assert.equal(readAttemptToken(key, one.executionId, text), null, text)
})
