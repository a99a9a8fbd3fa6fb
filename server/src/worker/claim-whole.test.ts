// Batches stay whole while enough is in flight and ends fast; otherwise as many executions as fit are taken out of them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { routeOf } from '../domain/queue/route.ts'
import type { NewJob } from '../ports/jobs.ts'
import type { Claimed, ClaimOrder } from '../ports/queue.ts'
import { CallSigner } from './call-signer.ts'
import { Claimer } from './claim.ts'
import { Definitions } from './definitions.ts'
import { InFlight } from './in-flight.ts'
import { TenantLimits } from './tenant-limits.ts'

const execution = { type: 'worker', handler: 'h', labels: [], timeout_seconds: 30 } as const

/** A worker that runs this many handlers at once, and batches of 100 executions. */
async function setup({ runningMax, batches }: { runningMax: number; batches: number }) {
  const world = createVirtualWorld()
  const { store: _, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const s = await createScenario({ ...ports, ids: world.ids, now })
  const orders: ClaimOrder[] = []
  const claims: Claimed[] = []
  const { queue } = ports
  const claim = queue.claim.bind(queue)
  queue.claim = async (order) => {
    const claimed = await claim(order)
    if (order.singles !== true) {
      orders.push(order)
      claims.push(claimed)
    }
    return claimed
  }
  const ends: (() => void)[] = []
  const inFlight = new InFlight(
    {
      clock: world.clock,
      run: () => new Promise((resolve) => ends.push(() => resolve({ end: null, outcome: null }))),
      mayStart: () => true,
      onBatchEnded() {},
      onLiveEnded() {},
    },
    { capacity: runningMax + 2_000, runningMax },
  )
  const workerId = await s.addWorker()
  const jobs: NewJob[] = []
  for (let i = 0; i < 100; i++) jobs.push(await s.createJob({ execution, overlapPolicy: 'ALLOW' }))
  for (let second = 0; second < batches; second++) await s.fireBatch(jobs, second)
  const claimer = new Claimer({
    clock: world.clock,
    queue,
    peers: ports.peers,
    graphRuns: ports.graphRuns,
    inFlight,
    definitions: new Definitions(queue, '1.2.3'),
    signer: new CallSigner(ports.secrets),
    tenantLimits: new TenantLimits({ clock: world.clock, ...ports }),
    routes: async () => [routeOf(jobs[0]!)],
    isIsolated: true,
    workerId: () => workerId,
    ...{ isBackpressured: () => false, isDraining: () => false, onClaimed() {}, onClaimDue() {} },
  })
  /** Ends the first running executions, which makes room. */
  async function end(count: number): Promise<void> {
    for (const one of ends.splice(0, count)) one()
    await world.advance(1)
  }
  /** For each claim: whole batches, and executions that were taken out of a batch. */
  const claimed = () => claims.map(({ batches: whole, live }) => [whole.length, live.length])
  return { claimer, inFlight, orders, claimed, end }
}

test('while enough is in flight and ends fast, batches are claimed as a whole or not yet', async () => {
  const { claimer, inFlight, claimed, end } = await setup({ runningMax: 150, batches: 10 })
  await claimer.claimOnce()
  assert.deepEqual(claimed(), [[1, 50]])
  await end(150)
  await claimer.claimOnce()
  // The rest of the divided batch is first.
  assert.deepEqual(claimed().at(-1), [3, 50])
  assert.deepEqual([inFlight.queued, inFlight.measureEndedRecently()], [150, 150])
  await end(60)
  assert.equal(inFlight.measureRoom(), 120)
  await claimer.claimOnce()
  // The rest of a divided batch.
  assert.deepEqual(claimed().at(-1), [1, 0], 'the next one is not divided')
  const before = claimed().length
  assert.equal(await claimer.claimOnce(), 'idle')
  assert.deepEqual([inFlight.measureRoom(), claimed().length], [70, before], 'nor asked for')
})

test('a worker with nothing left to start divides a batch rather than wait', async () => {
  const { claimer, claimed, end } = await setup({ runningMax: 30, batches: 1 })
  await claimer.claimOnce()
  await end(30)
  await claimer.claimOnce()
  assert.deepEqual(claimed(), [
    [0, 30],
    [0, 60],
  ])
})

test('no more batches are looked at than are believed to fit', async () => {
  const { claimer, orders, end } = await setup({ runningMax: 150, batches: 10 })
  await claimer.claimOnce()
  await end(150)
  await claimer.claimOnce()
  // Nothing is known of their size at first; then room for 300 is three batches, and four to spare.
  assert.deepEqual(
    orders.map(({ batchesMax }) => batchesMax),
    [100, 7],
  )
})
