// Conformance of the count of a job's executions: the same whether past days were folded or not, on every page.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { makeGraph } from '../graphs/graph-scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** The number on every page, which is that of all rows on them. */
async function countPages(s: StoreScenario, job: NewJob): Promise<number> {
  const totals = new Set<number>()
  let seen = 0
  let before: string | null = null
  do {
    const page = await s.list(job, { limit: 1, before })
    totals.add(page.total)
    seen += page.executions.length
    before = page.next
  } while (before !== null)
  assert.deepEqual([...totals], [seen])
  return seen
}

/** Executions that ended in every way but by a skip: six of them, one after two attempts. */
async function endInEveryWay(s: StoreScenario, job: NewJob, second: number): Promise<void> {
  const workerId = await s.addWorker()
  const tooSlow = { outcome: 'timed_out', error: { type: 'TIMEOUT', message: 'too slow' } } as const
  for (const [n, ending] of [s.succeeded(), s.failed(), s.died(), s.died(tooSlow)].entries()) {
    await s.fire(job, second + n)
    await s.finishBatch(workerId, await s.claimBatch(workerId), ending)
  }
  const executionId = await s.fire(job, second + 4)
  await s.control.cancel({ tenantId: defaultTenantId, executionId, message: 'not wanted' })
  await s.fire(job, second + 5)
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
  await s.maintenance.wake(1)
  await s.finishLive(workerId, await s.claimLive(workerId), s.succeeded())
}

export function testExecutionCount(name: string, setup: Setup): void {
  for (const when of ['before', 'after'] as const) {
    test(`${name}: executions of days that are over are counted ${when} the fold, however they ended`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy: 'ALLOW' })
      const other = await s.createJob()
      await endInEveryWay(s, job, 0)
      await s.ageHistory(1)
      await endInEveryWay(s, job, 10)
      await s.fire(other, 10)
      await s.runAll()
      await s.ageHistory(2)
      if (when === 'after') await s.foldRollups()
      assert.equal(await countPages(s, job), 12)
      await endInEveryWay(s, job, 20)
      await s.fire(job, 30)
      await s.claimBatch(await s.addWorker())
      await s.fire(job, 31)
      await s.trigger(job)
      assert.equal(await countPages(s, job), 21)
      assert.equal(await countPages(s, other), 1)
    })

    test(`${name}: executions that were skipped are counted ${when} the fold`, async (t) => {
      const s = await setup(t)
      const g = await makeGraph(s, 'a b>a')
      for (const ended of ['succeeded', 'failed', 'failed'] as const) {
        const runId = await g.trigger('a')
        await g.step()
        await g.finish(runId, 'a', ended)
        if (ended === 'succeeded') await g.finish(runId, 'b')
      }
      await s.ageHistory(1)
      if (when === 'after') await s.foldRollups()
      assert.equal(await countPages(s, g.jobOf('b')), 3)
    })

    test(`${name}: an execution that ended days after it was made is counted ${when} the fold, in its position`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy: 'ALLOW' })
      const long = await s.fire(job, 0)
      const workerId = await s.addWorker()
      const batch = await s.claimBatch(workerId)
      for (const second of [1, 2, 3]) await s.fire(job, second)
      await s.runAll()
      await s.ageHistory(3)
      if (when === 'after') await s.foldRollups()
      assert.equal(await countPages(s, job), 4)
      await s.finishBatch(workerId, batch, s.succeeded())
      if (when === 'after') await s.foldRollups()
      assert.equal(await countPages(s, job), 4)
      const { executions } = await s.list(job, { limit: 10 })
      assert.equal(executions.at(-1)!.executionId, long)
    })

    test(`${name}: an execution that is no longer kept is not counted ${when} the fold`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy: 'ALLOW' })
      await endInEveryWay(s, job, 0)
      await s.tick()
      await s.ageHistory(1)
      await endInEveryWay(s, job, 10)
      await s.ageHistory(364)
      if (when === 'after') await s.foldRollups()
      await endInEveryWay(s, job, 20)
      assert.equal(await countPages(s, job), 12)
    })
  }
}
