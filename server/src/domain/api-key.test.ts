import assert from 'node:assert/strict'
import test from 'node:test'
import { realRandom } from '../lib/random.ts'
import { apiKeyBytes, formatApiKey, isWholeApiKey } from './api-key.ts'

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
