import assert from 'node:assert/strict'
import test from 'node:test'
import { realRandom } from '../../lib/random.ts'
import {
  apiKeyBytes,
  expandScopes,
  formatApiKey,
  hashKey,
  isWholeApiKey,
  lackedScopes,
  prefixOf,
  SCOPES,
} from './api-key.ts'

test('a key is recognised whole, and no single changed character goes unnoticed', () => {
  for (let i = 0; i < 50; i++) {
    const key = formatApiKey(realRandom.bytes(apiKeyBytes))
    assert.match(key, /^crl_[0-9a-z]{38}$/)
    assert(isWholeApiKey(key))
    for (let at = 4; at < key.length; at++) {
      const other = key[at] === '0' ? '1' : '0'
      assert(!isWholeApiKey(key.slice(0, at) + other + key.slice(at + 1)))
    }
    assert(!isWholeApiKey(key.slice(0, -1)))
  }
})

test('the shown prefix of a key is its beginning, and the stored hash is its SHA-256', () => {
  const key = formatApiKey(realRandom.bytes(apiKeyBytes))
  assert.equal(prefixOf(key), key.slice(0, 12))
  const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
  assert.equal(hashKey('test').toHex(), hash)
})

test('admin includes the other scopes, which are independent of each other', () => {
  assert.deepEqual([...expandScopes(['admin'])], [...SCOPES])
  assert.deepEqual([...expandScopes(['write'])], ['write'])
  assert.deepEqual([...expandScopes(['operate', 'read'])], ['operate', 'read'])
})

test('nobody can grant a scope that it lacks', () => {
  assert.deepEqual(lackedScopes(new Set(['read', 'write']), ['read', 'operate', 'admin']), [
    'operate',
    'admin',
  ])
  assert.deepEqual(lackedScopes(expandScopes(['admin']), SCOPES), [])
})
