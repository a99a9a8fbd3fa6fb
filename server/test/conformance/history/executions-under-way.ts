// Conformance: the executions of a job that have not ended, in the order in which they go on.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { underWayMax } from '../../../src/ports/executions.ts'
import { createAfter, stepRuns } from '../graphs/run-scene.ts'
import { assertWithin, during } from '../queue/held.ts'
import { allHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testUnderWay(name: string, setup: Setup): void {
  test(`${name}: the executions of a job that have not ended are listed, running ones first`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const none = { executions: [], letGo: 0, owed: null }
    const underWay = async () => (await s.executions.underWay(defaultTenantId, job.jobId))!
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

  test(`${name}: a retry shows when it starts, and owed slots are shown`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 1)
    assert.equal(await s.tryFire(job, 2, { late: true, owedTo: s.at(4) }), 'deferred')
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    const { executions, owed } = (await s.executions.underWay(defaultTenantId, job.jobId))!
    const [{ state, status, attempt, retryAt }] = executions as [(typeof executions)[number]]
    assert.deepEqual([state, status, attempt, retryAt], ['retrying', 'RETRYING', 1, s.at(302)])
    assert.deepEqual(owed, { from: s.at(2), to: s.at(4) })
  })

  test(`${name}: an execution that waits for a key shows how many hold the key`, async (t) => {
    const s = await setup(t)
    const concurrencyKey = { key: 'db', limit: 1 }
    const [job, other] = [await s.createJob({ concurrencyKey }), await s.createJob({ concurrencyKey })]
    assert.equal(await s.tryFire(other, 1), 'buffered')
    assert.equal(await s.tryFire(job, 1), 'buffered')
    const keyOf = async () =>
      (await s.executions.underWay(defaultTenantId, job.jobId))!.executions[0]!.concurrencyKey
    assert.deepEqual(await keyOf(), { key: 'db', limit: 1, held: 0 })
    await s.release(other)
    assert.deepEqual(await keyOf(), { key: 'db', limit: 1, held: 1 })
  })

  test(`${name}: no more are told than fit, and all are counted`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (let second = 0; second < underWayMax + 2; second++) await s.fire(job, second)
    await s.trigger(job)
    const { executions, letGo } = (await s.executions.underWay(defaultTenantId, job.jobId))!
    assert.deepEqual([executions.length, letGo], [underWayMax, underWayMax + 3])
  })

  test(`${name}: a released execution is listed first, however many wait for it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0)
    for (let count = 0; count < underWayMax + 2; count++) await s.trigger(job)
    const { executions, letGo } = (await s.executions.underWay(defaultTenantId, job.jobId))!
    assert.deepEqual([executions.length, executions[0]!.executionId, letGo], [underWayMax, executionId, 1])
  })

  test(`${name}: an execution that waits for others of its graph run is listed last, and is not released`, async (t) => {
    const s = await setup(t)
    const root = await s.createJob()
    const job = await createAfter(s, [root])
    await s.trigger(root)
    await stepRuns(s)
    const alone = [await s.trigger(job), await s.trigger(job)]
    const { executions, letGo } = (await s.executions.underWay(defaultTenantId, job.jobId))!
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

  test(`${name}: nobody sees the active executions of another tenant's job`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId })
    await s.fire(job, 0)
    assert.equal((await s.executions.underWay(tenantId, job.jobId))!.executions.length, 1)
    for (const jobId of [job.jobId, s.ids.next()])
      assert.equal(await s.executions.underWay(defaultTenantId, jobId), null)
  })
}
