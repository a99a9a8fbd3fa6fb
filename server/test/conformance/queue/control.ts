// Conformance of the control port, for every implementation: cancel executions that have not started.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change, edit, editSchedule, pause, remove, resume } from '../jobs/changes.ts'
import { notHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { UNDER_WAY } from './under-way.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const message = 'Cancelled by hand.'

function cancel(s: StoreScenario, executionId: string, tenantId: string = defaultTenantId) {
  return s.control.cancel({ tenantId, executionId, message })
}

/** The one execution of the job. */
async function onlyOne(s: StoreScenario, job: NewJob): Promise<string> {
  const { executions } = await s.list(job)
  assert.equal(executions.length, 1)
  return executions[0]!.executionId
}

export function testCancel(name: string, setup: Setup): void {
  testStates(name, setup)
  testRecord(name, setup)
  testDelete(name, setup)
}

function testStates(name: string, setup: Setup): void {
  for (const { how, begin } of UNDER_WAY) {
    test(`${name}: an execution that ${how} is cancelled, at once unless it runs`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      const executionId = await onlyOne(s, job)
      const before = await s.view(executionId)
      if (before.status === 'RUNNING') {
        assert.deepEqual(await cancel(s, executionId), { kind: 'cancelling', jobId: job.jobId })
        assert.deepEqual(await s.view(executionId), { ...before, status: 'CANCELLING' })
        assert.equal(await s.tryFire(job, 9), 'overlap')
        return
      }
      const outcome = await cancel(s, executionId)
      assert(outcome.kind === 'cancelled' && outcome.settled !== null)
      const { kind, executor, outcome: how, isFinal } = outcome.settled
      assert.deepEqual([outcome.jobId, outcome.settled.executionId], [job.jobId, executionId])
      assert.deepEqual([kind, executor, how, isFinal], [before.kind, 'http', 'cancelled', true])
      const view = await s.view(executionId)
      assert.deepEqual([view.status, view.attempt], ['CANCELLED', before.attempt])
      await s.maintenance.wake(10)
      assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
      // It is in nobody's way any more.
      assert.equal(await s.tryFire(job, 9), 'fired')
    })
  }

  test(`${name}: a trigger that waits is cancelled, and the one it waits for goes on`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const running = await s.fire(job, 0)
    await s.claimBatch(await s.addWorker())
    const waiting = await s.trigger(job)
    assert.equal((await cancel(s, waiting)).kind, 'cancelled')
    assert.deepEqual([await s.statusOf(waiting), await s.statusOf(running)], ['CANCELLED', 'RUNNING'])
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
  })

  test(`${name}: the others of its batch run`, async (t) => {
    const s = await setup(t)
    const jobs = [await s.createJob(), await s.createJob(), await s.createJob()]
    const { executionIds } = await s.fireBatch(jobs, 0)
    assert.equal((await cancel(s, executionIds[1]!)).kind, 'cancelled')
    const { positions, jobIds } = await s.claimBatch(await s.addWorker())
    assert.deepEqual(
      [positions, jobIds],
      [
        [0, 2],
        [jobs[0]!.jobId, jobs[2]!.jobId],
      ],
    )
    const statuses = await Promise.all(executionIds.map((id) => s.statusOf(id)))
    assert.deepEqual(statuses, ['RUNNING', 'CANCELLED', 'RUNNING'])
  })

  test(`${name}: a cancel and a claim that meet give it to one of them`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    for (let second = 0; second < 5; second++) {
      const executionId = await s.fire(await s.createJob(), second)
      const [outcome, { batches }] = await Promise.all([cancel(s, executionId), s.claim(workerId)])
      assert.equal(outcome.kind, batches.length === 1 ? 'cancelling' : 'cancelled')
      assert.equal(await s.statusOf(executionId), batches.length === 1 ? 'CANCELLING' : 'CANCELLED')
    }
  })

  test(`${name}: an ended execution is not cancelled, and a cancelled one can be cancelled again`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const workerId = await s.addWorker()
    const tooSlow = { type: 'TIMEOUT', message: 'too slow' } as const
    const ends = [
      { ending: s.succeeded(), status: 'SUCCEEDED' },
      { ending: s.died(), status: 'FAILED' },
      { ending: s.died({ outcome: 'timed_out', error: tooSlow }), status: 'TIMED_OUT' },
    ]
    for (const [second, { ending, status }] of ends.entries()) {
      const executionId = await s.fire(job, second)
      await s.finishBatch(workerId, await s.claimBatch(workerId), ending)
      assert.deepEqual(await cancel(s, executionId), { kind: 'finished', status })
      assert.equal(await s.statusOf(executionId), status)
    }
    const executionId = await s.trigger(job)
    const both = await Promise.all([cancel(s, executionId), cancel(s, executionId)])
    const all = [...both, await cancel(s, executionId)]
    assert.deepEqual(
      all.map((one) => one.kind),
      ['cancelled', 'cancelled', 'cancelled'],
    )
    assert.equal(all.filter((one) => one.kind === 'cancelled' && one.settled !== null).length, 1)
    assert.equal((await s.list(job, { status: 'CANCELLED' })).total, 1)
  })

  test(`${name}: nobody cancels an execution that is of another tenant, missing or no longer kept`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
    const executionIds = [await s.fire(job, 0), await s.trigger(job)]
    for (const executionId of executionIds) {
      assert.deepEqual(await cancel(s, executionId), { kind: 'not_found' })
      assert.equal((await s.view(executionId, tenantId)).status, 'PENDING')
    }
    await s.runAll()
    for (const executionId of [...executionIds, s.ids.next()]) {
      assert.deepEqual(await cancel(s, executionId), { kind: 'not_found' })
    }
    assert.equal((await cancel(s, executionIds[0]!, tenantId)).kind, 'finished')
    await s.ageHistory(366)
    assert.deepEqual(await cancel(s, executionIds[0]!, tenantId), { kind: 'not_found' })
  })
}

function testRecord(name: string, setup: Setup): void {
  test(`${name}: a cancelled execution tells why and has no attempt`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 4)
    const { enqueuedAt } = await s.view(executionId)
    await cancel(s, executionId)
    const { finishedAt, ...rest } = (await s.list(job)).executions[0]!
    assert(finishedAt! >= enqueuedAt && finishedAt! <= (await s.now()))
    assert.deepEqual(rest, {
      executionId,
      jobId: job.jobId,
      jobName: 'report',
      version: 1,
      kind: 'slot',
      status: 'CANCELLED',
      slot: s.at(4),
      attempt: 0,
      enqueuedAt,
      startedAt: null,
      durationMs: null,
      workerId: null,
      httpStatus: null,
      error: { type: 'CANCELLED', message },
      deadLetter: false,
      retryAt: null,
      runId: null,
      skipped: null,
    })
    const view = await s.view(executionId)
    assert.deepEqual([view.attempts, view.finishedAt, view.error], [[], finishedAt, rest.error])
    assert.equal(await s.deadLetters.get(defaultTenantId, executionId), null)
  })

  test(`${name}: an execution cancelled between two attempts keeps its earlier attempts`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    const { attempts } = await s.view(executionId)
    await cancel(s, executionId)
    const view = await s.view(executionId)
    assert.deepEqual(view.attempts, attempts)
    assert.deepEqual([view.status, view.attempt, view.retryAt], ['CANCELLED', 1, null])
    assert.deepEqual(view.error, { type: 'CANCELLED', message })
    assert.equal((await s.list(job)).total, 1)
  })

  test(`${name}: a cancelled execution keeps its payload, its key and the execution that it repeats`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const workerId = await s.addWorker()
    const original = await s.trigger(job, { payloadOverride: { a: null } })
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    const order = { tenantId: defaultTenantId, executionId: original, lane: sharedLane }
    const newExecutionId = s.ids.next()
    assert.equal((await s.control.retry({ ...order, newExecutionId })).kind, 'retried')
    const before = await s.view(newExecutionId)
    assert(before.idempotencyKey !== null)
    await cancel(s, newExecutionId)
    const { idempotencyKey, retryOf, payloadOverride, kind } = await s.view(newExecutionId)
    assert.deepEqual(
      [idempotencyKey, retryOf, payloadOverride, kind],
      [before.idempotencyKey, original, { a: null }, 'retry'],
    )
  })

  test(`${name}: a worker cannot finish an execution that was cancelled after the worker released it`, async (t) => {
    const s = await setup(t)
    const executionId = await s.fire(await s.createJob(), 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), { kind: 'unstarted', host: null })
    await cancel(s, executionId)
    const end = { executionId, fence: 1, attempt: 1, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), notHeld(executionId))
    assert.equal(await s.statusOf(executionId), 'CANCELLED')
  })
}

function testDelete(name: string, setup: Setup): void {
  for (const { how, begin } of UNDER_WAY) {
    test(`${name}: when its job is deleted, an execution that ${how} is cancelled unless it runs`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      const executionId = await onlyOne(s, job)
      const waiting = await s.trigger(job)
      const runs = (await s.statusOf(executionId)) === 'RUNNING'
      await change(s, job, remove)
      assert.equal(await s.statusOf(executionId), runs ? 'RUNNING' : 'CANCELLED')
      assert.equal(await s.statusOf(waiting), 'CANCELLED')
      const { error } = await s.view(waiting)
      assert.deepEqual(error, { type: 'CANCELLED', message: 'The job was deleted.' })
      await s.maintenance.wake(10)
      assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
    })
  }

  test(`${name}: an execution that runs when its job is deleted ends normally, its retries included`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0)
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    await change(s, job, remove)
    await s.finishBatch(workerId, batch, s.failedForNow())
    await s.maintenance.wake(1)
    await s.finishLive(workerId, await s.claimLive(workerId), s.succeeded())
    assert.equal(await s.statusOf(executionId), 'SUCCEEDED')
  })

  test(`${name}: a deleted job takes only its own executions out of a batch`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await s.createJob({ overlapPolicy: 'ALLOW' }), await s.createJob()]
    const shared = await s.fireBatch([one, two], 0)
    const own = [await s.fire(one, 1), await s.fire(one, 2)]
    await change(s, one, remove)
    const cancelled = [shared.executionIds[0]!, ...own]
    for (const executionId of cancelled) assert.equal(await s.statusOf(executionId), 'CANCELLED')
    const { positions, jobIds } = await s.claimBatch(await s.addWorker())
    assert.deepEqual([positions, jobIds], [[1], [two.jobId]])
  })

  test(`${name}: no other change of a job cancels anything`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const fired = await s.fire(job, 0)
    const waiting = await s.trigger(job)
    for (const decide of [edit({ name: 'renamed' }), editSchedule(), pause(), resume()]) {
      await change(s, job, decide)
      assert.deepEqual([await s.statusOf(fired), await s.statusOf(waiting)], ['PENDING', 'PENDING'])
    }
  })
}
