import assert from 'node:assert/strict'
import test from 'node:test'
import { shareHeldBy } from './why-share.ts'

const worker = (tenants: Record<string, [inFlight: number, long: number]>) => ({
  capacity: 2_000,
  tenants: new Map(Object.entries(tenants).map(([id, [inFlight, long]]) => [id, { inFlight, long }])),
})

test('a tenant with a quarter of every worker in long calls is at its share', () => {
  assert.equal(shareHeldBy([worker({ a: [500, 500] })], 'a'), 500)
  assert.equal(shareHeldBy([worker({ a: [500, 500] }), worker({ a: [510, 500] })], 'a'), 1_010)
  assert.equal(shareHeldBy([worker({ a: [333, 333], b: [334, 334] })], 'a'), 333)
})

test('a tenant that finds a place at one worker is not, nor one with quick calls or with nothing under way', () => {
  assert.equal(shareHeldBy([worker({ a: [500, 500] }), worker({})], 'a'), null)
  assert.equal(shareHeldBy([worker({ a: [900, 0] })], 'a'), null)
  assert.equal(shareHeldBy([worker({ a: [500, 500] })], 'b'), null)
  assert.equal(shareHeldBy([], 'a'), null)
})

test('a tenant with all places but the last tenth is at its share', () => {
  assert.equal(shareHeldBy([worker({ a: [1_800, 0] })], 'a'), 1_800)
  assert.equal(shareHeldBy([worker({ a: [1_799, 0] })], 'a'), null)
})
