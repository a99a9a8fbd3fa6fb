// The worker of the same process claims the executions of a small fire on insert.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setup as setupFire } from '../../test/fire-scene.ts'
import { serverRoute } from '../domain/queue/route.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import type { Claimed } from '../ports/queue.ts'

async function setup({ hasRoom = true } = {}) {
  const scene = await setupFire()
  const workerId = await scene.addWorker()
  const counts: number[] = []
  const ended: (Claimed | null)[] = []
  const tenants: (readonly string[])[] = []
  scene.setDirectDispatch({
    reserve(count, tenantIds) {
      counts.push(count)
      tenants.push(tenantIds)
      return hasRoom ? { workerId, route: serverRoute, end: (claimed) => void ended.push(claimed) } : null
    },
  })
  async function fireAt600(count: number) {
    for (let i = 0; i < count; i++) await scene.createEvery(600, 600)
    await scene.load()
    return scene.fire()
  }
  return { ...scene, workerId, counts, tenants, ended, fireAt600 }
}

test('a small fire is claimed on insert, and no worker is woken', async () => {
  const { fireAt600, counts, tenants, ended, calls } = await setup()
  await fireAt600(3)
  assert.deepEqual(counts, [3])
  assert.deepEqual(tenants, [[defaultTenantId]], 'each tenant once')
  assert.deepEqual(
    ended.map((claimed) => claimed!.batches.map(({ positions }) => positions)),
    [[[0, 1, 2]]],
  )
  assert.deepEqual(calls, [])
})

test('when some executions were not claimed on insert, workers are woken', async () => {
  const { fireAt600, trigger, createJob, ended, calls } = await setup()
  await trigger(await createJob({ priority: 1, slotAt: null }))
  await fireAt600(2)
  assert.deepEqual(ended, [{ batches: [], live: [] }])
  assert.deepEqual(calls, ['enqueued'])
})

test('a fire of more than fifty slots is left to the claim loop', async () => {
  const { fireAt600, counts, calls } = await setup()
  await fireAt600(51)
  assert.deepEqual([counts, calls], [[], ['enqueued']])
})

test('without room in the worker the slots are fired all the same', async () => {
  const { counts, calls, list, createEvery, load, fire } = await setup({ hasRoom: false })
  const job = await createEvery(600, 600)
  await load()
  await fire()
  assert.deepEqual([counts, calls], [[1], ['enqueued']])
  assert.equal((await list(job)).executions.length, 1)
})

test('when the answer is lost the reservation ends with null, and the slot is not fired twice', async () => {
  const { createEvery, load, fire, ended, fireAndClaimBy, slots, slotsOf, world } = await setup()
  const job = await createEvery(600, 600)
  await load()
  fireAndClaimBy(async (items, worker) => {
    await slots.fireAndClaim(items, worker)
    throw new Error('the answer was lost')
  })
  await assert.rejects(fire(), /was lost/)
  assert.deepEqual(ended, [null])
  fireAndClaimBy((items, worker) => slots.fireAndClaim(items, worker))
  await world.advance(1_000)
  await fire()
  assert.equal(slotsOf(job).length, 1)
})
