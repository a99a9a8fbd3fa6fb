// Conformance of the maintenance port, for every implementation: reclaim, and wake. Releases are in
// maintenance-release.ts; leases themselves are in workers.ts.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { rankOf } from '../../../src/domain/queue/rank.ts'
import { lossesMax } from '../../../src/domain/queue/retry.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { listWorkers } from '../../list-workers.ts'
import { notHeld, type Scenario } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { assertWithin, during } from './held.ts'

async function reclaim(s: Scenario, workerId: string): Promise<void> {
  const settled = await s.maintenance.reclaim({ holderId: workerId, beats: 0 })
  assert(settled !== 'alive')
  // Each attempt that it says it held is on record.
  for (const { executionId, attempt, outcome, isFinal } of settled) {
    const view = await s.view(executionId)
    assert.equal(view.attempts.find((one) => one.attempt === attempt)?.outcome, outcome)
    assert.equal(['FAILED', 'CANCELLED'].includes(view.status), isFinal, view.status)
  }
}

/** Triggers a job, and loses as many workers under it. */
async function lose(s: Scenario, times: number) {
  const job = await s.createJob()
  const executionId = await s.trigger(job, { payloadOverride: 'p' })
  for (let i = 0; i < times; i++) {
    const workerId = await s.addWorker()
    await s.claimLive(workerId)
    await reclaim(s, workerId)
  }
  return { job, executionId }
}

export function testMaintenance(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testReclaim(name, setup)
  testWake(name, setup)
}

function testReclaim(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a worker that beat meanwhile keeps all it holds`, async (t) => {
    const s = await setup(t)
    const executionId = await s.fire(await s.createJob(), 0)
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    await s.leases.beat(workerId, { status: 'ACTIVE', currentLoad: 1 })
    assert.equal(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
    assert.equal(await s.maintenance.reclaim({ holderId: s.ids.next(), beats: 0 }), 'alive')
    assert.equal(await s.statusOf(executionId), 'RUNNING')
    await s.finishBatch(workerId, batch, s.succeeded())
  })

  test(`${name}: an execution that a lost worker held in a batch is recorded as lost and runs elsewhere`, async (t) => {
    const s = await setup(t)
    const jobs = [await s.createJob(), await s.createJob()]
    const { executionIds } = await s.fireBatch(jobs, 0)
    const lost = await s.addWorker()
    const [batch, claimed] = await during(s, () => s.claimBatch(lost))
    await reclaim(s, lost)
    const workers = await listWorkers(s.workers, { tenantId: null })
    assert.deepEqual(
      workers.map(({ workerId, status }) => [workerId, status]),
      [[lost, 'DEAD']],
    )
    for (const job of jobs) assert.equal((await s.list(job)).total, 1)
    for (const executionId of executionIds) {
      const { status, attempt, attempts, error } = await s.view(executionId)
      assert.deepEqual([status, attempt, error?.type], ['RETRYING', 1, 'WORKER_LOST'])
      const [{ startedAt, finishedAt, ...recorded }, ...more] = attempts as [(typeof attempts)[number]]
      assert.deepEqual(more, [])
      assertWithin(startedAt, claimed)
      assert(finishedAt! >= s.at(600) && finishedAt! <= (await s.now()))
      assert.deepEqual(recorded, {
        attempt: 1,
        outcome: 'lost',
        workerId: lost,
        enqueuedAt: batch.enqueuedAt,
        durationMs: null,
        httpStatus: null,
        error,
        preview: null,
        usage: null,
      })
    }
    const { batches, live } = await s.claim(await s.addWorker())
    assert.deepEqual(batches, [])
    assert.deepEqual(live.map(({ executionId }) => executionId).toSorted(), executionIds)
    for (const { attempt, losses, rank, enqueuedAt } of live) {
      assert.deepEqual([attempt, losses, rank, enqueuedAt], [2, 1, batch.rank, batch.enqueuedAt])
    }
  })

  test(`${name}: a single execution of a lost worker runs elsewhere with its rank and payload`, async (t) => {
    const s = await setup(t)
    const executionId = await s.trigger(await s.createJob(), { payloadOverride: [1] })
    const lost = await s.addWorker()
    const [before, claimed] = await during(s, () => s.claimLive(lost))
    await reclaim(s, lost)
    const { status, attempts } = await s.view(executionId)
    assert.deepEqual([status, attempts.length], ['RETRYING', 1])
    assertWithin(attempts[0]!.startedAt, claimed)
    const after = await s.claimLive(await s.addWorker())
    assert.deepEqual([after.attempt, after.losses, after.rank], [2, 1, before.rank])
    assert.deepEqual([after.payloadOverride, after.kind], [[1], 'trigger'])
    assert(after.fence > before.fence)
  })

  test(`${name}: a lost attempt that had left its batch keeps the time it started`, async (t) => {
    const s = await setup(t)
    const executionId = await s.fire(await s.createJob(), 0)
    const lost = await s.addWorker()
    await s.finishBatch(lost, await s.claimBatch(lost), s.running(s.at(299)))
    await reclaim(s, lost)
    const [attempt] = (await s.view(executionId)).attempts
    assert.deepEqual([attempt!.outcome, attempt!.startedAt], ['lost', s.at(299)])
    assert.equal((await s.claimLive(await s.addWorker())).attempt, 2)
  })

  test(`${name}: a lost worker can finish and claim nothing any more`, async (t) => {
    const s = await setup(t)
    const { jobId, ...job } = await s.createJob()
    const executionId = await s.fire({ jobId, ...job }, 0)
    const lost = await s.addWorker()
    const { batchId, fence } = await s.claimBatch(lost)
    await reclaim(s, lost)
    const endings = [{ position: 0, ending: s.succeeded() }]
    assert.deepEqual(await s.queue.finishBatches(lost, [{ batchId, fence, endings }]), notHeld(batchId))
    const end = { executionId, fence: 1, attempt: 1, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(lost, [end]), notHeld(executionId))
    await assert.rejects(s.claim(lost))
    // The reclaim records this attempt as lost: it is not the worker's own record.
    assert.deepEqual(await s.queue.findOwn(lost, [{ executionId, attempt: 1, jobId }]), [])
    assert.equal(await s.statusOf(executionId), 'RETRYING')
  })

  test(`${name}: other workers keep the executions they hold`, async (t) => {
    const s = await setup(t)
    const kept = await s.fire(await s.createJob(), 0)
    await s.claimBatch(await s.addWorker())
    await s.fire(await s.createJob(), 0)
    const lost = await s.addWorker()
    await s.claimBatch(lost)
    await reclaim(s, lost)
    assert.equal(await s.statusOf(kept), 'RUNNING')
    assert.equal((await s.claim(await s.addWorker())).live.length, 1)
  })

  test(`${name}: an execution is tried again as long as few workers were lost under it`, async (t) => {
    const s = await setup(t)
    const { executionId } = await lose(s, lossesMax - 1)
    assert.deepEqual([await s.statusOf(executionId), (await s.deadLetters.depth()).count], ['RETRYING', 0])
    const { attempt, losses } = await s.claimLive(await s.addWorker())
    assert.deepEqual([attempt, losses], [lossesMax, lossesMax - 1])
  })

  test(`${name}: an execution under which too many workers were lost is a dead letter`, async (t) => {
    const s = await setup(t)
    const { job, executionId } = await lose(s, lossesMax)
    const view = await s.view(executionId)
    assert.deepEqual([view.status, view.deadLetter, view.attempts.length], ['FAILED', true, lossesMax])
    assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
    const letter = (await s.deadLetters.get(job.tenantId, executionId))!
    assert.deepEqual([letter.reason, letter.attempts, letter.payload], ['WORKER_LOST', lossesMax, '"p"'])
    assert.deepEqual(
      letter.errors.map(({ attempt, type }) => [attempt, type]),
      Array.from({ length: lossesMax }, (_, i) => [i + 1, 'WORKER_LOST']),
    )
  })

  test(`${name}: a failure between two losses does not prune the losses`, async (t) => {
    const s = await setup(t)
    const { executionId } = await lose(s, lossesMax - 1)
    const workerId = await s.addWorker()
    await s.finishLive(workerId, await s.claimLive(workerId), s.failedForNow())
    await s.maintenance.wake(1)
    assert.equal((await s.claimLive(workerId)).losses, lossesMax - 1)
    await reclaim(s, workerId)
    assert.equal(await s.statusOf(executionId), 'FAILED')
  })

  test(`${name}: a worker that still holds executions cannot just leave`, async (t) => {
    const s = await setup(t)
    await s.fire(await s.createJob(), 0)
    const workerId = await s.addWorker()
    await s.claimBatch(workerId)
    await assert.rejects(s.leases.unregister(workerId))
    assert.equal((await listWorkers(s.workers, { tenantId: null })).length, 1)
  })
}

function testWake(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  /** Fires slots and lets them fail, to be tried again at these times. */
  async function failUntil(s: Scenario, retryAt: readonly number[]): Promise<string[]> {
    const executionIds = []
    const workerId = await s.addWorker()
    for (const at of retryAt) {
      executionIds.push(await s.fire(await s.createJob({ priority: 5 }), 0))
      await s.finishBatch(workerId, await s.claimBatch(workerId), s.failed({ retryAt: epochMs(at) }))
    }
    return executionIds
  }

  test(`${name}: only retries that are due are woken, the earliest first`, async (t) => {
    const s = await setup(t)
    const later = (await s.now()) + 60_000
    const [third, future, first, second] = await failUntil(s, [s.at(330), later, s.at(310), s.at(320)])
    const workerId = await s.addWorker()
    assert.equal(await s.maintenance.wake(2), 2)
    const woken = (await s.claim(workerId)).live.map(({ executionId }) => executionId)
    assert.deepEqual(woken.toSorted(), [first, second].toSorted())
    assert.equal(await s.maintenance.wake(9), 1)
    assert.equal((await s.claimLive(workerId)).executionId, third)
    assert.equal(await s.maintenance.wake(9), 0)
    assert.equal(await s.statusOf(future!), 'RETRYING')
  })

  test(`${name}: the next retry to wake is the earliest`, async (t) => {
    const s = await setup(t)
    assert.equal(await s.maintenance.nextWakeAt(), null)
    await failUntil(s, [s.at(330), s.at(310)])
    assert.equal(await s.maintenance.nextWakeAt(), s.at(310))
    await s.maintenance.wake(1)
    assert.equal(await s.maintenance.nextWakeAt(), s.at(330))
    await s.maintenance.wake(1)
    assert.equal(await s.maintenance.nextWakeAt(), null)
  })

  test(`${name}: a retry queues up as if it were new`, async (t) => {
    const s = await setup(t)
    const [executionId] = await failUntil(s, [s.at(310)])
    await s.tick()
    const wokenFrom = await s.now()
    await s.maintenance.wake(1)
    const { enqueuedAt, rank } = await s.claimLive(await s.addWorker())
    assert(enqueuedAt >= wokenFrom && enqueuedAt <= (await s.now()))
    assert.equal(rank, rankOf(enqueuedAt, 5))
    assert.equal((await s.view(executionId!)).retryAt, null)
  })
}
