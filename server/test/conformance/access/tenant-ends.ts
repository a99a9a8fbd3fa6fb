// Conformance of the port of the end of tenants, with the loop that does its work, for every implementation.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { type Tenant, tenantStatusOf } from '../../../src/domain/tenants/tenant.ts'
import {
  purgeWaitMs,
  tenantDeletedMessage,
  tenantDeletedReason,
} from '../../../src/domain/tenants/tenant-end.ts'
import { endTenants } from '../../../src/maintenance/end-tenants.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { TenantEndOutcome } from '../../../src/ports/tenant-ends.ts'
import { change, pause, remove, resume } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const dayMs = 86_400_000

async function addTenant(s: StoreScenario, name = 'sales'): Promise<string> {
  const tenantId = s.ids.next()
  assert.equal(typeof (await s.tenants.create({ tenantId, name, tier: 'unlimited' })), 'object')
  return tenantId
}

const orderOf = (s: StoreScenario, tenantId: string) => {
  return { tenantId, operationId: s.ids.next(), requestedBy: 'ada' }
}

interface Wish {
  cancelRunning?: boolean
  purgeAfterMs?: number
}

function written(outcome: TenantEndOutcome) {
  assert(typeof outcome === 'object', `${outcome as string}`)
  return outcome
}

async function deleteTenant(s: StoreScenario, tenantId: string, wish: Wish = {}) {
  const order = { ...orderOf(s, tenantId), cancelRunning: false, purgeAfterMs: 7 * dayMs, ...wish }
  return written(await s.tenantEnds.delete(order))
}

/** One step of the loop. */
async function step(s: StoreScenario): Promise<'more' | 'idle' | number> {
  const now = await s.now()
  const clock = { databaseNow: () => now }
  return endTenants({ ...s, clock, onChanged() {}, onCancelled() {} })
}

/** Until nothing is due. */
async function stepAll(s: StoreScenario): Promise<void> {
  for (let steps = 0; steps < 200; steps++) if ((await step(s)) !== 'more') return
  assert.fail('it does not come to an end')
}

async function get(s: StoreScenario, tenantId: string): Promise<Tenant> {
  const tenant = await s.tenants.get(tenantId)
  assert(tenant !== null)
  return tenant
}

async function jobOf(s: StoreScenario, { tenantId, jobId }: NewJob) {
  const job = await s.jobs.get(tenantId, jobId)
  assert(job !== null)
  return job
}

async function operationOf(s: StoreScenario, tenantId: string, operationId: string) {
  const operation = await s.operations.get(tenantId, operationId)
  assert(operation !== null)
  const { kind, status, done, total } = operation
  return { kind, status, done, total }
}

async function addKey(s: StoreScenario, tenantId: string): Promise<Uint8Array> {
  const hash = randomBytes(32)
  const key = { keyId: s.ids.next(), tenantId, name: 'a key', prefix: 'crl_12345678', hash }
  await s.apiKeys.create({ ...key, scopes: ['admin'], createdBy: 'ada', expiresAt: null } as never)
  return hash
}

export function testTenantEnds(name: string, setup: Setup): void {
  testDelete(name, setup)
  testStop(name, setup)
  testRestore(name, setup)
  testPurge(name, setup)
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
    assert.deepEqual(await get(s, tenantId), tenant)
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
    assert.equal(tenantStatusOf(await get(s, tenantId)), 'PURGING', 'servers may still know its keys')
    await s.ageTenants(purgeWaitMs)
    await stepAll(s)
    const tombstone = await get(s, tenantId)
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
    assert.equal(tenantStatusOf(await get(s, tenantId)), 'DELETED')
    await s.ageTenants(60_000)
    await stepAll(s)
    assert.equal(tenantStatusOf(await get(s, tenantId)), 'PURGING')
    assert.equal((await s.view(executionId, tenantId)).status, 'CANCELLING')
    assert.notEqual(await s.jobs.get(tenantId, job.jobId), null)
    const { batchId, fence, positions } = batch
    const endings = positions.map((position) => ({ position, ending: s.succeeded() }))
    await s.queue.finishBatches(workerId, [{ batchId, fence, endings }])
    await s.ageTenants(1_000)
    await stepAll(s)
    assert.equal(tenantStatusOf(await get(s, tenantId)), 'PURGED')
    assert.equal(await s.jobs.get(tenantId, job.jobId), null)
  })
}
