// Conformance of the dashboard queries for failures and lateness.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { AttemptEnd } from '../../../src/domain/queue/attempt.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { missed } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Fires a slot and lets its execution end so. */
async function end(
  s: StoreScenario,
  job: NewJob,
  second: number,
  changes: Partial<AttemptEnd>,
): Promise<string> {
  const executionId = await s.fire(job, second)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.succeeded(changes))
  return executionId
}

const broken = (message: string): Partial<AttemptEnd> => ({
  ...{ outcome: 'failed', httpStatus: 500, error: { type: 'HTTP_ERROR', message }, startedAt: null },
})

async function failuresOf(s: StoreScenario, changes: { limit?: number; tenantId?: string } = {}) {
  await s.foldRollups()
  const from = epochMs((await s.now()) - 3_600_000)
  return s.activity.failures({ tenantId: defaultTenantId, from, limit: 20, ...changes })
}

type LateOne = Awaited<ReturnType<typeof lateOf>>[number]

async function lateOf(s: StoreScenario, changes: { limit?: number; tenantId?: string } = {}) {
  await s.foldRollups()
  const late = await s.activity.late({ tenantId: defaultTenantId, from: s.at(0), limit: 20, ...changes })
  return late.map(({ jobName: _name, ...one }) => one)
}

export function testActivityTroubles(name: string, setup: Setup): void {
  test(`${name}: failures are grouped by job and by the common part of their messages`, async (t) => {
    const s = await setup(t)
    const [job, other] = [await s.createJob({ name: 'first' }), await s.createJob({ name: 'second' })]
    await end(s, job, 0, broken('order 17 is gone'))
    const between = await s.now()
    await s.tick()
    const last = await end(s, job, 1, broken('order 18 is gone'))
    await end(s, job, 2, broken('no such order'))
    await end(s, other, 0, broken('order 17 is gone'))
    await end(s, job, 3, { ...broken('order 19 is gone'), httpStatus: 503 })
    await end(s, job, 4, {})
    const failures = await failuresOf(s)
    assert.equal(failures.length, 4)
    const [{ firstAt, lastAt, ...first }, ...rest] = failures as [(typeof failures)[0]]
    assert.deepEqual(first, {
      ...{ jobId: job.jobId, jobName: 'first', errorType: 'HTTP_ERROR', httpStatus: 500 },
      ...{ message: 'order 18 is gone', count: 2, lastExecutionId: last, isJobFailing: false },
    })
    assert(firstAt <= between && between < lastAt)
    assert.deepEqual(
      rest.map(({ count }) => count),
      [1, 1, 1],
    )
    assert.equal((await failuresOf(s, { limit: 1 })).length, 1)
  })

  test(`${name}: every attempt that failed counts, however its execution ended`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    await s.foldRollups()
    await s.maintenance.wake(1)
    await s.finishLive(workerId, await s.claimLive(workerId), s.failedForNow())
    await s.maintenance.wake(1)
    await s.finishLive(workerId, await s.claimLive(workerId), s.succeeded())
    const [failure, ...more] = await failuresOf(s)
    assert.deepEqual([failure!.count, more.length], [2, 0])
  })

  test(`${name}: a lost worker is a failure too`, async (t) => {
    const s = await setup(t)
    await s.fire(await s.createJob(), 0)
    const workerId = await s.addWorker()
    await s.claim(workerId)
    await s.maintenance.reclaim({ holderId: workerId, beats: 0 })
    const [failure] = await failuresOf(s)
    assert.deepEqual([failure!.errorType, failure!.httpStatus], ['WORKER_LOST', null])
  })

  test(`${name}: a tenant does not see failed or late executions of another tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId })
    await end(s, job, 0, { ...broken('no'), startedAt: s.at(60) })
    assert.equal(await s.tryFire(job, 1), 'fired')
    assert.equal(await s.tryFire(job, 2), 'overlap')
    assert.deepEqual([await failuresOf(s), await lateOf(s)], [[], []])
    assert.equal((await failuresOf(s, { tenantId })).length, 1)
    assert.equal((await lateOf(s, { tenantId })).length, 2)
  })

  test(`${name}: a slot that began more than five seconds late is known`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await end(s, job, -1, { startedAt: s.at(30) })
    await end(s, job, 0, { startedAt: s.at(5) })
    const first = await end(s, job, 1, { startedAt: s.at(7) })
    const second = await end(s, job, 2, { startedAt: s.at(60) })
    const plain = { jobId: job.jobId, kind: 'late', reason: null, slotCount: 1 }
    assert.deepEqual(await lateOf(s), [
      { ...plain, slot: s.at(2), lateMs: 58_000, executionId: second },
      { ...plain, slot: s.at(1), lateMs: 6_000, executionId: first },
    ])
    assert.equal((await lateOf(s, { limit: 1 })).length, 1)
  })

  test(`${name}: slots that were skipped by an overlap are one entry, which grows`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.claim(await s.addWorker())
    assert.equal(await s.tryFire(job, 1), 'overlap')
    const plain = { jobId: job.jobId, kind: 'skipped', lateMs: null, reason: 'overlap', executionId: null }
    assert.deepEqual(await lateOf(s), [{ ...plain, slot: s.at(1), slotCount: 1 }])
    await s.ageSkips()
    assert.equal(await s.tryFire(job, 2, { previousSlot: s.at(1) }), 'overlap')
    assert.deepEqual(await lateOf(s), [{ ...plain, slot: s.at(2), slotCount: 2 }])
  })

  test(`${name}: slots that were missed are known`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const range = { from: s.at(1), to: s.at(9), count: 9 }
    await s.fire(job, 10, { late: true, skipped: missed(range) })
    await s.claim(await s.addWorker())
    assert.deepEqual(await lateOf(s), [
      {
        ...{ jobId: job.jobId, kind: 'skipped', lateMs: null, reason: 'misfire', executionId: null },
        ...{ slot: s.at(9), slotCount: 9 },
      },
    ])
  })

  test(`${name}: an execution that is due and has not started counts as waiting`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 3)
    assert.deepEqual(await lateOf(s), [])
    await s.ageQueue(60_000)
    const [{ lateMs, ...waiting }, ...more] = (await lateOf(s)) as [LateOne, ...LateOne[]]
    const plain = {
      jobId: job.jobId,
      slot: s.at(3),
      kind: 'waiting',
      reason: null,
      slotCount: 1,
      executionId,
    }
    assert.deepEqual([waiting, more], [plain, []])
    assert(lateMs !== null && lateMs >= 60_000 && lateMs < 120_000)
    await s.claim(await s.addWorker())
    assert.deepEqual(await lateOf(s), [])
  })
}
