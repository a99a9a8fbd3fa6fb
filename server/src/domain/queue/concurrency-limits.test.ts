import assert from 'node:assert/strict'
import test from 'node:test'
import { allowanceOf, ConcurrencyLimits, classOf, portionOf } from './concurrency-limits.ts'

const tenant = 'a tenant'
const nothing = { calls: 0, commands: 0, own: 0, awaitedHere: 0 }

function setup(max: number, group = { size: 1, nth: 0 }) {
  const limits = new ConcurrencyLimits('calls')
  limits.setLimit(tenant, max)
  limits.group = group
  const setElsewhere = (changes: Partial<typeof nothing>) =>
    limits.setElsewhere(limits.beginCount([tenant]), new Map([[tenant, { ...nothing, ...changes }]]))
  return { limits, setElsewhere }
}

test('the portions of a group are the limit together, and differ by one at most', () => {
  for (const [count, size] of [
    [6, 3],
    [7, 3],
    [1, 10],
    [100, 7],
    [0, 2],
  ] as const) {
    const portions = Array.from({ length: size }, (_, nth) => portionOf(count, { size, nth }))
    assert.equal(
      portions.reduce((sum, one) => sum + one, 0),
      count,
    )
    assert(Math.max(...portions) - Math.min(...portions) <= 1)
  }
  assert.equal(portionOf(-3, { size: 2, nth: 0 }), 0)
})

test('where limits are smaller than the group, each tenant has its places at other workers', () => {
  const size = 60
  const workers = Array.from({ length: size }, (_, nth) => {
    const limits = new ConcurrencyLimits('calls')
    limits.group = { size, nth }
    return limits
  })
  const idOf = (n: number) => `0192abcd-ef01-7000-8000-${n.toString(16).padStart(12, '0')}`
  const tenants = Array.from({ length: 600 }, (_, n) => idOf(n * 7))
  for (const limits of workers) for (const tenantId of tenants) limits.setLimit(tenantId, 1)
  for (const tenantId of tenants)
    assert.equal(
      workers.reduce((sum, limits) => sum + limits.roomOf(tenantId, 0), 0),
      1,
    )
  const rooms = workers.map((limits) =>
    tenants.reduce((sum, tenantId) => sum + limits.roomOf(tenantId, 0), 0),
  )
  assert(Math.max(...rooms) <= 30, `a worker has room for ${Math.max(...rooms)} of 600`)
})

test('executions of other classes take of the limit, but for a tenth of it', () => {
  assert.equal(allowanceOf(100, 'calls', { calls: 0, commands: 20, own: 30 }), 50)
  assert.equal(allowanceOf(100, 'calls', { calls: 0, commands: 100, own: 100 }), 10)
  assert.equal(allowanceOf(4, 'own', { calls: 4, commands: 0, own: 0 }), 1)
})

test('executions of the own class that no active worker counts take of the limit in full', () => {
  assert.equal(allowanceOf(100, 'calls', { calls: 40, commands: 0, own: 0 }), 60)
  assert.equal(allowanceOf(100, 'calls', { calls: 100, commands: 0, own: 100 }), -90)
})

test('a worker has its portion as room, less the executions that it holds and the ones it awaits', () => {
  const { limits, setElsewhere } = setup(12, { size: 3, nth: 0 })
  assert.equal(limits.roomOf(tenant, 0), 4)
  assert.equal(limits.roomOf(tenant, 3), 1)
  setElsewhere({ awaitedHere: 2 })
  assert.equal(limits.roomOf(tenant, 1), 1)
  assert.equal(limits.roomOf(tenant, 5), 0)
  assert.equal(limits.roomOf('another tenant', 1_000), Number.POSITIVE_INFINITY)
})

test('an awaited execution counts until the store has counted it', () => {
  const { limits } = setup(3)
  limits.noteAwaited(tenant)
  assert.equal(limits.roomOf(tenant, 0), 2)
  const before = limits.beginCount([tenant])
  limits.noteAwaited(tenant)
  limits.setElsewhere(before, new Map([[tenant, { ...nothing, awaitedHere: 1 }]]))
  assert.equal(limits.roomOf(tenant, 0), 1, 'the second may be missing in the answer')
  limits.setElsewhere(limits.beginCount([tenant]), new Map())
  assert.equal(limits.roomOf(tenant, 0), 3, 'both have ended')
})

test('a tenant is behind until a look that began later does not find its lane', () => {
  const { limits } = setup(1)
  limits.fallBehind(tenant, 1_000)
  assert(limits.isBehind && limits.isBehindOf(tenant))
  limits.see(new Set(), 1_100)
  assert(limits.isBehindOf(tenant), 'its execution may still be on the way to the store')
  limits.see(new Set([tenant]), 1_300)
  assert(limits.isBehindOf(tenant))
  limits.see(new Set(['another lane']), 1_300)
  assert(!limits.isBehind && !limits.isBehindOf(tenant))
})

test('a tenant that has lost its limit has no bound and is not behind', () => {
  const { limits } = setup(1)
  limits.fallBehind(tenant, 0)
  limits.setLimit(tenant, null)
  assert(!limits.isLimited && !limits.isBehind)
  assert.equal(limits.roomOf(tenant, 50), Number.POSITIVE_INFINITY)
  limits.fallBehind(tenant, 0)
  assert(!limits.isBehind)
})

test('a limit that changes keeps the counts', () => {
  const { limits, setElsewhere } = setup(10)
  setElsewhere({ own: 4 })
  limits.setLimit(tenant, 6)
  assert.equal(limits.roomOf(tenant, 0), 2)
})

test('our workers make calls or run commands, and the others are of their tenants', () => {
  assert.equal(classOf({ tenantId: null, executors: ['http', 'shell'] }), 'calls')
  assert.equal(classOf({ tenantId: null, executors: ['shell', 'artifact'] }), 'commands')
  assert.equal(classOf({ tenantId: tenant, executors: ['worker'] }), 'own')
})
