// Conformance: the numbers of a job, before and after they are folded, and each record counted once. A store that counts
// from its records when it is read folds nothing: its steps say so, and it must give the same numbers.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { AttemptEnd } from '../../../src/domain/queue/attempt.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { StatsFold } from '../../../src/history/fold-stats.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { ROLLUP_SOURCES } from '../../../src/ports/rollups.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const none = { succeeded: 0, failed: 0, timedOut: 0, averageDurationMs: null, lastStatus: null }

/** Fires a slot and lets its execution end so. */
async function end(
  s: StoreScenario,
  job: NewJob,
  second: number,
  changes: Partial<AttemptEnd>,
): Promise<void> {
  await s.fire(job, second)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.succeeded(changes))
}

const broken = { type: 'HTTP_ERROR', message: 'the target answered 500' } as const

export function testRollups(name: string, setup: Setup): void {
  for (const when of ['at once', 'when it is folded'] as const) {
    test(`${name}: success rate and mean duration of a job are known ${when}`, async (t) => {
      const s = await setup(t)
      const [job, other] = [await s.createJob(), await s.createJob()]
      await end(s, other, 0, { durationMs: 77_000 })
      await end(s, job, 0, { durationMs: 100 })
      await end(s, job, 1, { durationMs: 201 })
      await end(s, job, 2, { outcome: 'failed', error: broken, durationMs: 300 })
      await end(s, job, 3, { outcome: 'timed_out', error: broken, durationMs: 1_000 })
      if (when === 'when it is folded') await s.foldStats()
      assert.deepEqual(await s.rollups.stats(defaultTenantId, job.jobId), {
        succeeded: 2,
        failed: 1,
        timedOut: 1,
        averageDurationMs: 400,
        lastStatus: 'TIMED_OUT',
      })
      await end(s, job, 4, { durationMs: 400 })
      const stats = await s.rollups.stats(defaultTenantId, job.jobId)
      assert.deepEqual([stats!.succeeded, stats!.averageDurationMs, stats!.lastStatus], [3, 400, 'SUCCEEDED'])
    })

    test(`${name}: a cancelled execution counts ${when} as the last one only`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await end(s, job, 0, { durationMs: 100 })
      const executionId = await s.fire(job, 1)
      await s.control.cancel({ tenantId: defaultTenantId, executionId, message: 'no' })
      if (when === 'when it is folded') await s.foldStats()
      const expected = { ...none, succeeded: 1, averageDurationMs: 100, lastStatus: 'CANCELLED' }
      assert.deepEqual(await s.rollups.stats(defaultTenantId, job.jobId), expected)
    })
  }

  test(`${name}: only the last of several attempts counts, and an execution under way does not`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    await s.fire(job, 0)
    const workerId = await s.addWorker()
    const retryAt = s.at(302)
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failed({ retryAt, durationMs: 5_000 }))
    assert.deepEqual(await s.rollups.stats(defaultTenantId, job.jobId), none)
    await s.maintenance.wake(1)
    await s.finishLive(workerId, await s.claimLive(workerId), s.succeeded({ durationMs: 10 }))
    await s.fire(job, 1)
    const expected = { ...none, succeeded: 1, averageDurationMs: 10, lastStatus: 'SUCCEEDED' }
    assert.deepEqual(await s.rollups.stats(defaultTenantId, job.jobId), expected)
  })

  test(`${name}: an execution that lost all its workers counts as failed, with no known duration`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    for (let losses = 0; losses < 5; losses++) {
      const workerId = await s.addWorker()
      await s.claim(workerId)
      await s.maintenance.reclaim({ holderId: workerId, beats: 0 })
    }
    const expected = { ...none, failed: 1, lastStatus: 'FAILED' }
    assert.deepEqual(await s.rollups.stats(defaultTenantId, job.jobId), expected)
  })

  test(`${name}: the last one is the youngest execution, not the one that ended last`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    await s.fire(job, 0)
    const workerId = await s.addWorker()
    const older = await s.claimBatch(workerId)
    await end(s, job, 1, {})
    await s.finishBatch(workerId, older, s.failed())
    assert.equal((await s.rollups.stats(defaultTenantId, job.jobId))!.lastStatus, 'SUCCEEDED')
  })

  test(`${name}: nothing counts that is no longer kept`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await end(s, job, 0, {})
    await s.ageHistory(366)
    assert.deepEqual(await s.rollups.stats(defaultTenantId, job.jobId), none)
  })

  test(`${name}: nobody sees how the job of another tenant went`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const { jobId } = await s.createJob({ tenantId })
    assert.equal(await s.rollups.stats(defaultTenantId, jobId), null)
    assert.equal(await s.rollups.stats(defaultTenantId, s.ids.next()), null)
    assert.deepEqual(await s.rollups.stats(tenantId, jobId), none)
  })

  test(`${name}: an execution counts once, however often and by however many processes it is folded`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await end(s, job, 0, { durationMs: 100 })
    await end(s, job, 1, { outcome: 'failed', error: broken, durationMs: 300 })
    await s.foldStats()
    const steps = Array.from({ length: 3 }, () => new StatsFold(s.rollups).step())
    assert.deepEqual(await Promise.all(steps), ['idle', 'idle', 'idle'])
    const expected = { ...none, succeeded: 1, failed: 1, averageDurationMs: 200, lastStatus: 'FAILED' }
    assert.deepEqual(await s.rollups.stats(defaultTenantId, job.jobId), expected)
  })

  test(`${name}: pruning leaves the numbers of the history that is kept`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await end(s, job, 0, { durationMs: 100 })
    await s.foldStats()
    assert.equal(await s.rollups.prune(), 'idle')
    const expected = { ...none, succeeded: 1, averageDurationMs: 100, lastStatus: 'SUCCEEDED' }
    assert.deepEqual(await s.rollups.stats(defaultTenantId, job.jobId), expected)
  })

  test(`${name}: a source that is folded up to the present has nothing more to fold`, async (t) => {
    const s = await setup(t)
    await end(s, await s.createJob(), 0, {})
    await s.foldRollups()
    for (const source of ROLLUP_SOURCES) {
      const order = { spanMs: 60_000, leastMs: 60_000, idleMs: 0, lagMs: 0 }
      assert.equal(await s.rollups.fold(source, order), null)
    }
  })
}
