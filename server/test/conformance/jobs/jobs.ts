// Conformance of the jobs port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { rankOf } from '../../../src/domain/queue/rank.ts'
import { dueAtOf } from '../../../src/domain/schedule/jitter.ts'
import { lookAheadMs } from '../../../src/domain/scheduling/look-ahead.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { leanPage } from '../../../src/ports/pages.ts'
import { UNDER_WAY } from '../queue/under-way.ts'
import type { StoreScenario } from '../stores.ts'
import { takeAllChanges } from './job-states.ts'

export function testJobs(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a job is read as it was created`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({
      key: 'billing.nightly',
      description: 'Every night',
      tags: ['billing', 'nightly'],
      schedule: { type: 'CRON', cron_expression: '0 2 * * *', timezone: 'Europe/Berlin' },
      anchorAt: s.at(-5),
      execution: {
        type: 'http',
        callback_url: 'https://example.com/a?b=c',
        method: 'PUT',
        headers: { 'x-team': 'billing' },
        payload: { deep: [1, null, { text: 'käse "x"' }], b: 1, a: 2 },
        timeout_seconds: 7,
      },
      retryPolicy: { max_retries: 1, backoff: 'LINEAR', initial_delay_ms: 5, max_delay_ms: 50 },
      priority: 2,
      overlapPolicy: 'ALLOW',
      misfireWindowSeconds: 90,
      jitterSeconds: 4,
      concurrencyLimit: 3,
      concurrencyKey: { key: 'exports', limit: 2 },
      metadata: { owner: 'ops' },
      createdAt: s.at(-4),
      createdBy: 'somebody',
      slotAt: s.at(3_600),
    })
    const { immediate: _immediate, ...given } = job
    const stamps = { updatedAt: job.createdAt, updatedBy: 'somebody' }
    const expected = { ...given, pause: null, runs: 0, lastRunAt: null, isUnderWay: false, ...stamps }
    assert.deepEqual(await s.jobs.get(defaultTenantId, job.jobId), expected)
  })

  test(`${name}: schedulers are notified of a new job that is due soon, not of a job that its jitter makes due later`, async (t) => {
    const s = await setup(t)
    const now = await s.now()
    const slotAt = epochMs(now + lookAheadMs)
    const jitter = { jitterSeconds: 86_400, slotAt }
    const isLate = (jobId: string) => dueAtOf({ jobId, ...jitter }, slotAt) > now + 10 * lookAheadMs
    let late = s.ids.next()
    while (!isLate(late)) late = s.ids.next()
    await s.createJob({ jobId: late, ...jitter })
    const { jobId } = await s.createJob({ slotAt })
    const noted = await takeAllChanges(s)
    assert.deepEqual(
      noted.map((cursor) => cursor.jobId),
      [jobId],
    )
  })

  test(`${name}: a job without payload, window or slot is read without them`, async (t) => {
    const s = await setup(t)
    const { jobId } = await s.createJob({ status: 'PAUSED', slotAt: null })
    const view = (await s.jobs.get(defaultTenantId, jobId))!
    assert(!('payload' in view.execution))
    assert.deepEqual([view.misfireWindowSeconds, view.slotAt, view.status], [null, null, 'PAUSED'])
  })

  test(`${name}: a payload of null is not the same as no payload`, async (t) => {
    const s = await setup(t)
    const { execution } = await s.createJob()
    const { jobId } = await s.createJob({ execution: { ...execution, payload: null } })
    assert.equal((await s.jobs.get(defaultTenantId, jobId))!.execution.payload, null)
  })

  test(`${name}: nobody sees or triggers the job of another tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const { jobId } = await s.createJob({ tenantId })
    assert.equal(await s.jobs.get(defaultTenantId, jobId), null)
    assert.equal((await s.jobs.get(tenantId, jobId))!.jobId, jobId)
    const order = { tenantId: defaultTenantId, jobId, executionId: s.ids.next(), lane: sharedLane }
    assert.deepEqual(await s.jobs.trigger(order), { kind: 'not_found' })
    assert.deepEqual(await s.jobs.trigger({ ...order, jobId: s.ids.next() }), { kind: 'not_found' })
    assert.deepEqual((await s.queue.waiting(['server'], 10)).lanes, [])
    // Not when its own tenant does it beside them either.
    const own = { ...order, tenantId, executionId: s.ids.next() }
    const outcomes = await Promise.all(
      [order, own, { ...order, executionId: s.ids.next() }].map(s.jobs.trigger, s.jobs),
    )
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['not_found', 'triggered', 'not_found'],
    )
    const { live } = await s.claim(await s.addWorker())
    assert.deepEqual(
      live.map(({ executionId }) => executionId),
      [own.executionId],
    )
  })

  test(`${name}: an id is given to one job only`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ name: 'first' })
    await assert.rejects(s.createJob({ jobId: job.jobId, name: 'second' }))
    assert.equal((await s.jobs.get(defaultTenantId, job.jobId))!.name, 'first')
  })

  test(`${name}: an IMMEDIATE job has its one execution waiting at once`, async (t) => {
    const s = await setup(t)
    const immediate = { executionId: s.ids.nextBatch(), slot: s.at(1), lane: sharedLane }
    const { jobId } = await s.createJob({
      schedule: { type: 'IMMEDIATE' },
      status: 'COMPLETED',
      slotAt: null,
      priority: 4,
      immediate,
    })
    const view = (await s.jobs.get(defaultTenantId, jobId))!
    assert.deepEqual([view.status, view.slotAt, view.lastRunAt], ['COMPLETED', null, s.at(1)])
    assert.equal(view.isUnderWay, true)
    const { enqueuedAt, ...batch } = await s.claimBatch(await s.addWorker())
    assert(enqueuedAt >= s.at(600) && enqueuedAt <= (await s.now()))
    assert.deepEqual(batch, {
      batchId: immediate.executionId,
      fence: 1,
      lane: sharedLane,
      priority: 4,
      rank: rankOf(enqueuedAt, 4),
      positions: [0],
      jobIds: [jobId],
      versions: [1],
      slots: [s.at(1)],
      kind: 'slot',
      payloads: null,
    })
  })

  test(`${name}: a job that runs once is under way until its execution has ended`, async (t) => {
    const s = await setup(t)
    const once = await s.createJob({
      schedule: { type: 'ONE_TIME', scheduled_time: '2026-01-01T00:00:00Z' },
      slotAt: s.at(0),
    })
    const recurring = await s.createJob()
    const isUnderWay = async ({ jobId }: { jobId: string }) => {
      const listed = await s.jobs.list({
        tenantId: defaultTenantId,
        filter: { status: null, tag: null, q: null },
        before: null,
        offset: 0,
        limit: 10,
        ...leanPage,
      })
      const view = (await s.jobs.get(defaultTenantId, jobId))!
      assert.equal(listed.jobs.find((job) => job.jobId === jobId)!.isUnderWay, view.isUnderWay)
      return view.isUnderWay
    }
    assert.equal(await isUnderWay(once), false, 'it is ACTIVE: its slot is still to come')
    await s.fire(once, 0, { move: { slotAt: null, dueAt: null, decidedTo: s.at(0) } })
    await s.fire(recurring, 0)
    assert.deepEqual([await isUnderWay(once), await isUnderWay(recurring)], [true, false])
    await s.runAll()
    assert.equal(await isUnderWay(once), false)
  })

  test(`${name}: the last run is the latest slot that became an execution`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const lastRunAt = async () => (await s.jobs.get(defaultTenantId, job.jobId))!.lastRunAt
    await s.fire(job, 0)
    assert.equal(await lastRunAt(), s.at(0))
    assert.equal(await s.tryFire(job, 1), 'overlap')
    assert.equal(await lastRunAt(), s.at(0))
    await s.runAll()
    await s.fire(job, 2)
    assert.equal(await lastRunAt(), s.at(2))
    await s.runAll()
    await s.trigger(job)
    assert.equal(await lastRunAt(), s.at(2))
  })

  test(`${name}: a trigger of an idle job can be claimed at once, two levels above its job`, async (t) => {
    const s = await setup(t)
    const { jobId } = await s.createJob({ priority: 5 })
    const executionId = s.ids.next()
    const order = { tenantId: defaultTenantId, jobId, executionId, lane: sharedLane }
    const outcome = await s.jobs.trigger(order)
    assert(outcome.kind === 'triggered')
    const { enqueuedAt } = outcome
    assert.deepEqual(await s.claimLive(await s.addWorker()), {
      executionId,
      fence: 1,
      lane: sharedLane,
      rank: rankOf(enqueuedAt, 3),
      enqueuedAt,
      jobId,
      version: 1,
      kind: 'trigger',
      slot: enqueuedAt - (enqueuedAt % 1_000),
      attempt: 1,
      losses: 0,
      idempotencyKey: null,
      totalDeadline: null,
      suspect: false,
      runId: null,
    })
  })

  test(`${name}: no trigger goes above the highest priority`, async (t) => {
    const s = await setup(t)
    await s.trigger(await s.createJob({ priority: 2 }))
    const { rank, enqueuedAt } = await s.claimLive(await s.addWorker())
    assert.equal(rank, rankOf(enqueuedAt, 1))
  })

  for (const payloadOverride of [{ only: ['this', 1] }, 'text', 0, false, null]) {
    test(`${name}: a trigger carries its own payload ${JSON.stringify(payloadOverride)}`, async (t) => {
      const s = await setup(t)
      const executionId = await s.trigger(await s.createJob(), { payloadOverride })
      assert.deepEqual((await s.claimLive(await s.addWorker())).payloadOverride, payloadOverride)
      const view = await s.view(executionId)
      assert('payloadOverride' in view)
      assert.deepEqual(view.payloadOverride, payloadOverride)
    })
  }

  for (const { how, begin } of UNDER_WAY) {
    test(`${name}: a trigger waits while an execution ${how}`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      const executionId = await s.trigger(job)
      await s.maintenance.wake(10)
      const { live } = await s.claim(await s.addWorker())
      assert(live.every((one) => one.executionId !== executionId))
      assert.equal(await s.statusOf(executionId), 'PENDING')
    })

    test(`${name}: a trigger does not wait while an execution ${how} if overlap is allowed`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy: 'ALLOW' })
      await begin(s, job)
      const executionId = await s.trigger(job)
      const { live } = await s.claim(await s.addWorker())
      assert(live.some((one) => one.executionId === executionId))
    })
  }

  test(`${name}: a trigger waits while the job owes slots`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0, { owedTo: s.at(5) })
    await s.runAll()
    await s.trigger(job)
    assert.deepEqual((await s.claim(await s.addWorker())).live, [])
  })

  test(`${name}: a trigger waits behind a slot that was skipped for the one still running`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.claimBatch(await s.addWorker())
    assert.equal(await s.tryFire(job, 1), 'overlap')
    await s.trigger(job)
    assert.deepEqual((await s.claim(await s.addWorker())).live, [])
  })

  test(`${name}: a trigger does not wait for ended executions, nor for other jobs`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.runAll()
    await s.fire(await s.createJob(), 0)
    await s.claimBatch(await s.addWorker())
    const executionId = await s.trigger(job)
    assert.equal((await s.claimLive(await s.addWorker())).executionId, executionId)
  })

  test(`${name}: paused and completed jobs can be triggered, deleted ones cannot`, async (t) => {
    const s = await setup(t)
    await s.trigger(await s.createJob({ status: 'PAUSED' }))
    await s.trigger(await s.createJob({ status: 'COMPLETED', slotAt: null }))
    const { jobId } = await s.createJob({ status: 'DELETED' })
    const order = { tenantId: defaultTenantId, jobId, executionId: s.ids.next(), lane: sharedLane }
    assert.deepEqual(await s.jobs.trigger(order), { kind: 'deleted' })
    assert.equal((await s.claim(await s.addWorker())).live.length, 2)
  })

  test(`${name}: two triggers at once run one after the other`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await Promise.all([s.trigger(job), s.trigger(job)])
    assert.equal((await s.claim(await s.addWorker())).live.length, 1)
  })
}
