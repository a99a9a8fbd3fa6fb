// Conformance: how a worker learns of cancelled executions that it holds, and that the others in a batch go on.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Ending } from '../../../src/ports/queue.ts'
import { allHeld, notHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const message = 'Cancelled by hand.'

async function cancel(s: StoreScenario, executionId: string): Promise<void> {
  const { kind } = await s.control.cancel({ tenantId: defaultTenantId, executionId, message })
  assert.equal(kind, 'cancelling')
}

/** A batch of as many jobs held by a worker. */
async function holdBatch(s: StoreScenario, count: number) {
  const jobs: NewJob[] = []
  for (let i = 0; i < count; i++) jobs.push(await s.createJob())
  const { executionIds, batchId } = await s.fireBatch(jobs, 0)
  const workerId = await s.addWorker()
  const { fence } = await s.claimBatch(workerId)
  const finish = (endings: readonly Ending[]) => {
    const placed = endings.map((ending, position) => ({ position, ending }))
    return s.queue.finishBatches(workerId, [{ batchId, fence, endings: placed }])
  }
  return { jobs, executionIds, workerId, finish }
}

export function testQueueCancel(name: string, setup: Setup): void {
  testFindCancelled(name, setup)
  testMates(name, setup)
}

function testFindCancelled(name: string, setup: Setup): void {
  test(`${name}: a worker finds its own cancelled executions, in batches and alone`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, finish } = await holdBatch(s, 3)
    const other = await holdBatch(s, 1)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (let i = 0; i < 2; i++) await s.trigger(job)
    const { live } = await s.claim(workerId)
    assert.deepEqual(await s.queue.findCancelled(workerId), [])
    const cancelled = [executionIds[0]!, executionIds[2]!, live[1]!.executionId]
    for (const id of [...cancelled, other.executionIds[0]!]) await cancel(s, id)
    assert.deepEqual((await s.queue.findCancelled(workerId)).toSorted(), cancelled.toSorted())
    assert.deepEqual(await s.queue.findCancelled(other.workerId), other.executionIds)
    assert.deepEqual(await s.queue.findCancelled(s.ids.next()), [])
    await finish([s.succeeded(), s.succeeded(), s.running()])
    const left = [executionIds[2]!, live[1]!.executionId]
    assert.deepEqual((await s.queue.findCancelled(workerId)).toSorted(), left.toSorted())
  })

  test(`${name}: an execution that was cancelled before it ran is not for any worker to stop`, async (t) => {
    const s = await setup(t)
    const executionId = await s.fire(await s.createJob(), 0)
    await s.control.cancel({ tenantId: defaultTenantId, executionId, message })
    const workerId = await s.addWorker()
    assert.deepEqual(await s.claim(workerId), { batches: [], live: [] })
    assert.deepEqual(await s.queue.findCancelled(workerId), [])
  })
}

function testMates(name: string, setup: Setup): void {
  test(`${name}: in a batch the others end as they end`, async (t) => {
    const s = await setup(t)
    const { executionIds, finish } = await holdBatch(s, 5)
    for (const index of [0, 3]) await cancel(s, executionIds[index]!)
    const running = s.running()
    const unstarted = { kind: 'unstarted', host: null } as const
    const answer = await finish([s.failedForNow(), s.failedForNow(), s.died(), unstarted, running])
    assert.deepEqual(answer.missing, [])
    assert.deepEqual(answer.cancelled.toSorted(), [executionIds[0], executionIds[3]].toSorted())
    const statuses = []
    for (const id of executionIds) statuses.push(await s.statusOf(id))
    assert.deepEqual(statuses, ['CANCELLED', 'RETRYING', 'FAILED', 'CANCELLED', 'RUNNING'])
  })

  test(`${name}: an execution that the worker does not report ends cancelled too`, async (t) => {
    const s = await setup(t)
    const { executionIds, finish } = await holdBatch(s, 2)
    await cancel(s, executionIds[1]!)
    assert.deepEqual(await finish([s.succeeded()]), { ...allHeld, cancelled: [executionIds[1]] })
    assert.equal(await s.statusOf(executionIds[1]!), 'CANCELLED')
  })

  test(`${name}: a later attempt is cancelled under its own number, and earlier attempts stay`, async (t) => {
    const s = await setup(t)
    const executionId = await s.trigger(await s.createJob())
    const workerId = await s.addWorker()
    await s.finishLive(workerId, await s.claimLive(workerId), s.failedForNow())
    await s.maintenance.wake(10)
    const second = await s.claimLive(workerId)
    await cancel(s, executionId)
    const answer = await s.queue.finishLive(workerId, [{ ...second, ending: s.succeeded() }])
    assert.deepEqual(answer, { ...allHeld, cancelled: [executionId] })
    const { status, attempt, attempts } = await s.view(executionId)
    assert.deepEqual([status, attempt], ['CANCELLED', 2])
    assert.deepEqual(
      attempts.map((one) => [one.attempt, one.outcome, one.httpStatus]),
      [
        [1, 'failed', 500],
        [2, 'cancelled', 200],
      ],
    )
  })

  test(`${name}: a report under an old fence ends nothing`, async (t) => {
    const s = await setup(t)
    const executionId = await s.trigger(await s.createJob())
    const workerId = await s.addWorker()
    const live = await s.claimLive(workerId)
    await cancel(s, executionId)
    const late = { ...live, fence: live.fence + 1, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(workerId, [late]), notHeld(executionId))
    assert.equal(await s.statusOf(executionId), 'CANCELLING')
  })

  test(`${name}: the worker knows its cancelled attempt as recorded`, async (t) => {
    const s = await setup(t)
    const { jobs, executionIds, workerId, finish } = await holdBatch(s, 1)
    await cancel(s, executionIds[0]!)
    await finish([s.succeeded()])
    const key = { executionId: executionIds[0]!, attempt: 1, jobId: jobs[0]!.jobId }
    assert.deepEqual(await s.queue.findOwn(workerId, [key]), [
      { executionId: executionIds[0], status: 'recorded' },
    ])
  })
}
