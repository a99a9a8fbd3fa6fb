// Conformance: the figures for /metrics that only a store knows.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { partitionsCount } from '../../../src/domain/jobs/job.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { endedWithJobMax, toTriggerBatches } from '../../../src/domain/queue/trigger-batches.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { overdueJobMs, PRIORITY_BANDS } from '../../../src/ports/gauges.ts'
import { change, pause, remove } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** The depth of each band, in the order of `PRIORITY_BANDS`. */
async function depths({ gauges }: StoreScenario): Promise<number[]> {
  const bands = await gauges.queue()
  assert.deepEqual(Object.keys(bands).toSorted(), [...PRIORITY_BANDS].toSorted())
  return PRIORITY_BANDS.map((band) => bands[band].depth)
}

export function testGauges(name: string, setup: Setup): void {
  testQueue(name, setup)
  testFleet(name, setup)
}

function testQueue(name: string, setup: Setup): void {
  test(`${name}: without executions every band of the queue is there, empty, and nothing has waited`, async (t) => {
    const { gauges } = await setup(t)
    const empty = PRIORITY_BANDS.map((band) => [band, { depth: 0, oldestSeconds: 0 }])
    assert.deepEqual(await gauges.queue(), Object.fromEntries(empty))
  })

  test(`${name}: executions that wait for a worker are counted in the band of their priority`, async (t) => {
    const s = await setup(t)
    for (const priority of [1, 3, 4, 7, 8, 10]) await s.fire(await s.createJob({ priority }), 0)
    assert.deepEqual(await depths(s), [2, 2, 2])
    // No worker may have it yet.
    await s.fire(await s.createJob(), 0, { ownRow: true, heldBack: { skipAt: null } })
    assert.deepEqual(await depths(s), [2, 2, 2])
    // In one batch, and alone.
    const members = [await s.createJob({ priority: 9 }), await s.createJob({ priority: 9 })]
    await s.fireBatch(members, 0)
    await s.fire(await s.createJob({ priority: 2, concurrencyLimit: null, overlapPolicy: 'BUFFER_ALL' }), 0)
    assert.deepEqual(await depths(s), [3, 2, 4])
  })

  test(`${name}: executions that run, wait for their turn or for a retry, or have ended do not count`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const workerId = await s.addWorker()
    await s.trigger(job)
    assert.deepEqual(await depths(s), [1, 0, 0], 'a trigger goes two levels before its job')
    const running = await s.claimLive(workerId)
    assert.deepEqual(await depths(s), [0, 0, 0])
    await s.trigger(job)
    assert.deepEqual(await depths(s), [0, 0, 0], 'it waits for its turn')
    await s.finishLive(workerId, running, s.failedForNow())
    assert.deepEqual(await depths(s), [0, 0, 0], 'it waits for its retry')
    assert.equal(await s.maintenance.wake(1), 1)
    assert.deepEqual(await depths(s), [1, 0, 0])
    await s.finishLive(workerId, await s.claimLive(workerId), s.succeeded())
    assert.deepEqual(await depths(s), [0, 0, 0])
  })

  test(`${name}: a band knows how many seconds the oldest of its executions has waited`, async (t) => {
    const s = await setup(t)
    await s.fire(await s.createJob({ priority: 5 }), 0)
    await s.ageQueue(90_000)
    await s.fire(await s.createJob({ priority: 5 }), 0)
    await s.fire(await s.createJob({ priority: 9 }), 0)
    const bands = await s.gauges.queue()
    const [first, second, third] = PRIORITY_BANDS.map((band) => bands[band].oldestSeconds)
    assert.equal(first, 0)
    assert(second! >= 90 && second! < 150, `${second} s`)
    assert(third! >= 0 && third! < 60, `${third} s`)
  })

  test(`${name}: executions that a deleted job left behind wait for no worker`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const { tenantId, jobId } = job
    for (let made = 0; made < endedWithJobMax + 1_000; made += 1_000) {
      const batches = toTriggerBatches({ count: 1_000, payloads: null }, () => s.ids.nextBatch())
      await s.jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })
    }
    assert.deepEqual(await depths(s), [endedWithJobMax + 1_000, 0, 0])
    await change(s, job, remove)
    assert.equal((await s.list(job, { status: 'PENDING' })).total, 1_000)
    assert.deepEqual(await depths(s), [0, 0, 0])
  })
}

function testFleet(name: string, setup: Setup): void {
  test(`${name}: a job is overdue when its slot has been over for long and is not fired`, async (t) => {
    const s = await setup(t)
    const now = await s.now()
    const slotAt = (ms: number) => ({ slotAt: epochMs(now - ms) })
    await s.createJob(slotAt(overdueJobMs - 60_000))
    await s.createJob({ slotAt: null, status: 'COMPLETED' })
    assert.equal(await s.gauges.overdueJobs(), 0)
    const job = await s.createJob(slotAt(overdueJobMs + 1_000))
    await s.createJob(slotAt(10 * overdueJobMs))
    assert.equal(await s.gauges.overdueJobs(), 2)
    await change(s, job, pause())
    assert.equal(await s.gauges.overdueJobs(), 1, 'a paused job fires nothing')
  })

  test(`${name}: partitions without a scheduler are counted`, async (t) => {
    const s = await setup(t)
    assert.equal(await s.gauges.unownedPartitions(), partitionsCount)
    const schedulerId = s.ids.next()
    await s.partitions.join(schedulerId)
    await s.partitions.take(schedulerId, [0, 5, 63])
    assert.equal(await s.gauges.unownedPartitions(), partitionsCount - 3)
    await s.partitions.release(schedulerId, [5])
    assert.equal(await s.gauges.unownedPartitions(), partitionsCount - 2)
    await s.partitions.leave(schedulerId)
    assert.equal(await s.gauges.unownedPartitions(), partitionsCount)
  })

  test(`${name}: the size of the history and the age of the oldest transaction are never negative`, async (t) => {
    const s = await setup(t)
    const before = await s.gauges.historyBytes()
    await s.fire(await s.createJob(), 0)
    await s.runAll()
    const after = await s.gauges.historyBytes()
    assert(before >= 0 && after >= before && Number.isInteger(after), `${before}, ${after}`)
    assert((await s.gauges.oldestTransaction()) >= 0)
  })

  test(`${name}: of the connections that the database accepts, at least our own is in use`, async (t) => {
    const { most, inUse } = await (await setup(t)).gauges.connections()
    assert(inUse >= 1 && inUse <= most && Number.isInteger(most), `${inUse} of ${most}`)
  })
}
