import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { rankOf } from '../domain/queue/rank.ts'
import { epochMs } from '../lib/time/epoch.ts'
import type { NewJob } from '../ports/jobs.ts'
import { wakeReady } from './wake-ready.ts'

async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const ready: string[] = []
  const deps = { clock: world.clock, maintenance: ports.maintenance, onReady: () => void ready.push('ready') }
  /** Fails the first attempt of each job; they are to be tried again after so long. */
  async function failFor(jobs: readonly NewJob[], waitMs: number): Promise<string[]> {
    const workerId = await scenario.addWorker()
    const { executionIds } = await scenario.fireBatch(jobs, 0)
    const retryAt = epochMs(world.clock.databaseNow() + waitMs)
    await scenario.finishBatch(workerId, await scenario.claimBatch(workerId), scenario.failed({ retryAt }))
    return executionIds
  }
  return { ...scenario, world, store, ready, deps, wake: () => wakeReady(deps), failFor }
}

test('without a retry there is nothing to do', async () => {
  const { wake, ready } = await setup()
  assert.equal(await wake(), 'idle')
  assert.deepEqual(ready, [])
})

test('a retry becomes claimable at its time, not before, and claimers are notified', async () => {
  const { wake, ready, world, createJob, failFor, claim, addWorker, statusOf } = await setup()
  const [executionId] = await failFor([await createJob()], 5_000)
  assert.equal(await wake(), 5_000, 'the wait is to its time')
  await world.advance(4_999)
  assert.equal(await wake(), 1)
  assert.deepEqual((await claim(await addWorker())).live, [])
  assert.deepEqual(ready, [])
  await world.advance(1)
  assert.equal(await wake(), 'more')
  assert.deepEqual(ready, ['ready'])
  assert.equal(await statusOf(executionId!), 'RETRYING')
  const { live } = await claim(await addWorker())
  assert.deepEqual(
    live.map((one) => [one.executionId, one.attempt]),
    [[executionId, 2]],
  )
  assert.equal(await wake(), 'idle')
  assert.deepEqual(ready, ['ready'])
})

test('a retry joins the queue as if it were new', async () => {
  const { wake, world, createJob, failFor, store } = await setup()
  const [executionId] = await failFor([await createJob({ priority: 4 })], 5_000)
  await world.advance(9_000)
  await wake()
  const { rank, enqueuedAt, priority } = store.live.get(executionId!)!
  assert.equal(enqueuedAt, world.clock.databaseNow())
  assert.equal(rank, rankOf(enqueuedAt, priority))
})

test('the earliest retry sets the wait, and later retries stay', async () => {
  const { wake, world, createJob, failFor, claim, addWorker } = await setup()
  await failFor([await createJob()], 9_000)
  const soon = await failFor([await createJob()], 3_000)
  assert.equal(await wake(), 3_000)
  await world.advance(3_000)
  await wake()
  const { live } = await claim(await addWorker())
  assert.deepEqual(
    live.map((one) => one.executionId),
    soon,
  )
  assert.equal(await wake(), 6_000)
})

test('more than a thousand at once are woken in several goes', async () => {
  const { wake, world, createJob, failFor, maintenance } = await setup()
  for (let batch = 0; batch < 11; batch++) {
    const jobs: NewJob[] = []
    for (let i = 0; i < 100; i++) jobs.push(await createJob())
    await failFor(jobs, 5_000)
  }
  await world.advance(5_000)
  assert.equal(await wake(), 'more')
  assert.notEqual(await maintenance.nextWakeAt(), null)
  assert.equal(await wake(), 'more')
  assert.equal(await wake(), 'idle')
})

test('when the database’s clock is a moment behind, it is asked again shortly', async () => {
  const { deps, world, createJob, failFor, ready } = await setup()
  await failFor([await createJob()], 5_000)
  const ahead = { databaseNow: () => epochMs(world.clock.databaseNow() + 3) }
  await world.advance(4_997)
  assert.equal(await wakeReady({ ...deps, clock: ahead }), 2)
  assert.deepEqual(ready, [])
  await world.advance(3)
  assert.equal(await wakeReady({ ...deps, clock: ahead }), 'more')
})
