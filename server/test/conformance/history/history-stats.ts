// What every implementation must do when somebody asks how a job went.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { AttemptEnd } from '../../../src/domain/queue/attempt.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
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

export function testHistoryStats(name: string, setup: Setup): void {
  for (const when of ['at once', 'when it is folded'] as const) {
    test(`${name}: it is known ${when} how often a job went well and how long it took`, async (t) => {
      const s = await setup(t)
      const [job, other] = [await s.createJob(), await s.createJob()]
      await end(s, other, 0, { durationMs: 77_000 })
      await end(s, job, 0, { durationMs: 100 })
      await end(s, job, 1, { durationMs: 201 })
      await end(s, job, 2, { outcome: 'failed', error: broken, durationMs: 300 })
      await end(s, job, 3, { outcome: 'timed_out', error: broken, durationMs: 1_000 })
      if (when === 'when it is folded') await s.foldStats()
      assert.deepEqual(await s.history.stats(defaultTenantId, job.jobId), {
        succeeded: 2,
        failed: 1,
        timedOut: 1,
        averageDurationMs: 400,
        lastStatus: 'TIMED_OUT',
      })
      await end(s, job, 4, { durationMs: 400 })
      const stats = await s.history.stats(defaultTenantId, job.jobId)
      assert.deepEqual([stats!.succeeded, stats!.averageDurationMs, stats!.lastStatus], [3, 400, 'SUCCEEDED'])
    })

    test(`${name}: what was cancelled counts ${when} as the last one only`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await end(s, job, 0, { durationMs: 100 })
      const executionId = await s.fire(job, 1)
      await s.control.cancel({ tenantId: defaultTenantId, executionId, message: 'no' })
      if (when === 'when it is folded') await s.foldStats()
      const expected = { ...none, succeeded: 1, averageDurationMs: 100, lastStatus: 'CANCELLED' }
      assert.deepEqual(await s.history.stats(defaultTenantId, job.jobId), expected)
    })
  }

  test(`${name}: of several attempts the last one counts, and what is under way does not`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    await s.fire(job, 0)
    const workerId = await s.addWorker()
    const retryAt = s.at(302)
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failed({ retryAt, durationMs: 5_000 }))
    assert.deepEqual(await s.history.stats(defaultTenantId, job.jobId), none)
    await s.maintenance.wake(1)
    await s.finishLive(workerId, await s.claimLive(workerId), s.succeeded({ durationMs: 10 }))
    await s.fire(job, 1)
    const expected = { ...none, succeeded: 1, averageDurationMs: 10, lastStatus: 'SUCCEEDED' }
    assert.deepEqual(await s.history.stats(defaultTenantId, job.jobId), expected)
  })

  test(`${name}: an execution whose workers were lost failed, and took no time that is known`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    for (let losses = 0; losses < 5; losses++) {
      const workerId = await s.addWorker()
      await s.claim(workerId)
      await s.maintenance.reclaim({ workerId, beats: 0 })
    }
    const expected = { ...none, failed: 1, lastStatus: 'FAILED' }
    assert.deepEqual(await s.history.stats(defaultTenantId, job.jobId), expected)
  })

  test(`${name}: the last one is the youngest execution, not the one that ended last`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    await s.fire(job, 0)
    const workerId = await s.addWorker()
    const older = await s.claimBatch(workerId)
    await end(s, job, 1, {})
    await s.finishBatch(workerId, older, s.failed())
    assert.equal((await s.history.stats(defaultTenantId, job.jobId))!.lastStatus, 'SUCCEEDED')
  })

  test(`${name}: nothing counts that is no longer kept`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await end(s, job, 0, {})
    await s.ageHistory(366)
    assert.deepEqual(await s.history.stats(defaultTenantId, job.jobId), none)
  })

  test(`${name}: nobody sees how the job of another tenant went`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const { jobId } = await s.createJob({ tenantId })
    assert.equal(await s.history.stats(defaultTenantId, jobId), null)
    assert.equal(await s.history.stats(defaultTenantId, s.ids.next()), null)
    assert.deepEqual(await s.history.stats(tenantId, jobId), none)
  })
}
