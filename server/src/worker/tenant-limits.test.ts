// A tenant's rate of calls to one host, in a worker on the memory store.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setupWorker } from '../../test/worker-scene.ts'
import { hostKeyOf } from '../domain/queue/host-gate.ts'

const http = { type: 'http', method: 'POST', headers: {}, timeout_seconds: 60 } as const
const url = 'https://common.example'

/** A tenant on the tier free, that is 50 calls a second and 100 at once, and one without a limit. */
async function setup(t: TestContext) {
  const scene = await setupWorker(t)
  const { world, ids, ports, createJob, trigger, store } = scene
  const tier = (await ports.tiers.get('free'))!
  await ports.tiers.put({ ...tier, concurrentExecutionsMax: null })
  const free = ids.next()
  assert.equal(typeof (await ports.tenants.create({ tenantId: free, name: 'small', tier: 'free' })), 'object')
  const other = ids.next()
  for (const host of [url, 'https://other.example']) world.http.answer(host, () => ({ status: 200 }))
  const create = (tenantId: string, of = url) =>
    createJob({ tenantId, execution: { ...http, headers: { 'x-tenant': tenantId }, callback_url: `${of}/` } })
  async function triggerMany(count: number, tenantId: string): Promise<void> {
    for (let i = 0; i < count; i++) await trigger(await create(tenantId))
  }
  const callsOf = (tenantId: string, of = url) =>
    world.http.sent.filter(
      ({ request }) => request.url.startsWith(of) && request.headers['x-tenant'] === tenantId,
    )
  const waiting = () => [...store.live.values()].filter(({ host }) => host !== null)
  return { ...scene, free, other, create, triggerMany, callsOf, waiting }
}

test('executions beyond the rate of their tenant wait by host, and come as tokens do', async (t) => {
  const { start, free, triggerMany, pass, callsOf, waiting } = await setup(t)
  const worker = await start({}, { capacity: 800 })
  await worker.watchPeers()
  await triggerMany(250, free)
  await pass(worker, 500)
  const first = callsOf(free).length
  assert(first >= 100 && first <= 125, `${first} calls`)
  const names = new Set(waiting().map(({ host }) => host))
  assert.deepEqual([...names], [`${hostKeyOf('common.example', free)} rate`])
  await pass(worker, 1_000)
  const second = callsOf(free).length
  assert(second >= 145 && second <= 175, `${second} calls`)
  await pass(worker, 3_000)
  assert.equal(callsOf(free).length, 250)
  assert.equal(waiting().length, 0)
})

test('a tenant at its rate delays neither another tenant nor its own calls to another host', async (t) => {
  const { start, free, other, create, trigger, triggerMany, turn, pass, callsOf } = await setup(t)
  const worker = await start({}, { capacity: 800 })
  await worker.watchPeers()
  await triggerMany(300, free)
  await pass(worker, 200)
  await trigger(await create(other))
  await trigger(await create(free, 'https://other.example'))
  await turn(worker)
  assert.equal(callsOf(other).length, 1)
  assert.equal(callsOf(free, 'https://other.example').length, 1)
})

test('the executions that waited longest come first', async (t) => {
  const { start, free, create, trigger, triggerMany, pass, callsOf } = await setup(t)
  const worker = await start({}, { capacity: 800 })
  await worker.watchPeers()
  await triggerMany(140, free)
  await pass(worker, 100)
  const late = await trigger(await create(free))
  await pass(worker, 3_000)
  const order = callsOf(free).map(({ request }) => request.headers['x-execution-id'])
  assert.equal(order.length, 141)
  assert.equal(order.at(-1), late)
})

test('a tenant that moves to another tier has its new limit with the next look', async (t) => {
  const { start, free, ports, triggerMany, pass, callsOf } = await setup(t)
  const worker = await start({}, { capacity: 800 })
  await worker.watchPeers()
  await triggerMany(300, free)
  await pass(worker, 200)
  assert(callsOf(free).length < 120)
  await ports.tenants.change(free, { tier: 'unlimited' })
  await worker.watchPeers()
  await pass(worker, 200)
  assert.equal(callsOf(free).length, 300)
})

test('with other workers a worker makes its share of the calls', async (t) => {
  const { start, free, triggerMany, turn, callsOf } = await setup(t)
  const worker = await start({}, { capacity: 800 })
  await start({}, { capacity: 800 })
  await worker.watchPeers()
  await triggerMany(200, free)
  await turn(worker)
  assert.equal(callsOf(free).length, 50)
})
