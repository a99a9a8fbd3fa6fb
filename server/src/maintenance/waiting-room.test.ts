// Redrives and backfills at the limit on waiting executions; bulk triggers are in api/access/tenant-quotas.test.ts.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { unlimitedTier } from '../../testing/memory-store/first-tiers.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import type { NewOperation } from '../domain/jobs/operation.ts'
import { LaneChooser } from '../domain/queue/lane.ts'
import { WaitingEstimates } from '../domain/tenants/waiting-estimates.ts'
import { runOperation } from './run-operations.ts'

/** A tenant that may have two waiting executions. */
async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const s = await createScenario({ ...ports, ids: world.ids, now })
  await s.tiers.put({ ...unlimitedTier, tier: 'small', waitingExecutionsMax: 2 })
  const tenantId = s.ids.next()
  await s.tenants.create({ tenantId, name: 'sales', tier: 'small' })
  const hints = { onChanged() {}, onReady() {}, onCancelled() {} }
  const room = { lanes: new LaneChooser(), waiting: new WaitingEstimates() }
  const deps = { ...world, ...hints, ...room, operations: ports.operations }
  const waiting = () => s.tenantRoom.countWaiting(tenantId)
  const start = async (changes: Pick<NewOperation, 'kind' | 'filter' | 'options'>) => {
    const operationId = s.ids.next()
    const created = { createdBy: 'ann', createdAt: await now(), total: 5, totalCapped: false }
    const operation = { operationId, tenantId, ...created, ...changes } as NewOperation
    assert.equal(await s.operations.create(operation), 'created')
    return operationId
  }
  /** Runs the operation for some seconds; returns the most that waited meanwhile. */
  const run = async (operationId: string, { works }: { works: boolean }) => {
    let most = 0
    for (let n = 0; n < 10; n++) {
      await runOperation(deps)
      most = Math.max(most, await waiting())
      if (works) await s.runAll()
      await world.advance(1_000)
    }
    return { most, status: (await s.operations.get(tenantId, operationId))!.status }
  }
  return { s, tenantId, start, run }
}

test('a backfill makes no more executions than may wait, and ends when all have run', async () => {
  const { s, tenantId, start, run } = await setup()
  const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW', status: 'PAUSED', slotAt: null })
  const { jobId, schedule, anchorAt } = job
  const backfill = { order: 'asc', maxConcurrent: 5, schedule, anchorAt } as const
  const filter = { jobId, from: s.at(0), to: s.at(4) }
  const operationId = await start({ kind: 'backfill', filter, options: { backfill } })
  assert.deepEqual(await run(operationId, { works: false }), { most: 2, status: 'RUNNING' })
  assert.deepEqual(await run(operationId, { works: true }), { most: 2, status: 'COMPLETED' })
})

test('a bulk redrive makes no more executions than may wait, and ends when all dead letters are redriven', async () => {
  const { s, tenantId, start, run } = await setup()
  const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
  for (let n = 0; n < 5; n++) {
    await s.trigger(job)
    const workerId = await s.addWorker()
    await s.finishLive(workerId, await s.claimLive(workerId), s.failed({ deadReason: 'NOT_RETRYABLE' }))
  }
  const filter = { jobId: null, reason: null, errorType: null, from: null, to: null }
  const operationId = await start({ kind: 'redrive', filter, options: { ratePerSecond: 100 } })
  assert.deepEqual(await run(operationId, { works: false }), { most: 2, status: 'RUNNING' })
  assert.deepEqual(await run(operationId, { works: true }), { most: 2, status: 'COMPLETED' })
  assert.equal(
    (
      await s.deadLetters.list({
        tenantId,
        filter,
        before: null,
        limit: 10,
        bytesMax: 1_000_000,
        payloads: false,
      })
    ).total,
    0,
  )
})
