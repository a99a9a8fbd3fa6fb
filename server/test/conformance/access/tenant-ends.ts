// Conformance of the port of the end of tenants, for every implementation: the delete, and the work that it begins.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { tenantStatusOf } from '../../../src/domain/tenants/tenant.ts'
import { tenantDeletedMessage, tenantDeletedReason } from '../../../src/domain/tenants/tenant-end.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import {
  addKey,
  addTenant,
  dayMs,
  deleteTenant,
  jobOf,
  operationOf,
  orderOf,
  type Setup,
  stepAll,
  tenantOf,
} from './tenant-scene.ts'

export function testTenantEnds(name: string, setup: Setup): void {
  testDelete(name, setup)
  testStop(name, setup)
}

function testDelete(name: string, setup: Setup): void {
  test(`${name}: from the delete of a tenant on nothing of it makes an execution, before any step`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
    const own = await s.createJob({ tenantId, concurrencyLimit: 1, overlapPolicy: 'ALLOW' })
    const other = await s.createJob()
    await deleteTenant(s, tenantId)
    const { jobId } = job
    assert.equal(await s.tryFire(job, 0), 'stale')
    assert.equal(await s.tryFire(own, 0), 'stale')
    assert.equal(await s.tryFire(job, 1, { late: true, owedTo: s.at(5) }), 'stale')
    const triggered = await s.jobs.trigger({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane })
    assert.deepEqual(triggered, { kind: 'not_found' })
    const batches = [{ batchId: s.ids.nextBatch(), count: 2, payloads: null }]
    assert.deepEqual(await s.jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches }), {
      kind: 'not_found',
    })
    const operationId = s.ids.next()
    const executions = [{ executionId: s.ids.next(), slot: s.at(0), lane: sharedLane }]
    const backfill = { tenantId, jobId, operationId, unendedMax: 5, executions }
    assert.equal(await s.jobs.enqueueBackfill(backfill), null)
    assert.equal((await s.list(job)).executions.length, 0)
    assert.equal(await s.tryFire(other, 0), 'fired')
  })

  test(`${name}: a deleted tenant gets no job, with or without dependencies or a limit`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const parent = await s.createJob({ tenantId })
    const other = await s.createJob()
    await deleteTenant(s, tenantId)
    const { createdAt } = parent
    const immediate = { executionId: s.ids.nextBatch(), slot: s.at(0), lane: sharedLane }
    const schedule = { type: 'IMMEDIATE' } as const
    const made = { ...parent, schedule, immediate, createdAt, status: 'COMPLETED', slotAt: null } as const
    assert.equal(await s.jobs.create({ ...made, jobId: s.ids.next() }), 'tenant_deleted')
    const limited = { ...parent, jobId: s.ids.next(), key: 'a' }
    assert.equal(await s.jobs.create(limited, { activeJobsMax: 10 }), 'tenant_deleted')
    const dependsOn = [{ jobId: parent.jobId, on: 'success' } as const]
    const child = { ...parent, jobId: s.ids.next(), dependsOn, slotAt: null }
    assert.equal(await s.jobs.create(child), 'tenant_deleted')
    assert.equal(await s.jobs.create({ ...other, jobId: s.ids.next(), key: 'b' }), 'created')
    assert.equal(await s.jobs.create({ ...other, jobId: s.ids.next(), key: 'b' }), 'key_taken')
  })

  test(`${name}: executions and dead letters of a deleted tenant are not repeated`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const job = await s.createJob({ tenantId })
    const executionId = await s.fire(job, 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.died({ redriveAt: s.at(1) } as never))
    await deleteTenant(s, tenantId)
    const again = { tenantId, executionId, newExecutionId: s.ids.next(), lane: sharedLane }
    assert.deepEqual(await s.control.retry(again), { kind: 'job_deleted' })
    const letters = [{ executionId, newExecutionId: s.ids.next(), lane: sharedLane }]
    assert.deepEqual(await s.deadLetters.redrive({ tenantId, letters }), { redriven: [], jobDeleted: [] })
    assert.notEqual(await s.deadLetters.get(tenantId, executionId), null)
    assert.deepEqual(await s.deadLetters.findDue(10), [])
  })

  test(`${name}: a deleted tenant is not listed, changed or released, its key says so, and the first delete counts`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const hash = await addKey(s, tenantId)
    assert.equal((await s.apiKeys.findByHash(hash))!.tenant!.isDeleted, false)
    const { tenant, operation } = await deleteTenant(s, tenantId)
    assert.equal(tenantStatusOf(tenant), 'DELETED')
    assert.equal(tenant.purgeAt! - tenant.deletedAt!, 7 * dayMs)
    assert.deepEqual([operation.kind, operation.status], ['tenant_delete', 'RUNNING'])
    assert.deepEqual(await tenantOf(s, tenantId), tenant)
    assert.equal((await s.apiKeys.findByHash(hash))!.tenant!.isDeleted, true)
    assert.equal(await s.tenants.change(tenantId, { name: 'other' }), 'not_found')
    const listed = async (deleted: boolean) => {
      const { tenants, total } = await s.tenants.list({ before: null, limit: 10, deleted })
      return { ids: tenants.map((one) => one.tenantId), total }
    }
    assert.equal((await listed(false)).ids.includes(tenantId), false)
    assert.deepEqual(await listed(true), { ids: [tenantId], total: 1 })
    const again = await deleteTenant(s, tenantId, { purgeAfterMs: 0 })
    assert.deepEqual(again, { tenant, operation })
    assert.equal(
      await s.tenantEnds.delete({ ...orderOf(s, s.ids.next()), cancelRunning: false, purgeAfterMs: 0 }),
      'not_found',
    )
  })
}

function testStop(name: string, setup: Setup): void {
  test(`${name}: a delete cancels executions that wait, pauses active jobs, and lets running executions end`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const runs = await s.createJob({ tenantId, name: 'runs' })
    const running = await s.fire(runs, 0)
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    const jobs: NewJob[] = [runs]
    for (let n = 0; n < 30; n++) jobs.push(await s.createJob({ tenantId }))
    const waiting = await s.fire(jobs[1]!, 0)
    const buffered = await s.trigger(runs)
    const other = await s.fire(await s.createJob(), 0)
    const { tenant, operation } = await deleteTenant(s, tenantId)
    await stepAll(s)
    for (const id of [waiting, buffered]) {
      const { status, error } = await s.view(id, tenantId)
      assert.deepEqual([status, error?.message], ['CANCELLED', tenantDeletedMessage])
    }
    assert.equal((await s.view(running, tenantId)).status, 'RUNNING')
    assert.equal(await s.statusOf(other), 'PENDING')
    for (const job of jobs) {
      const { status, pause: said } = await jobOf(s, job)
      assert.equal(status, 'PAUSED')
      assert.deepEqual(said, {
        since: tenant.deletedAt,
        reason: tenantDeletedReason,
        by: 'ada',
        until: null,
      })
    }
    const { operationId } = operation
    assert.deepEqual(await operationOf(s, tenantId, operationId), {
      ...{ kind: 'tenant_delete', status: 'COMPLETED', done: 31, total: 31 },
    })
    await s.finishBatch(workerId, batch, s.succeeded())
    assert.equal((await s.view(running, tenantId)).status, 'SUCCEEDED')
  })

  test(`${name}: a delete that is to cancel running executions cancels them too`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const running = await s.fire(await s.createJob({ tenantId }), 0)
    const workerId = await s.addWorker()
    await s.claimBatch(workerId)
    await deleteTenant(s, tenantId, { cancelRunning: true })
    await stepAll(s)
    assert.equal((await s.view(running, tenantId)).status, 'CANCELLING')
  })

  test(`${name}: the retry of an execution that was running at the delete is cancelled`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const running = await s.fire(await s.createJob({ tenantId }), 0)
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    await deleteTenant(s, tenantId)
    await stepAll(s)
    await s.finishBatch(workerId, batch, s.failed({ retryAt: s.at(90_000) }))
    assert.equal((await s.view(running, tenantId)).status, 'RETRYING')
    await s.ageTenants(6_000)
    await stepAll(s)
    assert.equal((await s.view(running, tenantId)).status, 'CANCELLED')
  })

  test(`${name}: operations of a deleted tenant do not go on`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    await s.createJob({ tenantId })
    const operationId = s.ids.next()
    const filter = { status: null, tag: null, q: null }
    const createdAt = await s.now()
    const said = { createdBy: 'tester', createdAt, total: 1, totalCapped: false }
    await s.operations.create({ operationId, tenantId, kind: 'trigger', filter, options: {}, ...said })
    await deleteTenant(s, tenantId)
    assert.equal(await s.operations.step(() => assert.fail('it is not to go on')), null)
    await stepAll(s)
    assert.equal((await operationOf(s, tenantId, operationId)).status, 'CANCELLED')
  })

  test(`${name}: a step that throws is made again later`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    await deleteTenant(s, tenantId)
    const fail = () => s.tenantEnds.step(() => Promise.reject(new Error('halfway')), s.ids.next())
    await assert.rejects(fail(), /halfway/)
    const nextAt = (await s.tenantEnds.nextAt())!
    const waitMs = nextAt - (await s.now())
    assert(waitMs > 0 && waitMs <= 1_000, `${waitMs}`)
    assert.equal(await s.tenantEnds.step(() => assert.fail('it waits'), s.ids.next()), null)
    await s.ageTenants(1_000)
    await assert.rejects(fail(), /halfway/)
    await s.ageTenants(2_000)
    await stepAll(s)
    assert.equal(await s.tenantEnds.step(() => assert.fail('it waits'), s.ids.next()), null)
  })
}
