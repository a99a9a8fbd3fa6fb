// What every implementation must tell about the slots of a job: their executions by slot, how many have a record, and
// what is under way.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { batchExecutionsMax, executionIdAt } from '../../../src/domain/queue/execution.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { type SlotQuery, totalMax, underWayMax } from '../../../src/ports/history.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { createAfter, stepRuns } from '../graphs/run-scene.ts'
import { assertWithin, during } from '../queue/held.ts'
import { allHeld, missed } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const lateMs = 3_600_000

async function pageOf(s: StoreScenario, job: NewJob, changes: Partial<SlotQuery> = {}) {
  const { tenantId, jobId } = job
  const page = await s.history.listSlots({
    ...{ tenantId, jobId, from: s.at(0), to: s.at(599), limit: 50, order: 'asc', lateMs },
    ...changes,
  })
  assert(page !== null)
  return page
}

async function countOf(s: StoreScenario, { tenantId, jobId }: NewJob, from: number, to: number) {
  const count = await s.history.countSlots({ tenantId, jobId, from: s.at(from), to: s.at(to), lateMs })
  assert(count !== null)
  const { edges, ...rest } = count
  return { ...rest, edges: edges.map((edge) => [edge.from, edge.to]) }
}

export function testHistorySlots(name: string, setup: Setup): void {
  testList(name, setup)
  testCount(name, setup)
  testUnderWay(name, setup)
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

  test(`${name}: a skipped slot has no execution, and the latest record and what is owed are told`, async (t) => {
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

  test(`${name}: what is no longer kept is not listed`, async (t) => {
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
      return (await s.history.listSkips(query))!.map((range) => (range.from - s.at(0)) / 1_000)
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
      assert.equal(await s.history.listSlots({ ...bounds, limit: 9 }), null)
      assert.equal(await s.history.countSlots(bounds), null)
      assert.equal(await s.history.underWay(defaultTenantId, jobId), null)
    }
  })
}

function testCount(name: string, setup: Setup): void {
  test(`${name}: it is counted how many slots have a record`, async (t) => {
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

function testUnderWay(name: string, setup: Setup): void {
  test(`${name}: what of a job has not ended is told, what runs first`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const none = { executions: [], letGo: 0, owed: null }
    const underWay = async () => (await s.history.underWay(defaultTenantId, job.jobId))!
    assert.deepEqual(await underWay(), none)
    const executionId = await s.fire(job, 1)
    const trigger = await s.trigger(job)
    const [first, second, ...more] = (await underWay()).executions
    assert.deepEqual(more, [])
    const common = { startedAt: null, retryAt: null, host: null, concurrencyKey: null, attempt: 0 }
    const slot = { kind: 'slot', slot: s.at(1), state: 'ready', status: 'PENDING' }
    assert.deepEqual(first, { ...common, ...slot, executionId, enqueuedAt: first!.enqueuedAt })
    assert.deepEqual([second!.executionId, second!.kind, second!.state], [trigger, 'trigger', 'waiting'])
    const workerId = await s.addWorker()
    const [batch, claimed] = await during(s, () => s.claimBatch(workerId))
    assertWithin((await underWay()).executions[0]!.startedAt, claimed)
    const states = async () =>
      (await underWay()).executions.map(({ state, status, attempt }) => [state, status, attempt])
    const waits = ['waiting', 'PENDING', 0]
    assert.deepEqual(await states(), [['running', 'RUNNING', 1], waits])
    await s.finishBatch(workerId, batch, s.running(s.at(300)))
    assert.equal((await underWay()).executions[0]!.startedAt, s.at(300))
    await s.control.cancel({ tenantId: defaultTenantId, executionId, message: 'no' })
    assert.deepEqual(await states(), [['running', 'CANCELLING', 1], waits])
    assert.equal((await underWay()).letGo, 1)
    const live = { executionId, fence: 1, attempt: 1, ending: s.succeeded() }
    const held = await s.queue.finishLive(workerId, [live])
    assert.deepEqual(held, { ...allHeld, cancelled: [executionId] })
    assert.deepEqual(await states(), [waits])
  })

  test(`${name}: a retry tells when it starts, and what is owed is told`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 1)
    assert.equal(await s.tryFire(job, 2, { late: true, owedTo: s.at(4) }), 'deferred')
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    const { executions, owed } = (await s.history.underWay(defaultTenantId, job.jobId))!
    const [{ state, status, attempt, retryAt }] = executions as [(typeof executions)[number]]
    assert.deepEqual([state, status, attempt, retryAt], ['retrying', 'RETRYING', 1, s.at(302)])
    assert.deepEqual(owed, { from: s.at(2), to: s.at(4) })
  })

  test(`${name}: what waits for a key tells how many hold it`, async (t) => {
    const s = await setup(t)
    const concurrencyKey = { key: 'db', limit: 1 }
    const [job, other] = [await s.createJob({ concurrencyKey }), await s.createJob({ concurrencyKey })]
    assert.equal(await s.tryFire(other, 1), 'buffered')
    assert.equal(await s.tryFire(job, 1), 'buffered')
    const keyOf = async () =>
      (await s.history.underWay(defaultTenantId, job.jobId))!.executions[0]!.concurrencyKey
    assert.deepEqual(await keyOf(), { key: 'db', limit: 1, held: 0 })
    await s.release(other)
    assert.deepEqual(await keyOf(), { key: 'db', limit: 1, held: 1 })
  })

  test(`${name}: no more are told than fit, and all are counted`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (let second = 0; second < underWayMax + 2; second++) await s.fire(job, second)
    await s.trigger(job)
    const { executions, letGo } = (await s.history.underWay(defaultTenantId, job.jobId))!
    assert.deepEqual([executions.length, letGo], [underWayMax, underWayMax + 3])
  })

  test(`${name}: what goes is told before however much waits for it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0)
    for (let count = 0; count < underWayMax + 2; count++) await s.trigger(job)
    const { executions, letGo } = (await s.history.underWay(defaultTenantId, job.jobId))!
    assert.deepEqual([executions.length, executions[0]!.executionId, letGo], [underWayMax, executionId, 1])
  })

  test(`${name}: what waits for others of its graph run is told last, and is not let go`, async (t) => {
    const s = await setup(t)
    const root = await s.createJob()
    const job = await createAfter(s, [root])
    await s.trigger(root)
    await stepRuns(s)
    const alone = [await s.trigger(job), await s.trigger(job)]
    const { executions, letGo } = (await s.history.underWay(defaultTenantId, job.jobId))!
    assert.deepEqual(
      executions.map(({ kind, state, status }) => [kind, state, status]),
      [
        ['trigger', 'ready', 'PENDING'],
        ['trigger', 'waiting', 'PENDING'],
        ['dependency', 'blocked', 'WAITING_DEPENDENCIES'],
      ],
    )
    assert.deepEqual(
      executions.slice(0, 2).map(({ executionId }) => executionId),
      alone,
    )
    assert.equal(letGo, 1)
  })
}
