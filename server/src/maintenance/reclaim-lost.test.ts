import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../test/cleanup.ts'
import { listWorkers } from '../../test/list-workers.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { MemoryWorkers } from '../../testing/memory-store/workers.ts'
import { workerBeatMs } from '../domain/queue/worker.ts'
import { Loop } from '../lib/loop.ts'
import { type LeaseOptions, WorkerLease } from '../worker/hold-lease.ts'
import { createLeaseWatch, reclaimEveryMs, reclaimLost } from './reclaim-lost.ts'

function setup(t: TestContext) {
  const world = createVirtualWorld()
  const workers = new MemoryWorkers(world.clock)
  const onFailure = ({ error }: { error: unknown }) => assert.fail(error as Error)
  const startWorker = () => {
    const options: LeaseOptions = {
      ...{ version: '1.0.0', labels: [], capacity: 1 },
      ...{ tenantId: null, port: null, executors: ['http'], handlers: [] },
    }
    const lease = new WorkerLease({ ...world, leases: workers, currentLoad: () => 0, onLost() {} }, options)
    const loop = new Loop(world, { name: 'beat', step: () => lease.beat(), idleMs: workerBeatMs, onFailure })
    cleanUp(t, () => loop[Symbol.asyncDispose]())
    return loop
  }
  const watch = createLeaseWatch()
  const deps = { clock: world.clock, maintenance: workers }
  const step = async () => {
    await reclaimLost(deps, watch)
    return 'idle' as const
  }
  const maintenance = new Loop(world, { name: 'reclaim', step, idleMs: reclaimEveryMs, onFailure })
  cleanUp(t, () => maintenance[Symbol.asyncDispose]())
  return { world, workers, startWorker }
}

test('a worker that stops beating is gone after the lease, and no later than 15 s', async (t) => {
  const { world, workers, startWorker } = setup(t)
  const dying = startWorker()
  startWorker()
  await world.advance(60_000)
  assert.equal((await listWorkers(workers, { tenantId: null })).length, 2)
  await dying[Symbol.asyncDispose]()
  await world.advance(6_000)
  assert.equal((await workers.watch()).length, 2)
  await world.advance(9_000)
  assert.deepEqual(
    [(await workers.watch()).length, (await workers.count({ tenantId: null })).deadLastHour],
    [1, 1],
  )
})

test('a living worker is never reclaimed, however long it runs', async (t) => {
  const { world, workers, startWorker } = setup(t)
  startWorker()
  await world.advance(1)
  const [first] = await listWorkers(workers, { tenantId: null })
  await world.advance(3_600_000)
  assert.equal((await listWorkers(workers, { tenantId: null }))[0]!.workerId, first!.workerId)
})

test('many dead workers are reclaimed in several steps, between which the others are watched', async () => {
  const world = createVirtualWorld()
  const workers = new MemoryWorkers(world.clock)
  const plain = { tenantId: null, host: 'a', port: null, version: '1', labels: [], handlers: [], capacity: 1 }
  const ids = Array.from({ length: 1_001 }, () => world.ids.next())
  for (const workerId of ids) await workers.register({ workerId, ...plain, executors: ['http'] })
  const watch = createLeaseWatch()
  const step = () => reclaimLost({ clock: world.clock, maintenance: workers }, watch)
  for (let second = 0; second < 10; second++) {
    assert.deepEqual(await step(), { count: 0, more: false })
    await workers.beat(ids[500]!, { status: 'ACTIVE', currentLoad: 0 })
    await world.advance(1_000)
  }
  const steps = [await step(), await step(), await step(), await step()]
  assert.deepEqual(
    steps.map(({ count, more }) => [count, more]),
    [
      [400, true],
      [400, true],
      [200, false],
      [0, false],
    ],
  )
  assert.deepEqual(
    (await workers.watch()).map(({ holderId }) => holderId),
    [ids[500]],
  )
})

test('a worker that cannot be reclaimed does not keep the others from it', async () => {
  const world = createVirtualWorld()
  const workers = new MemoryWorkers(world.clock)
  const plain = { tenantId: null, host: 'a', port: null, version: '1', labels: [], handlers: [], capacity: 1 }
  const ids = Array.from({ length: 20 }, () => world.ids.next())
  for (const workerId of ids) await workers.register({ workerId, ...plain, executors: ['http'] })
  const { reclaim } = workers
  workers.reclaim = async (beat) => {
    if (beat.holderId === ids[0]) throw new Error('a bad row')
    return reclaim.call(workers, beat)
  }
  const watch = createLeaseWatch()
  const step = () => reclaimLost({ clock: world.clock, maintenance: workers }, watch)
  for (let second = 0; second < 10; second++) {
    await step()
    await world.advance(1_000)
  }
  await assert.rejects(step(), /a bad row/)
  assert.equal((await workers.watch()).length, 1)
})
