// Conformance of the peers port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { serverRoute } from '../../../src/domain/queue/route.ts'
import { waitingCountMax } from '../../../src/domain/queue/spread.ts'
import type { Worker } from '../../../src/domain/queue/worker.ts'
import type { StoreScenario } from '../stores.ts'

function workerNumbered(number: number): Worker {
  const workerId = `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
  const kind = { tenantId: null, executors: ['http'], handlers: [], labels: [] } as const
  return { workerId, ...kind, host: 'host-a', port: null, version: '1.2.3', capacity: 50 }
}

const idOf = (number: number) => workerNumbered(number).workerId
const routes = [serverRoute]

/** Registers workers with these numbers. */
async function register(s: StoreScenario, ...numbers: number[]): Promise<void> {
  for (const number of numbers) await s.leases.register(workerNumbered(number))
}

/** Enqueues so many executions in one batch of the shared lane. */
async function enqueue(s: StoreScenario, count: number): Promise<void> {
  const jobs = []
  for (let i = 0; i < count; i++) jobs.push(await s.createJob())
  await s.fireBatch(jobs, 0, { lane: sharedLane })
}

function claim(s: StoreScenario, number: number, count: number) {
  const lanes = [{ lane: sharedLane, count }]
  return s.queue.claim({ workerId: idOf(number), routes, lanes, hosts: [], batchesMax: 10 })
}

export function testPeers(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: the peers of a worker are the others of its kind, the next ones by id first`, async (t) => {
    const s = await setup(t)
    await register(s, 1, 2, 3, 4)
    const tenantId = await s.addTenant(1)
    const sdk = { executors: ['worker'], handlers: ['sweep'] } as const
    await s.leases.register({ ...workerNumbered(5), executors: ['shell'] })
    await s.leases.register({ ...workerNumbered(6), labels: ['gpu'] })
    await s.leases.register({ ...workerNumbered(7), ...sdk, tenantId })
    await s.leases.register({ ...workerNumbered(8), ...sdk, tenantId })
    await s.leases.register({ ...workerNumbered(9), ...sdk, tenantId, handlers: ['sweep', 'mail'] })
    assert.deepEqual(await s.peers.find(idOf(3)), [4, 1, 2].map(idOf))
    assert.deepEqual(await s.peers.find(idOf(7)), [idOf(8)])
    for (const alone of [5, 6, 9]) assert.deepEqual(await s.peers.find(idOf(alone)), [])
    assert.deepEqual(await s.peers.find(s.ids.next()), [])
  })

  test(`${name}: the workers that call targets are found with any labels`, async (t) => {
    const s = await setup(t)
    await register(s, 1, 2, 3)
    const tenantId = await s.addTenant(1)
    const sdk = { executors: ['worker'], handlers: ['sweep'] } as const
    await s.leases.register({ ...workerNumbered(4), executors: ['shell'] })
    await s.leases.register({ ...workerNumbered(5), labels: ['gpu'] })
    await s.leases.register({ ...workerNumbered(6), executors: ['http', 'worker'] })
    await s.leases.register({ ...workerNumbered(7), ...sdk, tenantId })
    assert.deepEqual(await s.peers.findCallers(idOf(3)), [5, 1, 2].map(idOf))
    assert.deepEqual(await s.peers.findCallers(idOf(5)), [1, 2, 3].map(idOf))
    for (const other of [4, 6, 7]) assert.deepEqual(await s.peers.findCallers(idOf(other)), [])
    await s.leases.beat(idOf(2), { status: 'DRAINING', currentLoad: 0 })
    assert.deepEqual(await s.peers.findCallers(idOf(5)), [1, 3].map(idOf))
    await s.ageLeases(7_000)
    assert.deepEqual(await s.peers.findCallers(idOf(5)), [])
  })

  test(`${name}: a worker that drains or has missed a heartbeat is no peer`, async (t) => {
    const s = await setup(t)
    await register(s, 1, 2, 3)
    await s.leases.beat(idOf(2), { status: 'DRAINING', currentLoad: 0 })
    assert.deepEqual(await s.peers.find(idOf(1)), [idOf(3)])
    const ids = [2, 3, 4].map(idOf)
    assert.deepEqual(await s.peers.measure(ids, routes), { held: [0], waiting: 0 })
    await s.ageLeases(7_000)
    assert.deepEqual(await s.peers.find(idOf(1)), [])
    assert.deepEqual(await s.peers.measure(ids, routes), { held: [], waiting: 0 })
  })

  test(`${name}: batches and single executions count as held, and as waiting`, async (t) => {
    const s = await setup(t)
    await register(s, 1, 2)
    await enqueue(s, 7)
    await claim(s, 1, 7)
    await s.trigger(await s.createJob())
    await claim(s, 1, 1)
    await s.trigger(await s.createJob())
    await enqueue(s, 4)
    const { held, waiting } = await s.peers.measure([idOf(1), idOf(2)], routes)
    assert.deepEqual([held.toSorted(), waiting], [[0, 8], 5])
    assert.equal((await s.peers.measure([idOf(2)], [])).waiting, 0)
    assert.equal((await s.peers.measure([idOf(2)], ['another route'])).waiting, 0)
  })

  test(`${name}: a peer without room is left out, and nothing is counted without peers`, async (t) => {
    const s = await setup(t)
    await s.leases.register({ ...workerNumbered(1), capacity: 3 })
    await enqueue(s, 5)
    await claim(s, 1, 2)
    assert.deepEqual(await s.peers.measure([idOf(1)], routes), { held: [2], waiting: 3 })
    await claim(s, 1, 1)
    assert.deepEqual(await s.peers.measure([idOf(1)], routes), { held: [], waiting: 0 })
    assert.deepEqual(await s.peers.measure([], routes), { held: [], waiting: 0 })
  })

  test(`${name}: waiting executions are counted up to a bound`, async (t) => {
    const s = await setup(t)
    await register(s, 1)
    await enqueue(s, 60)
    await enqueue(s, 60)
    assert.equal((await s.peers.measure([idOf(1)], routes)).waiting, waitingCountMax)
  })

  test(`${name}: running executions of tenants are counted by the class of their worker, without the given workers`, async (t) => {
    const s = await setup(t)
    const [tenantId, another] = [await s.addTenant(1), await s.addTenant(1)]
    const own = { ...workerNumbered(5), executors: ['worker'], handlers: ['sweep'], tenantId } as const
    await register(s, 1, 2, 3)
    await s.leases.register({ ...workerNumbered(4), executors: ['shell'] })
    await s.leases.register(own)
    const run = async (number: number, executions: number, of: string, route = serverRoute) => {
      for (let i = 0; i < executions; i++) await s.trigger(await s.createJob({ tenantId: of }))
      const lanes = [{ lane: sharedLane, count: executions }]
      const workerId = idOf(number)
      return (await s.queue.claim({ workerId, routes: [route], lanes, hosts: [], batchesMax: 10 })).live
    }
    await run(1, 2, tenantId)
    await run(2, 3, tenantId)
    await run(4, 1, tenantId)
    await run(3, 4, another)
    // A worker of the tenant holds a batch until its next heartbeat.
    const route = 'worker of the tenant'
    const jobs = []
    for (let i = 0; i < 5; i++) jobs.push(await s.createJob({ tenantId }))
    await s.fireBatch(jobs, 0, { lane: sharedLane, route })
    const lanes = [{ lane: sharedLane, count: 5 }]
    await s.queue.claim({ workerId: idOf(5), routes: [route], lanes, hosts: [], batchesMax: 10 })
    const count = async (tenantIds: string[], ...except: number[]) =>
      (await s.peers.countRunning(tenantIds, except.map(idOf))).toSorted((a, b) => a.calls - b.calls)
    const all = { tenantId, calls: 5, commands: 1, own: 5, awaitedHere: 0 }
    assert.deepEqual(await count([tenantId]), [all])
    assert.deepEqual(await count([tenantId], 2), [{ ...all, calls: 2 }])
    assert.deepEqual(await count([tenantId], 1, 2), [{ ...all, calls: 0 }])
    assert.deepEqual(await count([tenantId], 5, 4), [{ ...all, commands: 0, own: 0 }])
    const ofAnother = { tenantId: another, calls: 4, commands: 0, own: 0, awaitedHere: 0 }
    assert.deepEqual(await count([tenantId, another]), [ofAnother, all])
    assert.deepEqual(await count([s.ids.next()]), [])
    assert.deepEqual(await count([]), [])
  })

  test(`${name}: awaited executions are counted of the worker that asks, and of callers that it does not know`, async (t) => {
    const s = await setup(t)
    await register(s, 1, 2)
    const awaited = async (number: number) => {
      const job = await s.createJob()
      await s.trigger(job)
      const [live] = (await claim(s, number, 1)).live
      await s.finishLive(idOf(number), live!, s.awaiting())
      return job.tenantId
    }
    const tenantId = await awaited(1)
    await awaited(1)
    await awaited(2)
    const none = { tenantId, calls: 0, commands: 0, own: 0, awaitedHere: 0 }
    assert.deepEqual(await s.peers.countRunning([tenantId], [1, 2].map(idOf)), [{ ...none, awaitedHere: 2 }])
    assert.deepEqual(await s.peers.countRunning([tenantId], [idOf(2)]), [
      { ...none, calls: 2, awaitedHere: 1 },
    ])
    assert.deepEqual(await s.peers.countRunning([tenantId], []), [{ ...none, calls: 3 }])
    await s.leases.unregister(idOf(1))
    assert.deepEqual(await s.peers.countRunning([tenantId], [idOf(2)]), [
      { ...none, calls: 2, awaitedHere: 1 },
    ])
  })
}
