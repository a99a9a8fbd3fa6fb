// Conformance: claims within the capacity of a worker. The store counts the executions that the worker holds; the worker
// itself is not asked.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { serverRoute } from '../../../src/domain/queue/route.ts'
import type { Claimed } from '../../../src/ports/queue.ts'
import { listWorkers } from '../../list-workers.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

function claimWithin(s: StoreScenario, workerId: string, count = 50): Promise<Claimed> {
  const lanes = [{ lane: sharedLane, count }]
  const order = { workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 20 }
  return s.queue.claim({ ...order, withinCapacity: true })
}

async function triggerSome(s: StoreScenario, count: number): Promise<void> {
  const job = await s.createJob({ overlapPolicy: 'ALLOW' })
  for (let i = 0; i < count; i++) await s.trigger(job)
}

const sizeOf = ({ batches, live }: Claimed) =>
  batches.reduce((sum, { positions }) => sum + positions.length, live.length)

export function testQueueCapacity(name: string, setup: Setup): void {
  test(`${name}: claims of a worker bring no more than its capacity until one of them has ended`, async (t) => {
    const s = await setup(t)
    await triggerSome(s, 7)
    const workerId = await s.addWorker({ capacity: 2 })
    const first = await claimWithin(s, workerId)
    assert.deepEqual([sizeOf(first), first.isFull], [2, undefined])
    for (let again = 0; again < 3; again++)
      assert.deepEqual(await claimWithin(s, workerId), { batches: [], live: [], isFull: true })
    assert.equal((await listWorkers(s.workers, { tenantId: null }))[0]!.currentLoad, 2)
    await s.finishLive(workerId, first.live[0]!, s.succeeded())
    assert.equal((await listWorkers(s.workers, { tenantId: null }))[0]!.currentLoad, 1)
    assert.equal(sizeOf(await claimWithin(s, workerId)), 1)
    assert.equal((await claimWithin(s, workerId)).isFull, true)
    const other = await s.addWorker({ capacity: 50 })
    assert.equal(sizeOf(await claimWithin(s, other)), 4)
    assert.deepEqual(await claimWithin(s, other), { batches: [], live: [] })
  })

  test(`${name}: executions in batches count one by one, and a batch is divided at the capacity`, async (t) => {
    const s = await setup(t)
    const jobs = await Promise.all(Array.from({ length: 5 }, () => s.createJob()))
    await s.fireBatch(jobs, 0)
    await s.fireBatch(await Promise.all(Array.from({ length: 5 }, () => s.createJob())), 1)
    const workerId = await s.addWorker({ capacity: 7 })
    assert.equal(sizeOf(await claimWithin(s, workerId)), 7)
    assert.equal((await claimWithin(s, workerId)).isFull, true)
    assert.equal((await listWorkers(s.workers, { tenantId: null }))[0]!.currentLoad, 7)
    assert.equal(await s.queue.releaseUnknown(workerId, []), 7)
    assert.equal((await listWorkers(s.workers, { tenantId: null }))[0]!.currentLoad, 0)
    assert.equal(sizeOf(await claimWithin(s, workerId)), 7)
  })

  test(`${name}: claims of the same worker at the same time share its capacity`, async (t) => {
    const s = await setup(t)
    await triggerSome(s, 20)
    const workerId = await s.addWorker({ capacity: 5 })
    const claims = await Promise.all(Array.from({ length: 6 }, () => claimWithin(s, workerId, 3)))
    assert.equal(
      claims.reduce((sum, claimed) => sum + sizeOf(claimed), 0),
      5,
    )
  })

  test(`${name}: a worker that is gone claims nothing, and a claim of it fails`, async (t) => {
    const s = await setup(t)
    await triggerSome(s, 1)
    await assert.rejects(claimWithin(s, s.ids.next()), /has no lease/)
    assert.equal(sizeOf(await claimWithin(s, await s.addWorker())), 1)
  })
}
