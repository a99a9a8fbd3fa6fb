// Conformance: executions of past slots, as a backfill makes them.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { backfillCancelledMessage, type NewOperation } from '../../../src/domain/jobs/operation.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'
import { change, remove } from './changes.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Asks for executions of these seconds; returns their ids. */
async function enqueue(
  s: StoreScenario,
  job: NewJob,
  { operationId, seconds, unendedMax }: { operationId: string; seconds: number[]; unendedMax: number },
) {
  const { tenantId, jobId } = job
  const executions = seconds.map((second) => {
    return { executionId: s.ids.next(), slot: s.at(second), lane: sharedLane }
  })
  const answer = await s.jobs.enqueueBackfill({ tenantId, jobId, operationId, unendedMax, executions })
  return { answer, executionIds: executions.map(({ executionId }) => executionId) }
}

export async function createOperation(s: StoreScenario, job: NewJob): Promise<string> {
  const { tenantId, jobId, schedule, anchorAt } = job
  const backfill = { order: 'asc', maxConcurrent: 2, schedule, anchorAt } as const
  const operation: NewOperation = {
    operationId: s.ids.next(),
    tenantId,
    kind: 'backfill',
    filter: { jobId, from: s.at(0), to: s.at(9) },
    options: { backfill },
    createdBy: 'tester',
    createdAt: await s.now(),
    total: 10,
    totalCapped: false,
  }
  assert.equal(await s.operations.create(operation), 'created')
  return operation.operationId
}

export function testBackfill(name: string, setup: Setup): void {
  testEnqueue(name, setup)
  testTurns(name, setup)
}

function testEnqueue(name: string, setup: Setup): void {
  test(`${name}: a backfill has no more executions under way than it may have`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const operationId = await createOperation(s, job)
    const first = await enqueue(s, job, { operationId, seconds: [0, 1, 2], unendedMax: 2 })
    assert.deepEqual(first.answer, { enqueued: 2, unended: 2 })
    const second = await enqueue(s, job, { operationId, seconds: [2], unendedMax: 2 })
    assert.deepEqual(second.answer, { enqueued: 0, unended: 2 })
    const workerId = await s.addWorker()
    const { live } = await s.claim(workerId)
    assert.deepEqual(
      live.map(({ executionId, kind, slot }) => [executionId, kind, slot]),
      [0, 1].map((index) => [first.executionIds[index], 'backfill', s.at(index)]),
    )
    await s.finishLive(workerId, live[0]!, s.succeeded())
    const third = await enqueue(s, job, { operationId, seconds: [2, 3], unendedMax: 2 })
    assert.deepEqual(third.answer, { enqueued: 1, unended: 2 })
    assert.equal((await s.view(first.executionIds[0]!)).kind, 'backfill')
  })

  test(`${name}: a slot that ran is run once more by a backfill`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const ran = await s.fire(job, 0)
    await s.runAll()
    const operationId = await createOperation(s, job)
    const { executionIds } = await enqueue(s, job, { operationId, seconds: [0], unendedMax: 5 })
    await s.runAll()
    const { executions } = await s.list(job, { status: 'SUCCEEDED' })
    assert.deepEqual(
      executions.map(({ executionId, kind }) => [executionId, kind]),
      [
        [executionIds[0], 'backfill'],
        [ran, 'slot'],
      ],
    )
  })

  test(`${name}: a job that is deleted, unknown or another tenant's has no backfill`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const operationId = await createOperation(s, job)
    const one = { operationId, seconds: [0], unendedMax: 1 }
    const strangers = [
      { ...job, tenantId: await s.addTenant(1) },
      { ...job, jobId: s.ids.next() },
    ]
    for (const stranger of strangers) assert.equal((await enqueue(s, stranger, one)).answer, null)
    await change(s, job, remove)
    assert.equal((await enqueue(s, job, one)).answer, null)
    assert.equal((await s.list(job)).total, 0)
  })
}

function testTurns(name: string, setup: Setup): void {
  test(`${name}: a backfill waits for the executions under way, and then its own run concurrently`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const operationId = await createOperation(s, job)
    await enqueue(s, job, { operationId, seconds: [1, 2], unendedMax: 2 })
    assert.equal((await s.release(job)).ready, 0)
    await s.runAll()
    assert.equal((await s.release(job)).ready, 1)
    assert.equal((await s.look(job)).underWayOf, operationId)
    assert.equal((await s.release(job)).ready, 1)
    const { live } = await s.claim(await s.addWorker())
    assert.deepEqual(
      live.map(({ slot }) => slot),
      [s.at(1), s.at(2)],
      'in the order in which they were given',
    )
    assert.equal(await s.tryFire(job, 3), 'overlap', 'a slot counts them')
  })

  test(`${name}: two backfills of the same job do not run concurrently`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    for (const seconds of [[1], [2]]) {
      await enqueue(s, job, { operationId: await createOperation(s, job), seconds, unendedMax: 2 })
    }
    assert.equal((await s.release(job)).ready, 1)
    assert.equal((await s.release(job)).ready, 0)
    await s.runAll()
    assert.equal((await s.release(job)).ready, 1)
  })

  test(`${name}: cancelling a backfill ends its executions that are not running`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const operationId = await createOperation(s, job)
    const other = await s.trigger(job)
    const { executionIds } = await enqueue(s, job, { operationId, seconds: [1, 2], unendedMax: 2 })
    const [claimed] = (await s.claim(await s.addWorker(), 2)).live.filter(({ kind }) => kind === 'backfill')
    assert.equal(claimed!.executionId, executionIds[0])
    assert.equal((await s.operations.cancel(job.tenantId, operationId))!.status, 'CANCELLED')
    const statuses = []
    for (const id of [...executionIds, other]) statuses.push(await s.statusOf(id))
    assert.deepEqual(statuses, ['RUNNING', 'CANCELLED', 'RUNNING'])
    const { error } = await s.view(executionIds[1]!)
    assert.deepEqual(error, { type: 'CANCELLED', message: backfillCancelledMessage })
  })
}
