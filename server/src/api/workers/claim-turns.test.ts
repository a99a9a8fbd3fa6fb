import assert from 'node:assert/strict'
import test from 'node:test'
import { routeOf, setupClaims, sizeOf } from '../../../test/claims-scene.ts'
import { handlerRoutePrefix } from '../../domain/executors/worker.ts'

const otherTenant = '00000000-0000-7000-8000-000000000002'
const routeOfOther = `${handlerRoutePrefix(otherTenant, 'a')}`

test('a tenant is served beside 3,000 parked workers of another one that have work', async () => {
  const { claim, deps, enqueue, waiting, world, orders } = setupClaims()
  const { claim: take } = deps.queue
  deps.queue.claim = async (order) => {
    await world.timers.wait(5)
    return take(order)
  }
  for (let n = 0; n < 3_000; n++) void claim(`w${n}`, { limit: 1 })
  const parked = claim('victim', { tenantId: otherTenant })
  await world.advance(0)
  enqueue(routeOf('a'), 100_000)
  await world.advance(100)
  assert(orders.length > 50, 'the look at the first tenant is under way')
  let before = orders.length
  enqueue(routeOfOther)
  await world.advance(100)
  assert.equal(sizeOf(await parked), 1)
  assert(orders.length - before < 100, `${orders.length - before} claims`)
  // Its next claim comes while the other tenant is being served, too.
  waiting.set(routeOfOther, 1)
  before = orders.length
  const next = claim('victim', { tenantId: otherTenant })
  await world.advance(100)
  assert.equal(sizeOf(await next), 1)
  assert(orders.length - before < 100, `${orders.length - before} claims`)
  await world.advance(20_000)
  assert.equal(orders.filter(({ workerId }) => workerId.startsWith('w')).length, 3_000, 'all are served')
})

test('of the claims under way two at most are of one tenant while another waits, and it has all four alone', async () => {
  const { claim, deps, enqueue, waiting, world } = setupClaims()
  const { claim: take } = deps.queue
  const underWay = new Map<string, number>()
  const most = new Map<string, number>()
  const count = (name: string, change: number) => {
    underWay.set(name, (underWay.get(name) ?? 0) + change)
    most.set(name, Math.max(most.get(name) ?? 0, underWay.get(name)!))
  }
  deps.queue.claim = async (order) => {
    const [name] = order.workerId
    count(name!, 1)
    await world.timers.wait(5)
    count(name!, -1)
    return take(order)
  }
  for (let n = 0; n < 40; n++) void claim(`a${n}`, { limit: 1 })
  for (let n = 0; n < 40; n++) void claim(`b${n}`, { limit: 1, tenantId: otherTenant })
  await world.advance(0)
  waiting.set(routeOfOther, 40)
  enqueue(routeOf('a'), 40)
  await world.advance(1_000)
  assert.deepEqual(Object.fromEntries(most), { a: 2, b: 2 })
  for (let n = 0; n < 8; n++) void claim(`a${n}`, { limit: 1 })
  enqueue(routeOf('a'), 8)
  await world.advance(1_000)
  assert.equal(most.get('a'), 4)
})

test('the handlers of a tenant with thousands of them are asked about behind the few of another', async () => {
  const { claim, deps, enqueue, waiting, world, asked } = setupClaims()
  const { findWaiting } = deps.routes
  deps.routes.findWaiting = async (prefixes) => {
    await world.timers.wait(5)
    return findWaiting(prefixes)
  }
  for (let n = 0; n < 100; n++) {
    const handlers = Array.from({ length: 200 }, (_, at) => `h${n}-${at}`)
    void claim(`w${n}`, { handlers })
  }
  const parked = claim('victim', { tenantId: otherTenant })
  await world.advance(200)
  asked.routes = 0
  enqueue(routeOfOther)
  await world.advance(5)
  assert.equal(asked.routes, 1)
  assert.equal(sizeOf(await parked), 1)
  // The last handler of the first tenant has its turn as well.
  const last = claim('w99', { handlers: ['h99-199'] })
  await world.advance(0)
  waiting.set(routeOf('h99-199'), 1)
  await world.advance(3_000)
  assert.equal(sizeOf(await last), 1)
})
