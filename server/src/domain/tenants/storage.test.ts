import assert from 'node:assert/strict'
import test from 'node:test'
import { StorageSlices, sliceBytesOf } from './storage.ts'

const limit = 1_000
const of = (tenantId: string, bytes: number) => ({ tenantId, limit, bytes })

test('a process spends the bytes it has drawn and not one more', () => {
  const slices = new StorageSlices()
  assert.equal(slices.spend(of('a', 1)), false)
  slices.add(of('a', 10))
  slices.add(of('a', 5))
  assert.equal(slices.spend(of('a', 12)), true)
  assert.equal(slices.spend(of('a', 4)), false)
  assert.equal(slices.spend(of('b', 1)), false)
  assert.equal(slices.spend(of('a', 3)), true)
  assert.equal(slices.spend(of('a', 0)), true)
})

test('a slice that was drawn under another limit is forfeited', () => {
  const slices = new StorageSlices()
  slices.add(of('a', 10))
  assert.equal(slices.spend({ ...of('a', 1), limit: 999 }), false)
  slices.add({ ...of('a', 3), limit: 999 })
  assert.equal(slices.spend(of('a', 1)), false)
  assert.equal(slices.spend({ ...of('a', 4), limit: 999 }), false)
  assert.equal(slices.spend({ ...of('a', 3), limit: 999 }), true)
})

test('slices of so many tenants are held, and the first one gives way', () => {
  const slices = new StorageSlices({ tenantsMax: 2 })
  for (const tenantId of ['a', 'b', 'c']) slices.add(of(tenantId, 10))
  slices.add(of('b', 1))
  const spent = ['a', 'b', 'c'].map((tenantId) => slices.spend(of(tenantId, 10)))
  assert.deepEqual(spent, [false, true, true])
})

test('a slice is half a percent of the limit, at least 64 KiB and never more than the limit', () => {
  const limits = [1_000, 1_048_576, 104_857_600, 10_737_418_240]
  assert.deepEqual(limits.map(sliceBytesOf), [1_000, 65_536, 524_288, 53_687_091])
})
