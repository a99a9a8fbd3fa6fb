// Conformance of the search for executions over all jobs of a tenant.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { batchExecutionsMax, executionIdAt } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { ExecutionQuery } from '../../../src/ports/executions.ts'
import { change, edit, remove } from '../jobs/changes.ts'
import { allExecutions } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

async function search(s: StoreScenario, changes: Partial<ExecutionQuery>) {
  const page = await s.executions.listExecutions({ ...allExecutions, ...changes })
  assert(page !== null)
  return page
}

async function idsOf(s: StoreScenario, changes: Partial<ExecutionQuery>): Promise<string[]> {
  const { executions, total, capped, next } = await search(s, changes)
  assert.deepEqual([total, capped, next], [executions.length, false, null])
  return executions.map(({ executionId }) => executionId)
}

/** Two jobs and an execution in every place: in its batch, running, between attempts, ended in each way. */
async function fill(s: StoreScenario) {
  const report = await s.createJob({ name: 'Daily Report', tags: ['eu'], overlapPolicy: 'ALLOW' })
  const invoice = await s.createJob({
    name: 'invoice',
    tags: ['billing'],
    key: 'inv',
    overlapPolicy: 'ALLOW',
  })
  const workerId = await s.addWorker()
  const finish = async (ending: Parameters<typeof s.finishBatch>[2]) =>
    s.finishBatch(workerId, await s.claimBatch(workerId), ending)
  const tooSlow = { type: 'TIMEOUT', message: 'No answer within 30 s' } as const
  const succeeded = await s.fire(report, 1)
  await finish(s.succeeded())
  const failed = await s.fire(invoice, 2)
  await finish(s.failed())
  const died = await s.fire(report, 3)
  await finish(s.died({ outcome: 'timed_out', error: tooSlow, httpStatus: null }))
  const retrying = await s.fire(invoice, 4)
  await finish(s.failed({ error: tooSlow, retryAt: s.at(302) }))
  const cancelled = await s.fire(report, 5)
  await s.control.cancel({ tenantId: defaultTenantId, executionId: cancelled, message: 'Not wanted' })
  const running = await s.fire(invoice, 6)
  await s.claimBatch(workerId)
  const repeated = s.ids.next()
  const order = { tenantId: defaultTenantId, executionId: failed, newExecutionId: repeated, lane: sharedLane }
  assert.equal((await s.control.retry(order)).kind, 'retried')
  const pending = await s.fire(report, 7)
  const triggered = await s.trigger(report)
  return {
    report,
    invoice,
    workerId,
    ...{ succeeded, failed, died, retrying, cancelled, running, repeated, pending, triggered },
  }
}

export function testExecutionSearch(name: string, setup: Setup): void {
  testFilters(name, setup)
  testPages(name, setup)
  testTenants(name, setup)
}

function testFilters(name: string, setup: Setup): void {
  test(`${name}: executions of all jobs are found by each condition`, async (t) => {
    const s = await setup(t)
    const f = await fill(s)
    const { succeeded, failed, died, retrying, cancelled, running, repeated, pending, triggered } = f
    const all = [triggered, pending, repeated, running, cancelled, retrying, died, failed, succeeded]
    assert.deepEqual(await idsOf(s, {}), all)
    assert.deepEqual(await idsOf(s, { jobId: f.invoice.jobId }), [repeated, running, retrying, failed])
    assert.deepEqual(await idsOf(s, { status: 'SUCCEEDED' }), [succeeded])
    assert.deepEqual(await idsOf(s, { status: 'FAILED' }), [failed])
    assert.deepEqual(await idsOf(s, { status: 'TIMED_OUT' }), [died])
    assert.deepEqual(await idsOf(s, { status: 'CANCELLED' }), [cancelled])
    assert.deepEqual(await idsOf(s, { status: 'RETRYING' }), [retrying])
    assert.deepEqual(await idsOf(s, { status: 'RUNNING' }), [running])
    assert.deepEqual(await idsOf(s, { status: 'PENDING' }), [triggered, pending, repeated])
    assert.deepEqual(await idsOf(s, { status: 'SKIPPED' }), [])
    assert.deepEqual(await idsOf(s, { kind: 'trigger' }), [triggered])
    assert.deepEqual(await idsOf(s, { kind: 'retry' }), [repeated])
    assert.deepEqual(await idsOf(s, { kind: 'redrive' }), [])
    assert.deepEqual(await idsOf(s, { errorType: 'HTTP_ERROR' }), [failed])
    assert.deepEqual(await idsOf(s, { errorType: 'TIMEOUT' }), [retrying, died])
    assert.deepEqual(await idsOf(s, { errorType: 'CANCELLED' }), [cancelled])
    assert.deepEqual(await idsOf(s, { deadLetter: true }), [died])
    assert.deepEqual(
      await idsOf(s, { deadLetter: false }),
      all.filter((id) => id !== died),
    )
    assert.deepEqual(await idsOf(s, { tag: 'billing' }), [repeated, running, retrying, failed])
    assert.deepEqual(await idsOf(s, { tag: 'bill' }), [])
    const slots = [running, cancelled, retrying]
    assert.deepEqual(await idsOf(s, { from: s.at(4), to: s.at(7) }), slots)
  })

  test(`${name}: executions are found by text in the job and in the error, in any case`, async (t) => {
    const s = await setup(t)
    const f = await fill(s)
    const { succeeded, failed, died, retrying, cancelled, running, repeated, pending, triggered } = f
    const ofReport = [triggered, pending, cancelled, died, succeeded]
    const ofInvoice = [repeated, running, retrying, failed]
    assert.deepEqual(await idsOf(s, { q: 'daily' }), ofReport)
    assert.deepEqual(await idsOf(s, { q: 'DAILY r' }), ofReport)
    assert.deepEqual(await idsOf(s, { q: 'inv' }), ofInvoice)
    assert.deepEqual(await idsOf(s, { q: 'billing' }), ofInvoice)
    assert.deepEqual(await idsOf(s, { q: 'No Answer' }), [retrying, died])
    assert.deepEqual(await idsOf(s, { q: 'not wanted' }), [cancelled])
    assert.deepEqual(await idsOf(s, { q: 'answered 500' }), [failed])
    assert.deepEqual(await idsOf(s, { q: '%' }), [])
    assert.deepEqual(await idsOf(s, { q: 'no answer', jobId: f.report.jobId }), [died])
    assert.deepEqual(await idsOf(s, { q: 'daily', jobId: f.report.jobId }), ofReport)
    assert.deepEqual(await idsOf(s, { q: 'daily', jobId: f.invoice.jobId }), [])
  })

  test(`${name}: conditions hold together`, async (t) => {
    const s = await setup(t)
    const f = await fill(s)
    assert.deepEqual(await idsOf(s, { status: 'PENDING', kind: 'slot' }), [f.pending])
    assert.deepEqual(await idsOf(s, { tag: 'billing', errorType: 'TIMEOUT' }), [f.retrying])
    assert.deepEqual(await idsOf(s, { q: 'no answer', deadLetter: true, tag: 'eu' }), [f.died])
    assert.deepEqual(await idsOf(s, { q: 'no answer', status: 'RETRYING', from: s.at(4) }), [f.retrying])
    assert.deepEqual(await idsOf(s, { status: 'FAILED', errorType: 'TIMEOUT' }), [])
    assert.deepEqual(await idsOf(s, { status: 'SUCCEEDED', deadLetter: true }), [])
    assert.deepEqual(await idsOf(s, { jobId: f.invoice.jobId, tag: 'eu' }), [])
    assert.deepEqual(await idsOf(s, { tag: 'eu', to: s.at(4), status: 'TIMED_OUT', kind: 'slot' }), [f.died])
  })

  test(`${name}: while the next attempt runs an execution is found by the error of the one that ended`, async (t) => {
    const s = await setup(t)
    const f = await fill(s)
    await s.maintenance.wake(1)
    const claimed = await s.claim(f.workerId)
    assert(claimed.live.some(({ executionId }) => executionId === f.retrying))
    assert.equal(await s.statusOf(f.retrying), 'RUNNING')
    assert.deepEqual(await idsOf(s, { errorType: 'TIMEOUT' }), [f.retrying, f.died])
    assert.deepEqual(await idsOf(s, { q: 'no answer' }), [f.retrying, f.died])
  })

  test(`${name}: executions are found by the present name of their job, deleted jobs included`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ name: 'before', tags: ['old'] })
    const executionId = await s.fire(job, 0)
    await s.runAll()
    await change(s, job, edit({ name: 'after', tags: ['new'] }))
    await change(s, job, remove)
    const { executions } = await search(s, { q: 'after', tag: 'new' })
    assert.deepEqual([executions[0]!.executionId, executions[0]!.jobName], [executionId, 'after'])
    assert.equal((await s.view(executionId)).jobName, 'after')
    for (const was of [{ q: 'before' }, { tag: 'old' }]) assert.deepEqual(await idsOf(s, was), [])
  })
}

function testPages(name: string, setup: Setup): void {
  test(`${name}: pages of a search cover all of it once`, async (t) => {
    const s = await setup(t)
    const f = await fill(s)
    const all = await idsOf(s, {})
    const pending = [f.triggered, f.pending, f.repeated]
    for (const limit of [1, 2, 3, 4, 9, 10]) {
      assert.deepEqual(await walk(s, { limit }), all)
      assert.deepEqual(await walk(s, { limit, status: 'PENDING' }), pending)
      assert.deepEqual(await walk(s, { limit, q: 'no answer' }), [f.retrying, f.died])
      assert.deepEqual(await walk(s, { limit, tag: 'eu', kind: 'slot' }), [
        f.pending,
        f.cancelled,
        f.died,
        f.succeeded,
      ])
    }
  })

  test(`${name}: the total is that of the whole search on every page`, async (t) => {
    const s = await setup(t)
    await fill(s)
    const { executions, next, total } = await search(s, { limit: 2 })
    assert.deepEqual([executions.length, next, total], [2, executions[1]!.executionId, 9])
    const second = await search(s, { limit: 2, before: next })
    assert.deepEqual([second.executions.length, second.total, second.capped], [2, 9, false])
    const last = await search(s, { limit: 2, status: 'PENDING', before: next })
    assert.deepEqual([last.executions.length, last.next, last.total], [1, null, 3])
  })

  test(`${name}: a search finds a few executions among many`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const rare = await s.createJob({ name: 'rare' })
    const first = await s.trigger(rare)
    const workerId = await s.addWorker()
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    const batchId = s.ids.nextBatch()
    const items = Array.from({ length: batchExecutionsMax }, (_, place) =>
      s.slotOf(job, place, { executionId: executionIdAt(batchId, place) }),
    )
    assert.deepEqual(await s.slots.fire(items), [])
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.succeeded())
    const last = await s.trigger(rare)
    assert.deepEqual(await walk(s, { q: 'rare', limit: 1 }), [last, first])
    assert.deepEqual(await walk(s, { deadLetter: true, limit: 1 }), [first])
    assert.equal((await walk(s, { limit: 30 })).length, batchExecutionsMax + 2)
  })
}

/** All of a search, page after page. */
async function walk(s: StoreScenario, changes: Partial<ExecutionQuery>): Promise<string[]> {
  const seen: string[] = []
  let before: string | null = null
  do {
    const { executions, next } = await search(s, { ...changes, before })
    seen.push(...executions.map(({ executionId }) => executionId))
    before = next
  } while (before !== null)
  return seen
}

function testTenants(name: string, setup: Setup): void {
  test(`${name}: nobody finds the executions of another tenant by any condition`, async (t) => {
    const s = await setup(t)
    await fill(s)
    const tenantId = await s.addTenant(1)
    const own = await s.createJob({ tenantId, name: 'own' })
    const executionId = await s.fire(own, 0)
    const conditions: Partial<ExecutionQuery>[] = [
      {},
      { status: 'PENDING' },
      { kind: 'slot' },
      { q: 'o' },
      { deadLetter: false },
    ]
    for (const condition of conditions) {
      assert.deepEqual(await idsOf(s, { tenantId, ...condition }), [executionId])
    }
    for (const condition of [
      { errorType: 'TIMEOUT' },
      { tag: 'eu' },
      { q: 'daily' },
      { deadLetter: true },
    ] as const) {
      assert.deepEqual(await idsOf(s, { tenantId, ...condition }), [])
    }
    assert.equal((await search(s, {})).total, 9)
  })

  test(`${name}: a tenant without executions has an empty search`, async (t) => {
    const s = await setup(t)
    assert.deepEqual(await search(s, {}), { executions: [], next: null, total: 0, capped: false })
  })

  test(`${name}: a search shows nothing that is no longer kept`, async (t) => {
    const s = await setup(t)
    await s.fire(await s.createJob(), 0)
    await s.runAll()
    await s.ageHistory(366)
    for (const condition of [{}, { status: 'SUCCEEDED' }, { q: 'report' }] as const) {
      assert.deepEqual(await idsOf(s, condition), [])
    }
  })
}
