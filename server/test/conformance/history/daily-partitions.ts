// Conformance: the days of slots and history. A store without days keeps them by doing nothing; no caller can tell.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { historyDaysMax } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { dayMs } from '../../../src/lib/time/units.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const keepNow = async (s: StoreScenario) => s.dailyPartitions.keep(await s.now())

/** A job of which one execution ended. */
async function runOnce(s: StoreScenario): Promise<{ job: NewJob; executionId: string }> {
  const job = await s.createJob()
  const executionId = await s.fire(job, 0)
  await s.runAll()
  return { job, executionId }
}

export function testDailyPartitions(name: string, setup: Setup): void {
  test(`${name}: days are kept again and again, by several processes at once`, async (t) => {
    const s = await setup(t)
    await keepNow(s)
    await Promise.all([keepNow(s), keepNow(s), keepNow(s)])
    const { executionId } = await runOnce(s)
    assert.equal(await s.statusOf(executionId), 'SUCCEEDED')
  })

  test(`${name}: slots of the coming days fire once they are kept`, async (t) => {
    const s = await setup(t)
    await keepNow(s)
    const now = await s.now()
    for (const day of [0, 1, 13]) {
      const slot = epochMs(now - (now % 1_000) + day * dayMs)
      const item = s.slotOf(await s.createJob(), 0, { slot, dueAt: now })
      assert.deepEqual(await s.slots.fire([item]), [])
      assert.equal(await s.statusOf(item.executionId), 'PENDING')
    }
  })

  test(`${name}: a slot that fired lately stays on record, so that it does not fire again`, async (t) => {
    const s = await setup(t)
    const { job } = await runOnce(s)
    await keepNow(s)
    assert.equal(await s.tryFire(job, 0), 'already_recorded')
  })

  test(`${name}: history within its retention stays, older history is gone`, async (t) => {
    const s = await setup(t)
    const { job, executionId } = await runOnce(s)
    await s.ageHistory(historyDaysMax - 2)
    await keepNow(s)
    assert.deepEqual(
      (await s.list(job)).executions.map((one) => one.executionId),
      [executionId],
    )
    await s.ageHistory(4)
    await keepNow(s)
    assert.equal((await s.list(job)).total, 0)
    assert.equal(await s.executions.getExecution(job.tenantId, executionId), null)
  })
}
