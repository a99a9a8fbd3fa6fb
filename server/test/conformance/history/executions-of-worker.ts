// Conformance: the executions of a worker, by the worker of their latest attempt.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { ExecutionQuery } from '../../../src/ports/executions.ts'
import { allExecutions } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

async function idsOf(s: StoreScenario, workerId: string, changes: Partial<ExecutionQuery> = {}) {
  const page = await s.executions.listExecutions({ ...allExecutions, workerId, ...changes })
  return page!.executions.map(({ executionId }) => executionId)
}

export function testExecutionsOfWorker(name: string, setup: Setup): void {
  test(`${name}: the executions of a worker are found in its batches, alone, between attempts, and ended`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await s.addWorker(), await s.addWorker()]
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const ended = await s.fire(job, 1)
    await s.finishBatch(one, await s.claimBatch(one), s.succeeded())
    const failed = await s.fire(job, 2)
    await s.finishBatch(one, await s.claimBatch(one), s.died())
    const retrying = await s.fire(job, 3)
    await s.finishBatch(one, await s.claimBatch(one), s.failed({ retryAt: s.at(9_000) }))
    const awaiting = await s.fire(job, 4)
    await s.finishBatch(one, await s.claimBatch(one), s.awaiting())
    const batched = await s.fire(job, 5)
    await s.claimBatch(one)
    const alone = await s.trigger(job)
    await s.claimLive(one)
    const others = await s.fire(job, 6)
    await s.finishBatch(two, await s.claimBatch(two), s.succeeded())
    const waiting = await s.fire(job, 7)

    const all = [ended, failed, retrying, awaiting, batched, alone].toSorted().toReversed()
    assert.deepEqual(await idsOf(s, one), all)
    assert.deepEqual(await idsOf(s, one, { jobId: job.jobId }), all)
    assert.deepEqual(
      await idsOf(s, one, { status: 'RUNNING' }),
      [alone, batched, awaiting].toSorted().toReversed(),
    )
    assert.deepEqual(await idsOf(s, one, { status: 'FAILED' }), [failed])
    assert.deepEqual(await idsOf(s, one, { status: 'SUCCEEDED' }), [ended])
    assert.deepEqual(await idsOf(s, two), [others])
    assert.deepEqual(await idsOf(s, s.ids.next()), [])
    assert(!all.includes(waiting))
  })

  test(`${name}: executions of a worker come a page at a time, and other tenants do not find them`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push(await s.trigger(job))
    await s.claim(workerId, 5)
    const newest = ids.toSorted().toReversed()
    const seen: string[] = []
    for (let before: string | null = null; ; ) {
      const query: ExecutionQuery = { ...allExecutions, workerId, before, limit: 2 }
      const page = await s.executions.listExecutions(query)
      assert.deepEqual([page!.total, page!.capped], [5, false])
      seen.push(...page!.executions.map(({ executionId }) => executionId))
      before = page!.next
      if (before === null) break
    }
    assert.deepEqual(seen, newest)
    assert.deepEqual(await idsOf(s, workerId, { tenantId: await s.addTenant(1) }), [])
  })

  test(`${name}: executions that a worker holds are found behind a backlog that is newer than all of them`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const jobs = await Promise.all(Array.from({ length: 3 }, () => s.createJob({ overlapPolicy: 'ALLOW' })))
    const { executionIds } = await s.fireBatch(jobs, 0)
    await s.claimBatch(workerId)
    // More batches than a search looks at.
    const [job] = jobs
    const slots = Array.from({ length: 520 }, (_, at) => s.slotOf(job!, at + 1))
    for (let at = 0; at < slots.length; at += 100) await s.slots.fire(slots.slice(at, at + 100))
    assert.deepEqual(await idsOf(s, workerId), executionIds.toSorted().toReversed())
  })
}
