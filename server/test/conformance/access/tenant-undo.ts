// Conformance of the port of the end of tenants, for every implementation: the restore and the purge of a deleted tenant.
import assert from 'node:assert/strict'
import test from 'node:test'
import { tenantStatusOf } from '../../../src/domain/tenants/tenant.ts'
import { purgeWaitMs, tenantDeletedReason } from '../../../src/domain/tenants/tenant-end.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { createAfter, stepRuns } from '../graphs/run-scene.ts'
import { change, pause, remove, resume } from '../jobs/changes.ts'
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
  written,
} from './tenant-scene.ts'

export function testTenantUndo(name: string, setup: Setup): void {
  testRestore(name, setup)
  testPurge(name, setup)
}

function testRestore(name: string, setup: Setup): void {
  test(`${name}: a restore resumes the jobs that the delete paused, and skips their slots up to then`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const job = await s.createJob({ tenantId })
    const paused = await s.createJob({ tenantId })
    const gone = await s.createJob({ tenantId })
    await change(s, paused, pause('holidays'))
    await change(s, gone, remove)
    await deleteTenant(s, tenantId)
    assert.equal(await s.tenantEnds.restore(orderOf(s, tenantId)), 'busy')
    assert.equal(await s.tenantEnds.purge(orderOf(s, tenantId)), 'busy')
    await stepAll(s)
    await s.ageTenants(30_000)
    const before = await s.now()
    const { tenant, operation } = written(await s.tenantEnds.restore(orderOf(s, tenantId)))
    assert.equal(tenantStatusOf(tenant), 'ACTIVE')
    assert.deepEqual([tenant.deletedAt, tenant.purgeAt], [null, null])
    const delayed = { ...orderOf(s, tenantId), cancelRunning: false, purgeAfterMs: 0 }
    assert.equal(await s.tenantEnds.delete(delayed), 'busy', 'its jobs are being resumed')
    await stepAll(s)
    assert.deepEqual(await operationOf(s, tenantId, operation.operationId), {
      ...{ kind: 'tenant_restore', status: 'COMPLETED', done: 1, total: 2 },
    })
    const { status, pause: none, slotAt } = await jobOf(s, job)
    assert.deepEqual([status, none], ['ACTIVE', null])
    assert(slotAt !== null && slotAt >= before)
    const [skip] = (await s.skipsOf(job))!
    assert.equal(skip!.reason, 'paused')
    assert(skip!.to < slotAt && slotAt - skip!.to <= 1_000, 'nothing is left between skip and slot')
    assert.equal((await jobOf(s, paused)).pause?.reason, 'holidays')
    assert.equal((await jobOf(s, gone)).status, 'DELETED')
    assert.equal(await s.tenantEnds.nextAt(), null)
    assert.equal(typeof (await s.trigger(job)), 'string')
    assert.equal(await s.tenantEnds.restore(orderOf(s, tenantId)), 'not_deleted')
    await deleteTenant(s, tenantId)
    assert.equal(await s.tryFire(job, 601), 'stale')
  })

  test(`${name}: the operation of a restore goes on, and says so, when the tenant cancels it`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    await s.createJob({ tenantId })
    await deleteTenant(s, tenantId)
    await stepAll(s)
    const { operation } = written(await s.tenantEnds.restore(orderOf(s, tenantId)))
    const { operationId } = operation
    assert.equal((await s.operations.cancel(tenantId, operationId))!.status, 'RUNNING')
    await stepAll(s)
    assert.deepEqual(await operationOf(s, tenantId, operationId), {
      ...{ kind: 'tenant_restore', status: 'COMPLETED', done: 1, total: 1 },
    })
  })

  test(`${name}: a job that a last request with an old key resumed is paused again, and resumed by the restore`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const job = await s.createJob({ tenantId })
    await deleteTenant(s, tenantId)
    await stepAll(s)
    // Another server knows its keys for some seconds.
    await change(s, job, resume(null))
    assert.equal((await jobOf(s, job)).status, 'ACTIVE')
    await s.ageTenants(purgeWaitMs)
    await stepAll(s)
    const { status, pause: said } = await jobOf(s, job)
    assert.deepEqual([status, said?.reason], ['PAUSED', tenantDeletedReason])
    const before = await s.now()
    await s.tenantEnds.restore(orderOf(s, tenantId))
    await stepAll(s)
    const { status: now, slotAt } = await jobOf(s, job)
    assert(now === 'ACTIVE' && slotAt! >= before, 'slots up to the restore are skipped')
  })

  test(`${name}: a pause that ends while its tenant is deleted lasts until the restore`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const job = await s.createJob({ tenantId })
    const until = s.at(590)
    await change(s, job, pause('holidays', until))
    await deleteTenant(s, tenantId)
    await stepAll(s)
    assert.deepEqual(await s.jobs.findResumable(10), [])
    const before = await s.now()
    await s.tenantEnds.restore(orderOf(s, tenantId))
    const [found, ...more] = await s.jobs.findResumable(10)
    assert.deepEqual([found!.jobId, found!.until, more], [job.jobId, until, []])
    assert(found!.at >= before, 'slots up to the restore are skipped')
    await change(s, job, resume(found!.at))
    assert((await s.skipsOf(job))![0]!.to >= before - 1_000)
  })
}

function testPurge(name: string, setup: Setup): void {
  test(`${name}: a purge leaves a tombstone with a free name, and nothing else of the tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const hash = await addKey(s, tenantId)
    const jobs: NewJob[] = []
    for (let n = 0; n < 60; n++) jobs.push(await s.createJob({ tenantId }))
    const [first] = jobs
    const executionId = await s.fire(first!, 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.died())
    const other = await s.createJob()
    const kept = await s.fire(other, 0)
    assert.equal(await s.tenantEnds.purge(orderOf(s, tenantId)), 'not_deleted')
    await deleteTenant(s, tenantId)
    await stepAll(s)
    const { tenant, operation } = written(await s.tenantEnds.purge(orderOf(s, tenantId)))
    assert.equal(tenantStatusOf(tenant), 'PURGING')
    const { operationId } = operation
    assert.equal(written(await s.tenantEnds.purge(orderOf(s, tenantId))).operation.operationId, operationId)
    assert.equal(await s.tenantEnds.restore(orderOf(s, tenantId)), 'purging')
    await stepAll(s)
    assert.equal(tenantStatusOf(await tenantOf(s, tenantId)), 'PURGING', 'servers may still know its keys')
    await s.ageTenants(purgeWaitMs)
    await stepAll(s)
    const tombstone = await tenantOf(s, tenantId)
    assert.equal(tenantStatusOf(tombstone), 'PURGED')
    assert.deepEqual(await operationOf(s, tenantId, operationId), {
      ...{ kind: 'tenant_purge', status: 'COMPLETED', done: 60, total: 60 },
    })
    assert.equal(await s.jobs.get(tenantId, first!.jobId), null)
    assert.equal(await s.executions.getExecution(tenantId, executionId), null)
    assert.equal(await s.deadLetters.get(tenantId, executionId), null)
    assert.equal(await s.apiKeys.findByHash(hash), null)
    const { operations } = await s.operations.list({ tenantId, before: null, limit: 10 })
    assert.deepEqual(
      operations.map(({ kind }) => kind),
      ['tenant_purge'],
    )
    assert.equal((await s.tenants.list({ before: null, limit: 10, deleted: true })).total, 0)
    assert.equal(await s.statusOf(kept), 'PENDING')
    assert.equal(await s.tenantEnds.purge(orderOf(s, tenantId)), 'purging')
    const late = { ...orderOf(s, tenantId), cancelRunning: false, purgeAfterMs: 0 }
    assert.equal(await s.tenantEnds.delete(late), 'purging')
    assert.equal(await s.tenantEnds.nextAt(), null)
    await addTenant(s, tombstone.name)
    assert.equal(
      await s.tenants.create({ tenantId: s.ids.next(), name: tombstone.name, tier: 'pro' }),
      'name_taken',
    )
  })

  test(`${name}: a purge begins by itself when it is due, and waits for executions that it cancels`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const job = await s.createJob({ tenantId })
    const executionId = await s.fire(job, 0)
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    await deleteTenant(s, tenantId, { purgeAfterMs: dayMs })
    await stepAll(s)
    await s.ageTenants(dayMs - 60_000)
    await stepAll(s)
    assert.equal(tenantStatusOf(await tenantOf(s, tenantId)), 'DELETED')
    await s.ageTenants(60_000)
    await stepAll(s)
    assert.equal(tenantStatusOf(await tenantOf(s, tenantId)), 'PURGING')
    assert.equal((await s.view(executionId, tenantId)).status, 'CANCELLING')
    assert.notEqual(await s.jobs.get(tenantId, job.jobId), null)
    const { batchId, fence, positions } = batch
    const endings = positions.map((position) => ({ position, ending: s.succeeded() }))
    await s.queue.finishBatches(workerId, [{ batchId, fence, endings }])
    await s.ageTenants(1_000)
    await stepAll(s)
    assert.equal(tenantStatusOf(await tenantOf(s, tenantId)), 'PURGED')
    assert.equal(await s.jobs.get(tenantId, job.jobId), null)
  })

  test(`${name}: runs of graphs end with their tenant, whether or not a root of them still runs, and are purged`, async (t) => {
    const s = await setup(t)
    const tenantId = await addTenant(s)
    const root = await s.createJob({ tenantId })
    const child = await createAfter(s, [root], { tenantId })
    const second = await s.createJob({ tenantId })
    const waits = await createAfter(s, [second], { tenantId })
    const running = await s.trigger(root)
    await stepRuns(s)
    const workerId = await s.addWorker()
    const claimed = await s.claimLive(workerId)
    const waiting = await s.trigger(second)
    await stepRuns(s)
    await deleteTenant(s, tenantId)
    await stepAll(s)
    await stepRuns(s)
    const statusesOf = async (job: NewJob) => (await s.list(job)).executions.map(({ status }) => status)
    assert.deepEqual(await statusesOf(root), ['RUNNING'])
    for (const job of [child, second, waits]) assert.deepEqual(await statusesOf(job), ['CANCELLED'], job.name)
    await s.finishLive(workerId, claimed, s.succeeded())
    await stepRuns(s)
    assert.deepEqual(await statusesOf(root), ['SUCCEEDED'])
    await s.tenantEnds.purge(orderOf(s, tenantId))
    await s.ageTenants(purgeWaitMs)
    await stepAll(s)
    assert.equal(tenantStatusOf(await tenantOf(s, tenantId)), 'PURGED')
    for (const runId of [running, waiting]) assert.equal(await s.graphRuns.get(tenantId, runId), null)
  })
}
