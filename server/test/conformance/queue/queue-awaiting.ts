// Conformance: a target answered 202 and will say later how it went: the execution has no worker, only a deadline.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { allExecutions, allHeld, notHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import {
  allTaken,
  cancelHeld,
  findHeld,
  holdAwaiting,
  holdBatch,
  holdLive,
  lose,
  markOf,
  report,
} from './held.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Out of a batch and as a row: an execution that awaits its end, and the worker that made the call. */
const FROM = [
  {
    from: 'its batch',
    async hold(s: StoreScenario) {
      const { executionIds, jobs, workerId, finish } = await holdBatch(s, 2)
      assert.deepEqual(await finish([s.awaiting(), s.succeeded()]), allHeld)
      return { executionId: executionIds[0]!, job: jobs[0]!, workerId }
    },
  },
  { from: 'a row of its own', hold: (s: StoreScenario) => holdAwaiting(s) },
]

export function testQueueAwaiting(name: string, setup: Setup): void {
  for (const { from, hold } of FROM) {
    test(`${name}: an execution that awaits its end, from ${from}, runs without a holder`, async (t) => {
      const s = await setup(t)
      const { executionId, job, workerId } = await hold(s)
      const view = await s.view(executionId)
      assert.deepEqual([view.status, view.attempt, view.startedAt], ['RUNNING', 1, s.at(299)])
      assert.deepEqual(view.attempts, [])
      const listed = await s.list(job, { status: 'RUNNING' })
      assert.deepEqual([listed.total, listed.executions[0]!.executionId], [1, executionId])
      const { executions } = (await s.executions.underWay(defaultTenantId, job.jobId))!
      assert.deepEqual(
        executions.map(({ state, status }) => [state, status]),
        [['awaiting', 'RUNNING']],
      )
      assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
      assert.equal(await s.queue.releaseUnknown(workerId, []), 0)
      await s.leases.unregister(workerId)
      assert.equal(await s.statusOf(executionId), 'RUNNING')
    })

    test(`${name}: an execution that awaits its end, from ${from}, outlives the worker that called`, async (t) => {
      const s = await setup(t)
      const { executionId, workerId } = await hold(s)
      await lose(s, workerId)
      assert.deepEqual([await s.statusOf(executionId), (await s.view(executionId)).attempts], ['RUNNING', []])
      assert.deepEqual(await report(s, [markOf(await findHeld(s, executionId))], s.succeeded()), allTaken)
      const [attempt] = (await s.view(executionId)).attempts
      assert.deepEqual([attempt!.outcome, attempt!.workerId], ['succeeded', workerId])
    })

    test(`${name}: one that awaits its end, from ${from}, is cancelled like one that runs`, async (t) => {
      const s = await setup(t)
      const { executionId, job, workerId } = await hold(s)
      for (let i = 0; i < 2; i++) await cancelHeld(s, executionId)
      assert.equal(await s.statusOf(executionId), 'CANCELLING')
      assert.deepEqual(await s.queue.findCancelled(workerId), [])
      const mark = markOf(await findHeld(s, executionId))
      assert.deepEqual(await report(s, [mark], s.succeeded()), { ...allTaken, cancelled: [executionId] })
      const { status, attempts } = await s.view(executionId)
      assert.deepEqual(
        [status, attempts[0]!.outcome, attempts[0]!.workerId],
        ['CANCELLED', 'cancelled', workerId],
      )
      const again = { tenantId: defaultTenantId, executionId, message: 'Cancelled by hand.' }
      assert.equal((await s.control.cancel(again)).kind, 'cancelled')
      assert.equal(await s.tryFire(job, 7), 'fired')
    })
  }

  test(`${name}: while it awaits its end nothing of the attempt before is shown as its own`, async (t) => {
    const s = await setup(t)
    const { executionId, mark, workerId } = await holdLive(s)
    await report(s, [mark], s.failedForNow())
    await s.maintenance.wake(1)
    await s.finishLive(workerId, await s.claimLive(workerId), s.awaiting())
    const { attempt, error, httpStatus, finishedAt, attempts } = await s.view(executionId)
    assert.deepEqual([attempt, error, httpStatus, finishedAt, attempts.length], [2, null, null, null, 1])
  })

  test(`${name}: the worker's own word after that is not held any more, but its own`, async (t) => {
    const s = await setup(t)
    const { executionId, job, workerId, live } = await holdLive(s)
    await s.finishLive(workerId, live, s.awaiting())
    const again = { ...live, ending: s.awaiting() }
    assert.deepEqual(await s.queue.finishLive(workerId, [again]), notHeld(executionId))
    const key = { executionId, attempt: 1, jobId: job.jobId }
    const own = [{ executionId, status: 'recorded' }]
    assert.deepEqual(await s.queue.findOwn(workerId, [key]), own)
    assert.deepEqual(await s.queue.findOwn(await s.addWorker(), [key]), [])
    await report(s, [markOf(await findHeld(s, executionId))], s.failedForNow())
    assert.deepEqual(await s.queue.findOwn(workerId, [key]), own)
  })

  test(`${name}: one that was cancelled before its target answered 202 awaits its end as cancelled`, async (t) => {
    const s = await setup(t)
    const { executionIds, finish } = await holdBatch(s, 1)
    const { executionId, workerId, live } = await holdLive(s)
    for (const id of [executionIds[0]!, executionId]) await cancelHeld(s, id)
    assert.deepEqual(await finish([s.awaiting()]), allHeld)
    await s.finishLive(workerId, live, s.awaiting())
    for (const id of [executionIds[0]!, executionId]) {
      assert.equal(await s.statusOf(id), 'CANCELLING')
      const answer = await report(s, [markOf(await findHeld(s, id))], s.succeeded())
      assert.deepEqual(answer, { ...allTaken, cancelled: [id] })
    }
  })

  test(`${name}: a completion that comes before the 202 is recorded with the worker that made the call`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, finish, workerId } = await holdBatch(s, 2)
    assert.deepEqual(await report(s, [{ ...marks[0]!, workerId: null }], s.succeeded()), allTaken)
    const answer = await finish([s.awaiting(), s.succeeded()])
    assert.deepEqual(answer, { ...allHeld, left: [executionIds[0]] })
    const end = { executionId: executionIds[0]!, fence: 1, attempt: 1, ending: s.awaiting() }
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), notHeld(executionIds[0]!))
    const { status, attempts } = await s.view(executionIds[0]!)
    assert.deepEqual([status, attempts.length, attempts[0]!.workerId], ['SUCCEEDED', 1, workerId])
  })

  test(`${name}: many executions are cancelled at once, also ones that await their end`, async (t) => {
    const s = await setup(t)
    const { executionId, job } = await holdAwaiting(s)
    const { jobId, tenantId } = job
    const found = await s.control.findUnended({ ...allExecutions, jobId })
    assert.deepEqual(found.executionIds, [executionId])
    const many = { tenantId, executionIds: [executionId], message: 'All of it.' }
    assert.deepEqual(await s.control.cancelMany(many), { cancelled: [], cancelling: 1 })
    assert.equal(await s.statusOf(executionId), 'CANCELLING')
  })

  test(`${name}: its deadline is the one it was given`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live } = await holdLive(s)
    const deadline = epochMs((await s.now()) + 100_000)
    await s.finishLive(workerId, live, s.awaiting(s.at(299), deadline))
    await s.ageDeadlines(60_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    await s.ageDeadlines(41_000)
    const [overdue] = await s.maintenance.findOverdue(10)
    assert.deepEqual(
      [overdue!.executionId, overdue!.cause, overdue!.state],
      [executionId, 'attempt', 'awaiting'],
    )
  })
}
