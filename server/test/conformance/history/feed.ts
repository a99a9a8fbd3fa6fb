// Conformance of the feed port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { type FeedLook, type FeedMark, feedItemsMax } from '../../../src/ports/feed.ts'
import type { StoreScenario } from '../stores.ts'

const tenantId = defaultTenantId

/** Looks again and again, each time from where the last look ended. */
async function startReader({ feed }: StoreScenario, of = tenantId) {
  let mark: FeedMark = await feed.begin()
  let running: string[] = []
  return async (): Promise<FeedLook> => {
    const look = await feed.look({ tenantId: of, since: mark, running, runs: [] })
    mark = look.mark
    running = look.underWay.filter(({ status }) => status === 'RUNNING').map((one) => one.executionId)
    return look
  }
}

const countsOf = ({ started, succeeded, failed, timedOut }: FeedLook) => [
  started,
  succeeded,
  failed,
  timedOut,
]

export function testFeed(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: an ended execution is reported once, in the first poll after its end, and nothing from before the first poll`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const before = await s.fire(job, 1)
    await s.runAll()
    const look = await startReader(s)
    assert.deepEqual(countsOf(await look()), [0, 0, 0, 0])
    const now = await s.fire(job, 2)
    await s.runAll()
    const first = await look()
    assert.deepEqual(countsOf(first), [1, 1, 0, 0])
    assert.deepEqual(
      first.recorded.map(({ executionId, status, attempt, jobName }) => [
        executionId,
        status,
        attempt,
        jobName,
      ]),
      [[now, 'SUCCEEDED', 1, job.name]],
    )
    assert.notEqual(before, now)
    const second = await look()
    assert.deepEqual([second.recorded, countsOf(second)], [[], [0, 0, 0, 0]])
  })

  test(`${name}: attempts that failed for now and executions that failed for good are told apart`, async (t) => {
    const s = await setup(t)
    const [one, other] = [await s.createJob(), await s.createJob({ name: 'other' })]
    const look = await startReader(s)
    const retried = await s.fire(one, 1)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    const dead = await s.fire(other, 1)
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.died())
    const { recorded, underWay, ...counts } = await look()
    assert.deepEqual(countsOf({ recorded, underWay, ...counts }), [2, 0, 1, 0])
    assert.deepEqual(
      new Map(recorded.map(({ executionId, status }) => [executionId, status])),
      new Map([
        [retried, 'RETRYING'],
        [dead, 'FAILED'],
      ]),
    )
    assert.equal(recorded.find(({ executionId }) => executionId === dead)!.errorType, 'HTTP_ERROR')
    assert.deepEqual(
      underWay.map(({ executionId, status, attempt }) => [executionId, status, attempt]),
      [[retried, 'RETRYING', 1]],
    )
  })

  test(`${name}: the feed reports waiting executions, and running ones with their start`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const look = await startReader(s)
    const executionId = await s.trigger(job)
    await s.fire(job, 1)
    const waits = await look()
    assert.deepEqual([waits.waiting, waits.running, waits.started], [2, 0, 0])
    assert.deepEqual(
      waits.underWay.map((one) => [one.executionId, one.status, one.startedAt]),
      [[executionId, 'PENDING', null]],
    )
    const workerId = await s.addWorker()
    const { live } = await s.claim(workerId)
    const runs = await look()
    assert.deepEqual([runs.waiting, runs.running, runs.started], [0, 2, 1])
    assert.equal(runs.underWay[0]!.status, 'RUNNING')
    // It began in an earlier look, so its end is no start.
    await s.finishLive(workerId, live[0]!, s.succeeded())
    assert.deepEqual(countsOf(await look()), [0, 1, 0, 0])
  })

  test(`${name}: of very many the latest are told one by one, and all are counted`, async (t) => {
    const s = await setup(t)
    const members = await Promise.all(Array.from({ length: 120 }, () => s.createJob()))
    const look = await startReader(s)
    await s.fireBatch(members, 1)
    const workerId = await s.addWorker()
    const { batches } = await s.claim(workerId, 1_000)
    for (const batch of batches) await s.finishBatch(workerId, batch, s.succeeded())
    const { succeeded, recorded, dropped } = await look()
    assert.deepEqual([succeeded, recorded.length, dropped], [120, feedItemsMax, 120 - feedItemsMax])
    assert.equal((await look()).dropped, 0)
  })

  test(`${name}: a tenant sees nothing of another`, async (t) => {
    const s = await setup(t)
    const other = await s.addTenant(1)
    const look = await startReader(s, other)
    const job = await s.createJob({ createdAt: await s.now() })
    await s.fire(job, 1)
    await s.runAll()
    await s.trigger(job)
    const seen = await look()
    assert.deepEqual(countsOf(seen), [0, 0, 0, 0])
    assert.deepEqual(
      [seen.running, seen.waiting, seen.recorded, seen.underWay, seen.jobs],
      [0, 0, [], [], []],
    )
    const own = await startReader(s)
    assert.equal((await own()).waiting, 1)
  })

  test(`${name}: jobs that are made are told once`, async (t) => {
    const s = await setup(t)
    const look = await startReader(s)
    await s.tick()
    const job = await s.createJob({ createdAt: await s.now(), name: 'new' })
    const { jobs } = await look()
    assert.deepEqual(jobs, [{ jobId: job.jobId, name: 'new', status: 'ACTIVE', version: 1 }])
    assert.deepEqual((await look()).jobs, [])
  })

  test(`${name}: a job that runs once is ACTIVE until its execution has ended, and is told again then`, async (t) => {
    const s = await setup(t)
    const look = await startReader(s)
    await s.tick()
    const immediate = { executionId: s.ids.nextBatch(), slot: s.at(1), lane: sharedLane }
    const createdAt = await s.now()
    const done = { status: 'COMPLETED', slotAt: null } as const
    const { jobId } = await s.createJob({ schedule: { type: 'IMMEDIATE' }, ...done, immediate, createdAt })
    const recurring = await s.createJob({ createdAt })
    const statuses = async () => (await look()).jobs.map((one) => [one.jobId, one.status]).toSorted()
    assert.deepEqual(
      await statuses(),
      [
        [jobId, 'ACTIVE'],
        [recurring.jobId, 'ACTIVE'],
      ].toSorted(),
    )
    assert.deepEqual(await statuses(), [])
    await s.fire(recurring, 0)
    await s.runAll()
    assert.deepEqual(await statuses(), [[jobId, 'COMPLETED']])
    assert.deepEqual(await statuses(), [])
  })

  test(`${name}: the latest operations are there as they are`, async (t) => {
    const s = await setup(t)
    const look = await startReader(s)
    assert.deepEqual((await look()).operations, [])
    const operationId = s.ids.next()
    await s.operations.create({
      operationId,
      tenantId,
      kind: 'pause',
      filter: { status: null, tag: null, q: null },
      options: {},
      total: 7,
      totalCapped: false,
      createdBy: 'tester',
      createdAt: await s.now(),
    } as Parameters<typeof s.operations.create>[0])
    const begun = { operationId, status: 'RUNNING', done: 0, total: 7 }
    assert.deepEqual((await look()).operations, [begun])
    assert.deepEqual((await look()).operations, [begun])
  })
}
