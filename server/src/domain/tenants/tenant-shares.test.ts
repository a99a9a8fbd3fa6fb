import assert from 'node:assert/strict'
import test from 'node:test'
import { type PlaceTaken, TenantShares } from './tenant-shares.ts'

const a = { tenantId: 'a', operator: false }
const operator = { tenantId: 'a', operator: true }
const kindsOf = (taken: readonly PlaceTaken[]) => taken.map(({ kind }) => kind)
const takeMany = (shares: TenantShares, holder: typeof a, count: number) =>
  Array.from({ length: count }, () => shares.take(holder))

test('a tenant has at most a quarter of the places while another tenant exists', () => {
  const shares = new TenantShares({ placesMax: 20, isShared: () => true })
  assert(kindsOf(takeMany(shares, a, 5)).every((kind) => kind === 'taken'))
  assert.equal(shares.take(a).kind, 'tenant_full')
  assert.equal(shares.take({ ...a, tenantId: 'b' }).kind, 'taken')
})

test('the only tenant has every place but the tenth that is kept for operators', () => {
  let isShared = false
  const shares = new TenantShares({ placesMax: 20, isShared: () => isShared })
  assert(kindsOf(takeMany(shares, a, 18)).every((kind) => kind === 'taken'))
  assert.equal(shares.take(a).kind, 'server_full')
  isShared = true
  assert.equal(shares.take(a).kind, 'tenant_full')
  assert.deepEqual(kindsOf(takeMany(shares, operator, 3)), ['taken', 'taken', 'server_full'])
})

test('all tenants together leave a tenth for operators', () => {
  const shares = new TenantShares({ placesMax: 20, isShared: () => true })
  const taken = ['a', 'b', 'c', 'd'].flatMap((tenantId) => takeMany(shares, { ...a, tenantId }, 5))
  assert.deepEqual(kindsOf(taken).slice(17), ['taken', 'server_full', 'server_full'])
  assert.equal(shares.take(operator).kind, 'taken')
})

test('operators acting for a tenant use nothing of its share', () => {
  const shares = new TenantShares({ placesMax: 20, isShared: () => true })
  takeMany(shares, operator, 2)
  assert(kindsOf(takeMany(shares, a, 5)).every((kind) => kind === 'taken'))
  const others = ['b', 'c', 'd'].flatMap((tenantId) => takeMany(shares, { ...a, tenantId }, 5))
  assert.deepEqual(kindsOf(others).slice(12), ['taken', 'server_full', 'server_full'])
})

test('a place that is left is free again, and only once', () => {
  const shares = new TenantShares({ placesMax: 4, isShared: () => true })
  const taken = shares.take(a)
  assert(taken.kind === 'taken')
  assert.equal(shares.take(a).kind, 'tenant_full')
  taken.place.leave()
  taken.place.leave()
  assert.deepEqual(kindsOf(takeMany(shares, a, 2)), ['taken', 'tenant_full'])
})

test('whether tenants share is not asked before a quarter is used', () => {
  let asked = 0
  const isShared = () => {
    asked += 1
    return false
  }
  const shares = new TenantShares({ placesMax: 20, isShared })
  takeMany(shares, a, 5)
  assert.equal(asked, 0)
  takeMany(shares, a, 1)
  assert.equal(asked, 1)
})

test('several places are taken and left as one, or none of them', () => {
  const shares = new TenantShares({ placesMax: 20, isShared: () => true })
  const taken = shares.take(a, 4)
  assert(taken.kind === 'taken')
  assert.deepEqual(kindsOf([shares.take(a, 2), shares.take(a, 1), shares.take(a, 1)]), [
    'tenant_full',
    'taken',
    'tenant_full',
  ])
  taken.place.leave()
  assert.equal(shares.take(a, 4).kind, 'taken')
})

test('places that are held are never refused, and count', () => {
  const shares = new TenantShares({ placesMax: 20, isShared: () => true })
  const place = shares.hold(a, 30)
  assert.equal(shares.take(a).kind, 'tenant_full')
  assert.equal(shares.take({ ...a, tenantId: 'b' }).kind, 'server_full')
  place.leave()
  assert.equal(shares.take(a, 5).kind, 'taken')
})
