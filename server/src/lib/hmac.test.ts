import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import test from 'node:test'
import { HmacSha256 } from './hmac.ts'

const expected = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('base64')

test('it equals the result of node:crypto, for keys and texts of every length around a boundary', () => {
  for (const keyBytes of [1, 24, 31, 32, 33, 63, 64]) {
    const key = randomBytes(keyBytes)
    const hmac = new HmacSha256(key)
    for (const length of [
      0, 1, 55, 56, 63, 64, 65, 200, 1_364, 1_365, 1_366, 1_400, 4_095, 4_096, 4_097, 9_000,
    ]) {
      const text = 'a'.repeat(length)
      assert.equal(hmac.base64(text), expected(key, text), `${keyBytes} and ${length}`)
    }
  }
})

test('texts that are not ASCII are hashed as UTF-8, and nothing of the text before is left', () => {
  const key = randomBytes(32)
  const hmac = new HmacSha256(key)
  for (const text of ['€'.repeat(1_365), 'ü', '\u{1f514}'.repeat(600), 'half \ud800 a pair', '', 'x'])
    assert.equal(hmac.base64(text), expected(key, text))
})

test('the key is a copy: the caller may change its own afterwards', () => {
  const key = Buffer.from(randomBytes(32))
  const before = Buffer.from(key)
  const hmac = new HmacSha256(key)
  key.fill(0)
  const long = 'x'.repeat(5_000)
  assert.equal(hmac.base64('x'), expected(before, 'x'))
  assert.equal(hmac.base64(long), expected(before, long))
})

test('a key that is empty or does not fit a block is refused', () => {
  for (const bytes of [0, 65]) assert.throws(() => new HmacSha256(randomBytes(bytes)), /1 to 64 bytes/)
})
