// Conformance of budgets: executions a minute, charged once, exact over all draws; and of the executions that wait.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { executionIdAt } from '../../../src/domain/queue/execution.ts'
import { serverRoute } from '../../../src/domain/queue/route.ts'
import type { BudgetUse } from '../../../src/domain/tenants/execution-budget.ts'
import type { Tier } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const noLimit: Tier = {
  tier: '',
  weight: 1,
  historyDays: 30,
  payloadBytesMax: 1_024,
  retriesMax: 3,
  intervalSecondsMin: 1,
  priorityBest: 1,
  deadLetters: true,
  requestsPerSecond: null,
  hostCallsPerSecond: null,
  activeJobsMax: null,
  timeoutSecondsMax: null,
  executionsPerMinute: null,
  concurrentExecutionsMax: null,
  waitingExecutionsMax: null,
  storageBytesMax: null,
}

/** Tenants on tiers of their own. */
export async function setupBudgets(setup: Setup, t: TestContext) {
  const s = await setup(t)
  const setLimit = (tier: string, executionsPerMinute: number | null) =>
    s.tiers.put({ ...noLimit, tier, executionsPerMinute })
  async function addLimited(executionsPerMinute: number | null): Promise<string> {
    const tenantId = s.ids.next()
    await setLimit(tenantId, executionsPerMinute)
    assert.equal(typeof (await s.tenants.create({ tenantId, name: tenantId, tier: tenantId })), 'object')
    return tenantId
  }
  async function draw(tenantId: string, count: number, use: BudgetUse = 'slot', whole = false) {
    const [grant] = await s.executionBudgets.draw([{ tenantId, use, count, whole }])
    return grant!.granted
  }
  /** A slot whose execution waits for a budget. */
  const hold = (job: NewJob, second: number, skipSecond: number | null = null) =>
    s.fire(job, second, {
      ownRow: true,
      heldBack: { skipAt: skipSecond === null ? null : s.at(skipSecond) },
    })
  const letGo = (each = 500) => s.executionBudgets.letGo({ after: null, tenants: 100, each, total: 1_000 })
  /** Claims everything; returns the executions. */
  async function claimAll(): Promise<string[]> {
    const workerId = await s.addWorker({ capacity: 2_000 })
    const { lanes, hosts } = await s.queue.waiting([serverRoute], 100)
    const asked = lanes.map(({ lane }) => ({ lane, count: 500 }))
    const claimed = await s.queue.claim({
      workerId,
      routes: [serverRoute],
      lanes: asked,
      hosts: hosts.map((host) => ({ host, count: 500 })),
      batchesMax: 20,
    })
    const batched = claimed.batches.flatMap(({ batchId, positions }) =>
      positions.map((position) => executionIdAt(batchId, position)),
    )
    return [...claimed.live.map(({ executionId }) => executionId), ...batched]
  }
  return { s, setLimit, addLimited, draw, hold, letGo, claimAll }
}

export function testExecutionBudgets(name: string, setup: Setup): void {
  testDraws(name, setup)
  testHeldBack(name, setup)
  testUncharged(name, setup)
}

function testDraws(name: string, setup: Setup): void {
  test(`${name}: of draws that come at once exactly a burst is granted, and a tenth of it only to triggers`, async (t) => {
    const { addLimited, draw } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    const other = await addLimited(1)
    const granted = await Promise.all(Array.from({ length: 20 }, () => draw(tenantId, 1)))
    assert.equal(
      granted.reduce((sum, one) => sum + one),
      1,
    )
    assert.equal(await draw(tenantId, 1, 'trigger', true), 1)
    assert.equal(await draw(tenantId, 1, 'trigger', true), 0)
    assert.equal(await draw(other, 1), 1, 'another tenant has a budget of its own')
  })

  test(`${name}: a budget is earned back at the rate of the tier`, async (t) => {
    const { s, addLimited, draw } = await setupBudgets(setup, t)
    const tenantId = await addLimited(60)
    assert.equal(await draw(tenantId, 500), 108)
    assert.equal(await draw(tenantId, 500), 0)
    await s.ageBudgets(10_000)
    const granted = await draw(tenantId, 500)
    // PostgreSQL's clock goes on meanwhile.
    assert(granted >= 10 && granted <= 12, `${granted} after 10 s`)
    await s.ageBudgets(3_600_000)
    assert.equal(await draw(tenantId, 500), 108)
  })

  test(`${name}: charges that are given back are there again`, async (t) => {
    const { s, addLimited, draw } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    assert.equal(await draw(tenantId, 2, 'trigger', true), 2)
    await s.executionBudgets.giveBack([
      { tenantId, count: 1 },
      { tenantId, count: 1 },
    ])
    assert.equal(await draw(tenantId, 2, 'trigger', true), 2)
    await s.executionBudgets.giveBack([])
  })

  test(`${name}: a change of the tier counts for the next draw, and an unlimited tenant is granted all`, async (t) => {
    const { s, setLimit, addLimited, draw } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    const free = await addLimited(null)
    assert.equal(await draw(tenantId, 500), 1)
    await setLimit(tenantId, 1_000)
    assert.equal(await draw(tenantId, 1_000), 1_000)
    await setLimit(tenantId, null)
    assert.equal(await draw(tenantId, 1_000_000), 1_000_000)
    assert.equal(await draw(free, 1_000_000), 1_000_000)
    assert.deepEqual(await s.executionBudgets.limits([tenantId, free]), [])
    await setLimit(tenantId, 7)
    assert.deepEqual(await s.executionBudgets.limits([tenantId, free]), [
      { tenantId, executionsPerMinute: 7, waitingExecutionsMax: null },
    ])
    assert.equal(await s.executionBudgets.spent(free), null)
  })
}

function testHeldBack(name: string, setup: Setup): void {
  test(`${name}: an execution that waits for a budget is PENDING and claimed by nobody until it is let go`, async (t) => {
    const { s, addLimited, draw, hold, letGo, claimAll } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    const executionId = await hold(await s.createJob({ tenantId }), 0)
    assert.deepEqual(await claimAll(), [])
    assert.equal((await s.view(executionId, tenantId)).status, 'PENDING')
    assert.equal(await draw(tenantId, 1, 'trigger'), 1)
    const waiting = await letGo()
    assert.equal(waiting.ready, 0)
    assert(waiting.againInMs! > 50_000 && waiting.againInMs! <= 60_000, `${waiting.againInMs}`)
    await s.ageBudgets(60_000)
    assert.equal((await letGo()).ready, 1)
    assert.deepEqual(await claimAll(), [executionId])
    assert.equal(await draw(tenantId, 1), 0, 'it was charged when it was let go')
    assert.deepEqual(await letGo(), { ready: 0, next: null, againInMs: null })
  })

  test(`${name}: executions are let go in the order of their rank, whichever job they are of`, async (t) => {
    const { s, addLimited, hold, letGo, claimAll } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    const low = await s.createJob({ tenantId, priority: 9 })
    const high = await s.createJob({ tenantId, priority: 2 })
    await hold(low, 0)
    const first = await hold(high, 1)
    assert.equal((await letGo()).ready, 1)
    assert.deepEqual(await claimAll(), [first])
  })

  test(`${name}: slots that fire now do not overtake executions that wait already; triggers do`, async (t) => {
    const { s, addLimited, draw, hold, letGo, claimAll } = await setupBudgets(setup, t)
    const [tenantId, other] = [await addLimited(1), await addLimited(1)]
    const waiting = await hold(await s.createJob({ tenantId }), 0)
    const orders = [tenantId, other].map(
      (id) => ({ tenantId: id, use: 'slot', count: 1, whole: false }) as const,
    )
    const grants = await s.executionBudgets.draw(orders)
    assert.deepEqual(
      grants.map(({ granted }) => granted),
      [0, 1],
    )
    assert.equal(await draw(tenantId, 1, 'trigger', true), 1)
    await s.ageBudgets(60_000)
    assert.equal(await draw(tenantId, 1), 0)
    assert.equal((await letGo()).ready, 1)
    assert.deepEqual(await claimAll(), [waiting])
    await s.ageBudgets(60_000)
    assert.equal(await draw(tenantId, 1), 1)
  })

  test(`${name}: the waiting executions of one tenant hold up no other, and a page goes on behind its last tenant`, async (t) => {
    const { s, addLimited, draw, hold } = await setupBudgets(setup, t)
    const tenants = await Promise.all([addLimited(1), addLimited(1), addLimited(1)])
    const [first, second] = tenants.toSorted()
    for (const tenantId of tenants) await hold(await s.createJob({ tenantId }), 0)
    await draw(first!, 1, 'trigger')
    const letGo = (after: string | null, count: number) =>
      s.executionBudgets.letGo({ after, tenants: count, each: 500, total: 1_000 })
    const page = await letGo(null, 2)
    assert.deepEqual([page.ready, page.next], [1, second])
    assert.deepEqual(await letGo(page.next, 2), { ready: 1, next: null, againInMs: 0 })
  })

  test(`${name}: at most so many of a tenant are let go in one step`, async (t) => {
    const { s, addLimited, hold, letGo } = await setupBudgets(setup, t)
    const tenantId = await addLimited(100)
    const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
    for (let second = 0; second < 5; second++) await hold(job, second)
    assert.deepEqual([(await letGo(2)).ready, (await letGo(2)).ready, (await letGo(2)).ready], [2, 2, 1])
  })

  test(`${name}: of all tenants together at most so many are let go in one step, and the next one goes on behind`, async (t) => {
    const { s, addLimited, hold } = await setupBudgets(setup, t)
    const tenants = (await Promise.all([addLimited(100), addLimited(100), addLimited(100)])).toSorted()
    for (const tenantId of tenants) {
      const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
      for (let second = 0; second < 3; second++) await hold(job, second)
    }
    const letGo = (after: string | null) =>
      s.executionBudgets.letGo({ after, tenants: 100, each: 2, total: 3 })
    const first = await letGo(null)
    assert.deepEqual([first.ready, first.next], [3, tenants[1]])
    const second = await letGo(first.next)
    assert.deepEqual([second.ready, second.next], [2, null])
    const third = await letGo(null)
    assert.deepEqual([third.ready, third.next], [3, tenants[1]])
    assert.equal((await letGo(third.next)).ready, 1)
  })

  test(`${name}: a tenant without a limit any more has nothing held back`, async (t) => {
    const { s, setLimit, addLimited, draw, hold, letGo } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
    for (let second = 0; second < 5; second++) await hold(job, second)
    await draw(tenantId, 1, 'trigger')
    await setLimit(tenantId, null)
    assert.equal((await letGo()).ready, 5)
  })

  test(`${name}: a slot that waited until its misfire window was over is SKIPPED for quota, and says so`, async (t) => {
    const { s, addLimited, hold } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
    const [expired, still, never] = [await hold(job, 0, 1), await hold(job, 1, 86_400), await hold(job, 2)]
    const [settled, ...more] = await s.executionBudgets.skipExpired(100)
    assert.deepEqual([settled!.executionId, settled!.outcome, more], [expired, 'skipped', []])
    const { status, skipped } = await s.view(expired, tenantId)
    assert.deepEqual([status, skipped!.reason], ['SKIPPED', 'quota'])
    for (const executionId of [still, never])
      assert.equal((await s.view(executionId, tenantId)).status, 'PENDING')
    const page = await s.slotLedger.listSlots({
      ...{ tenantId, jobId: job.jobId, from: s.at(0), to: s.at(0) },
      ...{ limit: 10, lateMs: 0 },
    })
    assert.deepEqual(page!.executions, [{ slot: s.at(0), executionId: expired, status: 'SKIPPED' }])
    assert.deepEqual(await s.executionBudgets.skipExpired(100), [])
  })

  test(`${name}: an execution that waits for a budget is in the way of the next slot, and can be cancelled`, async (t) => {
    const { s, addLimited, hold } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    const job = await s.createJob({ tenantId })
    const executionId = await hold(job, 0)
    assert.equal(await s.tryFire(job, 1), 'overlap')
    const outcome = await s.control.cancel({ tenantId, executionId, message: 'Cancelled.' })
    assert.equal(outcome.kind, 'cancelled')
    assert.equal(await s.tryFire(job, 2), 'fired')
  })

  test(`${name}: a buffered slot that was not charged waits for a budget once it is released`, async (t) => {
    const { s, addLimited, draw, letGo, claimAll } = await setupBudgets(setup, t)
    const tenantId = await addLimited(1)
    const job = await s.createJob({ tenantId, overlapPolicy: 'BUFFER_ONE' })
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 1, { ownRow: true, heldBack: { skipAt: null } }), 'buffered')
    assert.equal((await letGo()).ready, 0, 'it waits for the execution before it')
    await draw(tenantId, 1)
    await s.runAll()
    await s.release(job)
    assert.deepEqual(await claimAll(), [])
    await s.ageBudgets(60_000)
    assert.equal((await letGo()).ready, 1)
    assert.equal((await claimAll()).length, 1)
  })

  test(`${name}: the wait of a buffered slot for the execution before it does not count against its misfire window`, async (t) => {
    const { s, addLimited, letGo, claimAll } = await setupBudgets(setup, t)
    const tenantId = await addLimited(100)
    for (const changes of [
      { overlapPolicy: 'BUFFER_ONE' },
      { concurrencyLimit: 1, overlapPolicy: 'ALLOW' },
    ] as const) {
      const job = await s.createJob({ tenantId, ...changes })
      await s.trigger(job)
      await s.release(job)
      const executionId = s.slotOf(job, 1).executionId
      assert.equal(
        await s.tryFire(job, 1, { executionId, ownRow: true, heldBack: { skipAt: s.at(2) } }),
        'buffered',
      )
      assert.deepEqual(await s.executionBudgets.skipExpired(100), [])
      await s.runAll()
      await s.release(job)
      assert.deepEqual(await s.executionBudgets.skipExpired(100), [])
      assert.equal((await letGo()).ready, 1)
      assert.deepEqual(await claimAll(), [executionId])
    }
  })
}

/** Executions that are made without a draw: they wait if their tenant has a limit, and only then. */
function testUncharged(name: string, setup: Setup): void {
  test(`${name}: backfills and triggers that nobody charged wait for a budget, others do not`, async (t) => {
    const { s, addLimited, letGo, claimAll } = await setupBudgets(setup, t)
    for (const limit of [1, null]) {
      const tenantId = await addLimited(limit)
      const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
      const { jobId } = job
      const lane = 'shared'
      const charged = await s.trigger(job)
      const uncharged = s.ids.next()
      await s.jobs.trigger({ tenantId, jobId, executionId: uncharged, lane, uncharged: true })
      const filled = s.ids.next()
      await s.jobs.enqueueBackfill({
        ...{ tenantId, jobId, operationId: s.ids.next(), unendedMax: 10 },
        executions: [{ executionId: filled, slot: s.at(1), lane }],
      })
      const claimed = new Set(await claimAll())
      const isFree = limit === null
      assert.deepEqual(
        [charged, uncharged, filled].map((id) => claimed.has(id)),
        [true, isFree, isFree],
      )
      assert.equal((await letGo()).ready, isFree ? 0 : 1)
    }
  })
}
