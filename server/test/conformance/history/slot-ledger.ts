// Conformance: the slots of a job, with their executions and ranges of skips, and how many of them have a record.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { batchExecutionsMax, executionIdAt } from '../../../src/domain/queue/execution.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { totalMax } from '../../../src/ports/executions.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { SlotQuery } from '../../../src/ports/slot-ledger.ts'
import { missed } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const lateMs = 3_600_000

async function pageOf(s: StoreScenario, job: NewJob, changes: Partial<SlotQuery> = {}) {
  const { tenantId, jobId } = job
  const page = await s.slotLedger.listSlots({
    ...{ tenantId, jobId, from: s.at(0), to: s.at(599), limit: 50, order: 'asc', lateMs },
    ...changes,
  })
  assert(page !== null)
  return page
}

async function countOf(s: StoreScenario, { tenantId, jobId }: NewJob, from: number, to: number) {
  const count = await s.slotLedger.countSlots({ tenantId, jobId, from: s.at(from), to: s.at(to), lateMs })
  assert(count !== null)
  const { edges, ...rest } = count
  return { ...rest, edges: edges.map((edge) => [edge.from, edge.to]) }
}

export function testSlotLedger(name: string, setup: Setup): void {
  testList(name, setup)
  testCount(name, setup)
  testSkips(name, setup)
}

function testList(name: string, setup: Setup): void {
  test(`${name}: a slot is listed with its execution's status wherever that is`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const workerId = await s.addWorker()
    const expected: { slot: number; executionId: string; status: string }[] = []
    const fire = async (second: number, status: string) =>
      expected.push({ slot: s.at(second), executionId: await s.fire(job, second), status })
    await fire(1, 'SUCCEEDED')
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.succeeded())
    await fire(2, 'FAILED')
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failed())
    await fire(3, 'RETRYING')
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    await fire(4, 'RUNNING')
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.running(s.at(300)))
    await fire(5, 'RUNNING')
    await s.claimBatch(workerId)
    for (const second of [6, 7]) {
      await fire(second, 'CANCELLING')
      const batch = await s.claimBatch(workerId)
      if (second === 7) await s.finishBatch(workerId, batch, s.running(s.at(300)))
      const { executionId } = expected.at(-1)!
      await s.control.cancel({ tenantId: defaultTenantId, executionId, message: 'no' })
    }
    await fire(8, 'CANCELLED')
    const cancelled = expected.at(-1)!.executionId
    await s.control.cancel({ tenantId: defaultTenantId, executionId: cancelled, message: 'no' })
    await fire(9, 'PENDING')
    await s.trigger(job)
    const { executions, end, recordedAt, owed } = await pageOf(s, job)
    assert.deepEqual(executions, expected)
    assert.deepEqual([end, recordedAt, owed], [null, s.at(9), null])
    const down = await pageOf(s, job, { order: 'desc' })
    assert.deepEqual(down.executions, expected.toReversed())
  })

  test(`${name}: slots are listed in pieces, up and down, both ends included`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (const second of [3, 1, 2, 5, 4]) await s.fire(job, second)
    await s.fire(await s.createJob(), 2)
    await s.runAll()
    const secondsOf = async (changes: Partial<SlotQuery>) => {
      const { executions, end } = await pageOf(s, job, changes)
      return [executions.map(({ slot }) => (slot - s.at(0)) / 1_000), end === null ? null : end - s.at(0)]
    }
    assert.deepEqual(await secondsOf({ limit: 2 }), [[1, 2], 2_000])
    assert.deepEqual(await secondsOf({ limit: 2, order: 'desc' }), [[5, 4], 4_000])
    assert.deepEqual(await secondsOf({ from: s.at(2), to: s.at(4) }), [[2, 3, 4], null])
    assert.deepEqual(await secondsOf({ from: s.at(2), to: s.at(4), limit: 2, order: 'desc' }), [
      [4, 3],
      3_000,
    ])
    assert.deepEqual(await secondsOf({ from: s.at(6) }), [[], null])
  })

  test(`${name}: a skipped slot has no execution, and the latest record and the owed slots are returned`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 1), 'overlap')
    assert.equal(await s.tryFire(job, 2, { late: true, owedTo: s.at(4) }), 'deferred')
    const page = await pageOf(s, job)
    assert.deepEqual(
      [page.executions.map(({ slot }) => slot), page.recordedAt, page.owed],
      [[s.at(0)], s.at(1), { from: s.at(2), to: s.at(4) }],
    )
  })

  test(`${name}: a slot that is no longer kept is not listed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.runAll()
    assert.equal((await pageOf(s, job)).executions.length, 1)
    await s.ageHistory(366)
    assert.deepEqual((await pageOf(s, job)).executions, [])
  })

  test(`${name}: ranges of skips come earliest first when asked so`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (const second of [10, 20, 30]) {
      const skipped = missed({ from: s.at(second - 5), to: s.at(second - 1), count: 5 })
      await s.fire(job, second, { skipped })
    }
    const { tenantId, jobId } = job
    const find = async (from: number, to: number, limit = 9) => {
      const query = { tenantId, jobId, from: s.at(from), to: s.at(to), limit, order: 'asc' } as const
      return (await s.slotLedger.listSkips(query))!.map((range) => (range.from - s.at(0)) / 1_000)
    }
    assert.deepEqual(await find(0, 99), [5, 15, 25])
    assert.deepEqual(await find(9, 15), [5, 15])
    assert.deepEqual(await find(17, 99), [15, 25])
    assert.deepEqual(await find(10, 14), [])
    assert.deepEqual(await find(0, 99, 2), [5, 15])
  })

  test(`${name}: nobody sees the slots of another tenant's job`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId })
    await s.fire(job, 0)
    assert.equal((await pageOf(s, job)).executions.length, 1)
    for (const jobId of [job.jobId, s.ids.next()]) {
      const bounds = { tenantId: defaultTenantId, jobId, from: s.at(0), to: s.at(9), lateMs }
      assert.equal(await s.slotLedger.listSlots({ ...bounds, limit: 9 }), null)
      assert.equal(await s.slotLedger.countSlots(bounds), null)
    }
  })
}

function testCount(name: string, setup: Setup): void {
  test(`${name}: recorded slots are counted`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (const second of [10, 20, 30]) {
      const skipped = missed({ from: s.at(second - 5), to: s.at(second - 1), count: 5 })
      await s.fire(job, second, { skipped })
    }
    await s.trigger(job)
    await s.runAll()
    await s.fire(job, 31)
    const none = { capped: false, edges: [] }
    assert.deepEqual(await countOf(s, job, 0, 99), { ...none, executions: 4, skipped: 15 })
    assert.deepEqual(await countOf(s, job, 10, 20), { ...none, executions: 2, skipped: 5 })
    const first = [s.at(5), s.at(9)]
    const last = [s.at(25), s.at(29)]
    const cut = { capped: false, edges: [first, last] }
    assert.deepEqual(await countOf(s, job, 7, 26), { ...cut, executions: 2, skipped: 5 })
    assert.deepEqual(await countOf(s, job, 6, 7), { ...none, executions: 0, skipped: 0, edges: [first] })
    assert.deepEqual(await countOf(s, job, 11, 14), { ...none, executions: 0, skipped: 0 })
  })

  test(`${name}: counting slots stops at a bound`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const batches = Math.ceil((totalMax + 1) / batchExecutionsMax)
    const items = Array.from({ length: batches }, () => s.ids.nextBatch()).flatMap((batchId, batch) =>
      Array.from({ length: batchExecutionsMax }, (_, place) => {
        const executionId = executionIdAt(batchId, place)
        return s.slotOf(job, 0, { executionId, slot: s.at((batch * batchExecutionsMax + place) / 100) })
      }),
    )
    for (let from = 0; from < items.length; from += 1_000)
      assert.deepEqual(await s.slots.fire(items.slice(from, from + 1_000)), [])
    const { executions, capped } = await countOf(s, job, 0, 599)
    assert(executions >= totalMax && capped)
    assert.equal((await countOf(s, job, 0, 9)).executions, 901)
  })
}

function testSkips(name: string, setup: Setup): void {
  test(`${name}: ranges of skips are found when they touch the time asked for, latest first`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (const second of [10, 20, 30]) {
      await s.fire(job, second, {
        skipped: missed({ from: s.at(second - 5), to: s.at(second - 1), count: 5 }),
      })
    }
    const range = (second: number) => ({
      from: s.at(second - 5),
      to: s.at(second - 1),
      count: 5,
      reason: 'misfire' as const,
      pause: null,
      version: 1,
      schedule: job.schedule,
      anchorAt: job.anchorAt,
    })
    const { tenantId, jobId } = job
    const find = (from: number, to: number, limit = 9) =>
      s.slotLedger.listSkips({ tenantId, jobId, from: s.at(from), to: s.at(to), limit })
    assert.deepEqual(await find(0, 99), [range(30), range(20), range(10)])
    assert.deepEqual(await find(9, 15), [range(20), range(10)])
    assert.deepEqual(await find(16, 17), [range(20)])
    assert.deepEqual(await find(10, 14), [])
    assert.deepEqual(await find(0, 99, 2), [range(30), range(20)])
  })

  test(`${name}: a tenant does not see the skips of the job of another tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const { jobId } = await s.createJob({ tenantId })
    const query = { jobId, from: s.at(0), to: s.at(9), limit: 9 }
    assert.deepEqual(await s.slotLedger.listSkips({ tenantId, ...query }), [])
    assert.equal(await s.slotLedger.listSkips({ tenantId: defaultTenantId, ...query }), null)
  })
}
