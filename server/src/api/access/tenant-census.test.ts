import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import { TenantCensus } from './tenant-census.ts'

function setup(total: number | Error) {
  const world = createVirtualWorld()
  const store = { total, asked: 0 }
  const list = async () => {
    store.asked += 1
    if (store.total instanceof Error) throw store.total
    return { tenants: [], more: false, total: store.total }
  }
  return { world, store, census: new TenantCensus({ clock: world.clock, tenants: { list } }) }
}

test('tenants share until the store has said that there is one', async () => {
  const { census } = setup(1)
  assert.equal(census.isShared(), true)
  await census.count()
  assert.equal(census.isShared(), false)
})

test('a second tenant is seen after 5 s, and from then on the store is not asked again', async () => {
  const { census, store, world } = setup(1)
  await census.count()
  store.total = 2
  assert.deepEqual([census.isShared(), store.asked], [false, 1])
  await world.advance(5_001)
  census.isShared()
  await world.advance(0)
  assert.deepEqual([census.isShared(), store.asked], [true, 2])
  await world.advance(60_000)
  assert.deepEqual([census.isShared(), store.asked], [true, 2])
})

test('while the store does not answer, the last answer stands', async () => {
  const { census, store, world } = setup(1)
  await census.count()
  store.total = new Error('away')
  await world.advance(5_001)
  assert.equal(census.isShared(), false)
  await world.advance(0)
  assert.equal(census.isShared(), false)
})
