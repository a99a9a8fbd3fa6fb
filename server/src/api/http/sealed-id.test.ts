import assert from 'node:assert/strict'
import test from 'node:test'
import { sealIdsWith } from './sealed-id.ts'

const id = '01a1eb6e-7d31-7c44-9a55-3f0e6b1db200'
const idsOf = (byte: number) => sealIdsWith({ tokenKey: async () => new Uint8Array(32).fill(byte) })()

test('a sealed id is a UUID that tells nothing of the id, and every server of the installation opens it', async () => {
  const sealed = (await idsOf(1)).seal(id)
  assert.match(sealed, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
  assert.notEqual(sealed.slice(0, 8), id.slice(0, 8))
  assert.equal((await idsOf(1)).open(sealed), id)
  assert.notEqual((await idsOf(2)).open(sealed), id)
})

test('ids of the same millisecond have nothing in common when they are sealed', async () => {
  const ids = await idsOf(1)
  const [a, b] = [ids.seal(id), ids.seal(id.replace(/0$/, '1'))]
  assert.notEqual(a.slice(0, 13), b.slice(0, 13))
})

test('any text of the form of an id is opened as one', async () => {
  const opened = (await idsOf(1)).open('ffffffff-ffff-ffff-ffff-ffffffffffff')
  assert.match(opened, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
})
