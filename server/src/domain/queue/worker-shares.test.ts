import assert from 'node:assert/strict'
import test from 'node:test'
import { longMaxOf, reservedOf, type TenantLoad, WorkerShares } from './worker-shares.ts'

const capacity = 2_000
const load = (changes: Partial<TenantLoad>): TenantLoad => ({
  inFlight: 0,
  long: 0,
  endedQuickly: 0,
  ...changes,
})

function sharesOf(
  tenants: Record<string, Partial<TenantLoad>>,
  { places = capacity, limitsLong = true } = {},
): WorkerShares {
  const loads = Object.entries(tenants).map(([tenantId, changes]) => [tenantId, load(changes)] as const)
  const used = loads.reduce((sum, [, { inFlight }]) => sum + inFlight, 0)
  return new WorkerShares({ capacity: places, free: places - used, limitsLong }, loads)
}

/** Each of these tenants takes all its room, in turn; returns the places of each. */
function fill(shares: WorkerShares, tenantIds: readonly string[]): number[] {
  return tenantIds.map((tenantId) => {
    const room = shares.roomOf(tenantId)
    shares.take(tenantId, room)
    return room
  })
}

test('a tenth is reserved, at least one place, and nothing of a single place', () => {
  assert.deepEqual([1, 2, 9, 16, 20, 400, 2_000].map(reservedOf), [0, 1, 1, 1, 2, 40, 200])
  assert.deepEqual([1, 3, 16, 2_000].map(longMaxOf), [1, 1, 4, 500])
})

test('a tenant whose calls have not ended yet takes a quarter, and others find room beside it', () => {
  const shares = sharesOf({})
  assert.deepEqual(fill(shares, ['a', 'b', 'c', 'd', 'e', 'a']), [500, 250, 125, 62, 31, 0])
})

test('the places of a tenant grow with its calls that end quickly, up to the last tenth', () => {
  assert.equal(sharesOf({ a: { inFlight: 500 } }).roomOf('a'), 0)
  assert.equal(sharesOf({ a: { inFlight: 500, endedQuickly: 300 } }).roomOf('a'), 300)
  assert.equal(sharesOf({ a: { inFlight: 500, endedQuickly: 700 } }).roomOf('a'), 200 + 500)
  assert.equal(sharesOf({ a: { inFlight: 1_500, endedQuickly: 10_000 } }).roomOf('a'), 300)
  assert.equal(sharesOf({ a: { inFlight: 1_800, endedQuickly: 10_000 } }).roomOf('a'), 0)
})

test('quick ends count less the more calls of the tenant last, and nothing from its quarter on', () => {
  const room = (long: number) => sharesOf({ a: { inFlight: long, long, endedQuickly: 1_000 } }).roomOf('a')
  assert.deepEqual([0, 250, 490, 500, 900].map(room), [1_500, 750, 30, 0, 0])
})

test('a tenant with more than its share leaves the others their part of the half', () => {
  const shares = sharesOf({ hog: { inFlight: 1_200, long: 1_200 } })
  assert.equal(shares.roomOf('hog'), 0)
  assert.equal(shares.roomOf('b'), 250)
  assert.equal(sharesOf({ hog: { inFlight: 1_800, long: 1_800 } }).roomOf('b'), 40)
})

test('many tenants that fill all they may leave places for the next ones', () => {
  const tenantIds = Array.from({ length: 50 }, (_, i) => `hog ${i}`)
  const shares = sharesOf({})
  const taken = fill(shares, tenantIds).reduce((sum, one) => sum + one, 0)
  assert(taken < 1_050, `${taken}`)
  assert(shares.roomOf('quiet') >= 1)
  const quick = tenantIds.slice(0, 20)
  const full = sharesOf(Object.fromEntries(quick.map((id) => [id, { endedQuickly: 10_000 }])))
  fill(full, quick)
  assert(full.roomOf('quiet') >= 1)
})

test('of few places one is left for another tenant, and the other gets it', () => {
  for (const places of [2, 4, 16]) {
    const shares = sharesOf({}, { places, limitsLong: false })
    assert.deepEqual(fill(shares, ['a', 'a', 'b', 'a', 'b']), [places - 1, 0, 1, 0, 0])
  }
  const single = sharesOf({}, { places: 1, limitsLong: false })
  assert.deepEqual(fill(single, ['a', 'b']), [1, 0])
})
