// Conformance: executions in lists and by their ids, wherever they are stored.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { batchExecutionsMax, executionIdAt, idempotencyKeyOf } from '../../../src/domain/queue/execution.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { totalMax } from '../../../src/ports/executions.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { assertWithin, during } from '../queue/held.ts'
import { allExecutions, allHeld, type Scenario } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

const idsOf = (page: { executions: { executionId: string }[] }) =>
  page.executions.map(({ executionId }) => executionId)

const nothing = { executions: [], next: null, total: 0, capped: false }

/** Fires a slot and lets its execution end. */
async function run(s: Scenario, job: NewJob, second: number): Promise<string> {
  const executionId = await s.fire(job, second)
  await s.runAll()
  return executionId
}

export function testExecutions(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testList(name, setup)
  testStates(name, setup)
  testGet(name, setup)
}

function testList(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: executions are listed newest first, piece by piece, each once`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const made = [await run(s, job, 0), await run(s, job, 1), await run(s, job, 2)]
    made.push(await s.fire(job, 3), await s.trigger(job))
    await run(s, await s.createJob(), 0)
    const expected = made.toReversed()
    const first = await s.list(job, { limit: 3 })
    assert.deepEqual([idsOf(first), first.next, first.total], [expected.slice(0, 3), expected[2], 5])
    const second = await s.list(job, { limit: 2, before: expected[2]! })
    assert.deepEqual([idsOf(second), second.next, second.total], [expected.slice(3), null, 5])
    const none = await s.list(job, { before: expected[4]! })
    assert.deepEqual([none.executions, none.next, none.total], [[], null, 5])
  })

  test(`${name}: a job without executions has an empty list, and a job that is not there has none`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId })
    assert.deepEqual(await s.list(job), nothing)
    const stranger = { ...allExecutions, jobId: job.jobId }
    assert.equal(await s.executions.listExecutions(stranger), null)
    assert.equal(await s.executions.listExecutions({ ...stranger, jobId: s.ids.next() }), null)
  })

  test(`${name}: executions are found by the time of their slot, the start included, the end not`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const made = []
    for (const second of [1, 2, 3]) made.push(await run(s, job, second))
    made.push(await s.fire(job, 4))
    const between = await s.list(job, { from: s.at(2), to: s.at(4) })
    assert.deepEqual([idsOf(between), between.total], [[made[2], made[1]], 2])
    const since = await s.list(job, { from: s.at(3) })
    assert.deepEqual([idsOf(since), since.total], [[made[3], made[2]], 2])
    const until = await s.list(job, { to: s.at(2) })
    assert.deepEqual([idsOf(until), until.total], [[made[0]], 1])
  })

  test(`${name}: executions are found by status`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const workerId = await s.addWorker()
    const timedOut = { outcome: 'timed_out', error: { type: 'TIMEOUT', message: 'too slow' } } as const
    const ways = [s.succeeded(), s.failed(), s.died(timedOut), s.failedForNow()]
    const made: string[] = []
    for (const [second, ending] of ways.entries()) {
      made.push(await s.fire(job, second))
      await s.finishBatch(workerId, await s.claimBatch(workerId), ending)
    }
    made.push(await s.fire(job, 5))
    await s.claimBatch(workerId)
    made.push(await s.fire(job, 6))
    const [succeeded, failed, late, retrying, running, pending] = made
    const expected = {
      SUCCEEDED: [succeeded],
      FAILED: [failed],
      TIMED_OUT: [late],
      RETRYING: [retrying],
      RUNNING: [running],
      PENDING: [pending],
      CANCELLED: [],
      SKIPPED: [],
    } as const
    for (const [status, ids] of Object.entries(expected)) {
      const page = await s.list(job, { status: status as keyof typeof expected })
      assert.deepEqual([idsOf(page), page.total, page.next], [[...ids], ids.length, null], status)
    }
    assert.equal((await s.list(job)).total, made.length)
  })

  test(`${name}: counting stops at a bound`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const batches = Math.ceil((totalMax + 2) / batchExecutionsMax)
    const items = Array.from({ length: batches }, () => s.ids.nextBatch()).flatMap((batchId, batch) =>
      Array.from({ length: batchExecutionsMax }, (_, place) => {
        const executionId = executionIdAt(batchId, place)
        const slot = s.at((batch * batchExecutionsMax + place) / 100)
        return s.slotOf(job, 0, { executionId, slot })
      }),
    )
    for (let from = 0; from < items.length; from += 1_000) {
      assert.deepEqual(await s.slots.fire(items.slice(from, from + 1_000)), [])
    }
    const { total, capped } = await s.list(job, { limit: 1 })
    assert.deepEqual([total, capped], [totalMax, true])
    const workerId = await s.addWorker()
    const lanes = [{ lane: 'shared', count: items.length }]
    const claimed = await s.queue.claim({
      workerId,
      routes: ['server'],
      lanes,
      hosts: [],
      batchesMax: batches,
    })
    assert.equal(claimed.batches.length, batches)
    for (const batch of claimed.batches) await s.finishBatch(workerId, batch, s.succeeded())
    const page = await s.list(job, { limit: 200, status: 'SUCCEEDED' })
    const { length } = page.executions
    assert.deepEqual([page.total, page.capped, length], [totalMax, true, 200])
    assert.equal(page.next, page.executions.at(-1)!.executionId)
    assert.equal((await s.list(job, { from: s.at(10), to: s.at(11) })).total, 100)
  })

  test(`${name}: an execution recorded longer ago than history is kept is not shown`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await run(s, job, 0)
    await s.ageHistory(364)
    assert.deepEqual(idsOf(await s.list(job)), [executionId])
    await s.ageHistory(2)
    assert.deepEqual(await s.list(job), nothing)
    assert.equal(await s.executions.getExecution(defaultTenantId, executionId), null)
  })
}

function testStates(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: an execution is shown alike in the list and by its id, wherever it is`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const workerId = await s.addWorker()
    const executionId = await s.fire(job, 7)
    const { enqueuedAt, ...pending } = await checked()
    const common = {
      executionId,
      jobId: job.jobId,
      jobName: 'report',
      version: 1,
      kind: 'slot',
      slot: s.at(7),
      deadLetter: false,
      runId: null,
      skipped: null,
    }
    const unset = { startedAt: null, finishedAt: null, durationMs: null, httpStatus: null, error: null }
    const fresh = { ...common, ...unset, attempt: 0, workerId: null, retryAt: null }
    assert.deepEqual(pending, { ...fresh, status: 'PENDING' })

    const [batch, claimed] = await during(s, () => s.claimBatch(workerId))
    const held = { ...fresh, enqueuedAt, status: 'RUNNING', attempt: 1, workerId }
    const inBatch = await checked()
    assertWithin(inBatch.startedAt, claimed)
    assert.deepEqual(inBatch, { ...held, startedAt: inBatch.startedAt })

    await s.finishBatch(workerId, batch, s.running(s.at(299)))
    assert.deepEqual(await checked(), { ...held, startedAt: s.at(299) })

    const first = s.failed({ retryAt: s.at(302) })
    const live = { executionId, fence: 1, attempt: 1 }
    assert.deepEqual(await s.queue.finishLive(workerId, [{ ...live, ending: first }]), allHeld)
    const { startedAt, finishedAt, durationMs, httpStatus, error } = first.end
    const last = { startedAt, finishedAt, durationMs, httpStatus, error, workerId, attempt: 1 }
    const between = { ...common, ...last, enqueuedAt, status: 'RETRYING', retryAt: s.at(302) }
    assert.deepEqual(await checked(), between)

    await s.maintenance.wake(1)
    const woken = await checked()
    assert.deepEqual(woken, { ...between, enqueuedAt: woken.enqueuedAt, retryAt: null })

    const [again, reclaimed] = await during(s, () => s.claimLive(workerId))
    const second = await checked()
    assertWithin(second.startedAt, reclaimed)
    const { startedAt: since } = second
    assert.deepEqual(second, { ...held, startedAt: since, enqueuedAt: woken.enqueuedAt, attempt: 2 })

    await s.finishLive(workerId, again, s.succeeded())
    const done = { ...last, httpStatus: 200, error: null, attempt: 2, enqueuedAt: woken.enqueuedAt }
    assert.deepEqual(await checked(), { ...common, ...done, status: 'SUCCEEDED', retryAt: null })

    async function checked() {
      const [listed, ...more] = (await s.list(job)).executions
      assert.deepEqual(more, [])
      const view = await s.view(executionId)
      const {
        attempts: _a,
        idempotencyKey: _k,
        retryOf: _r,
        execution: _e,
        progress: _p,
        metadata: _m,
        ...summary
      } = view
      assert.deepEqual(summary, listed)
      return listed!
    }
  })

  test(`${name}: a trigger that waits is pending`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const executionId = await s.trigger(job)
    const [listed] = (await s.list(job)).executions
    assert.deepEqual(
      [listed!.executionId, listed!.status, listed!.kind, listed!.attempt],
      [executionId, 'PENDING', 'trigger', 0],
    )
  })
}

function testGet(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: an execution shows its target and its payload`, async (t) => {
    const s = await setup(t)
    const execution = { ...(await s.createJob()).execution, payload: { from: 'job' } }
    const job = await s.createJob({ execution, metadata: { team: 'ops' } })
    const executionId = await s.trigger(job, { payloadOverride: { from: 'trigger' } })
    const check = async () => {
      const { execution, payloadOverride, metadata } = await s.view(executionId)
      assert.deepEqual(
        [execution, payloadOverride, metadata],
        [job.execution, { from: 'trigger' }, { team: 'ops' }],
      )
    }
    await check()
    await s.runAll()
    await check()
  })

  test(`${name}: an execution without payloads tells none`, async (t) => {
    const s = await setup(t)
    const view = await s.view(await run(s, await s.createJob(), 0))
    assert(!('payload' in view.execution) && !('payloadOverride' in view))
  })

  test(`${name}: a redriven execution tells the original and carries its key`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const retryOf = await s.fire(job, 3)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.died())
    const executionId = s.ids.next()
    const letters = [{ executionId: retryOf, newExecutionId: executionId, lane: 'shared' }]
    await s.deadLetters.redrive({ tenantId: job.tenantId, letters })
    const idempotencyKey = idempotencyKeyOf('slot', { jobId: job.jobId, executionId: retryOf, slot: s.at(3) })
    const check = async () => {
      const view = await s.view(executionId)
      assert.deepEqual([view.retryOf, view.idempotencyKey, view.kind], [retryOf, idempotencyKey, 'redrive'])
    }
    await check()
    await s.runAll()
    await check()
  })

  test(`${name}: nobody sees the execution of another tenant, in the queue or ended`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId })
    const executionIds = [await s.fire(job, 0), await s.trigger(job)]
    for (const _ of ['waiting', 'ended']) {
      for (const executionId of executionIds) {
        assert.equal(await s.executions.getExecution(defaultTenantId, executionId), null)
        assert.equal((await s.view(executionId, tenantId)).executionId, executionId)
      }
      await s.runAll()
      await s.release(job)
      await s.runAll()
    }
  })

  test(`${name}: an execution that is not there is not found, nor one beside it in its batch`, async (t) => {
    const s = await setup(t)
    const batchId = await s.fire(await s.createJob(), 0)
    assert.equal(await s.executions.getExecution(defaultTenantId, executionIdAt(batchId, 1)), null)
    assert.equal(await s.executions.getExecution(defaultTenantId, s.ids.next()), null)
  })
}
