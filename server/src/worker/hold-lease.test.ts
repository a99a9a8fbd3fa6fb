import assert from 'node:assert/strict'
import test from 'node:test'
import { listWorkers } from '../../test/list-workers.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { MemoryWorkers } from '../../testing/memory-store/workers.ts'
import { workerLeaseLost } from '../telemetry/events.ts'
import { type LeaseOptions, WorkerLease } from './hold-lease.ts'

function setup() {
  const world = createVirtualWorld()
  const workers = new MemoryWorkers(world.clock)
  const options: LeaseOptions = {
    ...{ version: '1.0.0', labels: [], capacity: 2_000 },
    ...{ tenantId: null, port: null, executors: ['http'], handlers: [] },
  }
  const lost: string[] = []
  const deps = { ...world, leases: workers, currentLoad: () => 7, onLost: () => void lost.push('lost') }
  return { world, workers, lost, lease: new WorkerLease(deps, options) }
}

test('the first beat registers, later ones keep the same lease', async () => {
  const { workers, lease } = setup()
  await lease.beat()
  await lease.beat()
  const beats = await workers.watch()
  assert.deepEqual(
    beats.map((one) => one.beats),
    [2],
  )
})

test('a registration is repeated under the same id after its reply was lost', async () => {
  const { workers, lease } = setup()
  const register = workers.register.bind(workers)
  workers.register = async (worker) => {
    await register(worker)
    workers.register = register
    throw new Error('the reply was lost')
  }
  await assert.rejects(lease.beat(), /lost/)
  await lease.beat()
  assert.equal((await listWorkers(workers, { tenantId: null })).length, 1)
})

test('a worker that was declared dead comes back under a new id', async () => {
  const { workers, lease, lost: told } = setup()
  await lease.beat()
  const [old] = await workers.watch()
  await workers.reclaim(old!)
  const lost = workerLeaseLost.next()
  assert.equal(await lease.beat(), 'more')
  assert.deepEqual(await lost, { workerId: old!.holderId })
  assert.deepEqual(told, ['lost'])
  await lease.beat()
  const [fresh] = await workers.watch()
  assert.notEqual(fresh!.holderId, old!.holderId)
})

test('a draining worker shows that it drains, and a released one that it left', async () => {
  const { workers, lease } = setup()
  await lease.beat()
  await lease.drain()
  assert.equal((await listWorkers(workers, { tenantId: null }))[0]!.status, 'DRAINING')
  await lease.release()
  assert.deepEqual(
    [(await listWorkers(workers, { tenantId: null }))[0]!.status, await workers.watch()],
    ['LEFT', []],
  )
  await lease.release()
})

test('a lease is fresh only while no other process can have declared it dead', async () => {
  const { world, lease } = setup()
  assert.equal(lease.isFresh(), false)
  await lease.beat()
  await world.advance(7_999)
  assert.equal(lease.isFresh(), true)
  await world.advance(1)
  assert.equal(lease.isFresh(), false)
  assert.equal(lease.silentMs(), 8_000)
})
