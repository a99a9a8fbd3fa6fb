// Conformance: a running execution is cancelled in two steps. It ends cancelled regardless of the report of its worker,
// and every further cancel gets the same answer.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { deleteJob } from '../../../src/domain/jobs/job-change.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change } from '../jobs/changes.ts'
import { allExecutions, allHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const message = 'Cancelled by hand.'
const nothing = { batches: [], live: [] }

function cancel(s: StoreScenario, executionId: string, text: string = message) {
  return s.control.cancel({ tenantId: defaultTenantId, executionId, message: text })
}

/** An execution held by a worker: in its batch, or alone. */
interface Held {
  job: NewJob
  executionId: string
  workerId: string
  end: (ending: Ending) => Promise<{ missing: string[]; cancelled: string[] }>
}
type Ending = Parameters<StoreScenario['finishLive']>[2]

async function holdInBatch(s: StoreScenario): Promise<Held> {
  const job = await s.createJob()
  const executionId = await s.fire(job, 0)
  const workerId = await s.addWorker()
  const { batchId, fence } = await s.claimBatch(workerId)
  const end = (ending: Ending) =>
    s.queue.finishBatches(workerId, [{ batchId, fence, endings: [{ position: 0, ending }] }])
  return { job, executionId, workerId, end }
}

async function holdAlone(s: StoreScenario): Promise<Held> {
  const job = await s.createJob()
  const executionId = await s.trigger(job)
  const workerId = await s.addWorker()
  const live = await s.claimLive(workerId)
  const end = (ending: Ending) => s.queue.finishLive(workerId, [{ ...live, ending }])
  return { job, executionId, workerId, end }
}

/** Left its batch after it was cancelled. */
async function holdAfterLeaving(s: StoreScenario): Promise<Held> {
  const held = await holdInBatch(s)
  const { executionId, workerId } = held
  assert.equal((await cancel(s, executionId)).kind, 'cancelling')
  const batchId = executionId
  const endings = [{ position: 0, ending: s.running(s.at(300)) }]
  const answer = await s.queue.finishBatches(workerId, [{ batchId, fence: 1, endings }])
  assert.deepEqual(answer, allHeld, 'it has not ended')
  assert.equal(await s.statusOf(executionId), 'CANCELLING')
  const live = { executionId, fence: 1, attempt: 1 }
  return { ...held, end: (ending) => s.queue.finishLive(workerId, [{ ...live, ending }]) }
}

const PLACES = [
  { where: 'in its batch', hold: holdInBatch },
  { where: 'alone', hold: holdAlone },
  { where: 'and leaves its batch', hold: holdAfterLeaving },
]
const ENDS: readonly { how: string; ending: (s: StoreScenario) => Ending }[] = [
  { how: 'succeeded', ending: (s) => s.succeeded() },
  { how: 'failed and would be tried again', ending: (s) => s.failedForNow() },
  { how: 'failed for good', ending: (s) => s.died() },
  { how: 'was stopped', ending: (s) => s.failed({ outcome: 'cancelled', httpStatus: null, preview: null }) },
  { how: 'was not started', ending: () => ({ kind: 'unstarted', host: 'api.example.com' }) },
]

export function testCancelRunning(name: string, setup: Setup): void {
  for (const place of PLACES) testEnds(name, setup, place)
  testRepeated(name, setup)
  testMany(name, setup)
  testFindUnended(name, setup)
}

function testEnds(name: string, setup: Setup, { where, hold }: (typeof PLACES)[number]): void {
  for (const { how, ending } of ENDS) {
    test(`${name}: cancelled while it runs ${where}, an execution that ${how} ends cancelled`, async (t) => {
      const s = await setup(t)
      const { job, executionId, workerId, end } = await hold(s)
      assert.equal((await cancel(s, executionId)).kind, 'cancelling')
      assert.equal(await s.statusOf(executionId), 'CANCELLING')
      const said = ending(s)
      assert.deepEqual(await end(said), { ...allHeld, cancelled: [executionId] })
      await assertCancelled(s, { job, executionId, workerId })
      const { httpStatus, attempts } = await s.view(executionId)
      const reported = said.kind === 'ended' ? said.end : null
      assert.equal(httpStatus, reported?.httpStatus ?? null, 'what the target answered stays')
      assert.equal(attempts[0]?.preview ?? null, reported?.preview ?? null)
      assert.equal(attempts[0]?.startedAt ?? null, reported?.startedAt ?? null)
      const again = await end(said)
      assert.deepEqual([again.missing.length, again.cancelled], [1, []])
    })
  }

  test(`${name}: cancelled while it runs ${where}, an execution of a lost worker ends cancelled`, async (t) => {
    const s = await setup(t)
    const { job, executionId, workerId } = await hold(s)
    await cancel(s, executionId)
    const beats = (await s.maintenance.watch()).find(({ holderId }) => holderId === workerId)!
    const { startedAt } = await s.view(executionId)
    assert.notEqual(await s.maintenance.reclaim(beats), 'alive')
    await assertCancelled(s, { job, executionId, workerId })
    // Nobody knows how far it came: it is an attempt since its claim.
    const { attempts } = await s.view(executionId)
    assert.deepEqual(
      attempts.map((one) => one.startedAt),
      [startedAt],
    )
    assert(startedAt !== null)
  })

  test(`${name}: cancelled while it runs ${where}, an execution that its worker does not know ends cancelled`, async (t) => {
    const s = await setup(t)
    const { job, executionId, workerId } = await hold(s)
    await cancel(s, executionId)
    assert.equal(await s.queue.releaseUnknown(workerId, []), 0)
    await assertCancelled(s, { job, executionId, workerId })
    const { attempts, startedAt } = await s.view(executionId)
    assert.deepEqual([attempts, startedAt], [[], null], 'it was not started')
  })
}

/** It has ended so, once, and is in nobody's way. */
async function assertCancelled(
  s: StoreScenario,
  { job, executionId, workerId }: Omit<Held, 'end'>,
): Promise<void> {
  const view = await s.view(executionId)
  assert.deepEqual([view.status, view.attempt, view.workerId], ['CANCELLED', 1, workerId])
  assert.deepEqual(view.error, { type: 'CANCELLED', message })
  assert(view.finishedAt !== null)
  assert.deepEqual([view.deadLetter, view.retryAt], [false, null])
  assert(view.attempts.length <= 1)
  assert.equal(await s.deadLetters.get(job.tenantId, executionId), null)
  assert.deepEqual(await s.queue.findCancelled(workerId), [])
  await s.maintenance.wake(10)
  assert.deepEqual(await s.claim(await s.addWorker()), nothing)
  assert.deepEqual(await cancel(s, executionId), { kind: 'cancelled', jobId: job.jobId, settled: null })
  assert.equal(await s.tryFire(job, 9), 'fired')
}

function testRepeated(name: string, setup: Setup): void {
  for (const { where, hold } of PLACES) {
    test(`${name}: cancelling an execution that runs ${where} again gets the same answer until it has ended, and the first message stands`, async (t) => {
      const s = await setup(t)
      const { job, executionId, end } = await hold(s)
      const expected = { kind: 'cancelling', jobId: job.jobId }
      assert.deepEqual(await cancel(s, executionId), expected)
      assert.deepEqual(await cancel(s, executionId, 'Once more.'), expected)
      await end(s.succeeded())
      const over = { kind: 'cancelled', jobId: job.jobId, settled: null }
      for (const text of ['Once more.', 'And again.'])
        assert.deepEqual(await cancel(s, executionId, text), over)
      assert.deepEqual((await s.view(executionId)).error, { type: 'CANCELLED', message })
    })
  }

  test(`${name}: one that is being cancelled has not ended: it cannot be repeated`, async (t) => {
    const s = await setup(t)
    for (const hold of [holdInBatch, holdAlone]) {
      const { executionId, end } = await hold(s)
      await cancel(s, executionId)
      const order = { tenantId: defaultTenantId, executionId, newExecutionId: s.ids.next(), lane: sharedLane }
      assert.deepEqual(await s.control.retry(order), { kind: 'not_finished', status: 'CANCELLING' })
      await end(s.succeeded())
      assert.equal((await s.control.retry(order)).kind, 'retried')
    }
  })

  test(`${name}: a job deleted with all that runs has it cancelled`, async (t) => {
    const s = await setup(t)
    for (const hold of [holdInBatch, holdAlone]) {
      const { job, executionId, workerId, end } = await hold(s)
      const waiting = await s.trigger(job)
      await change(s, job, (state) => deleteJob(state, { by: 'deleter', cancelRunning: true }))
      assert.deepEqual(
        [await s.statusOf(executionId), await s.statusOf(waiting)],
        ['CANCELLING', 'CANCELLED'],
      )
      assert.deepEqual(await s.queue.findCancelled(workerId), [executionId])
      await end(s.succeeded())
      const { status, error } = await s.view(executionId)
      assert.deepEqual([status, error?.message], ['CANCELLED', 'The job was deleted.'])
    }
  })
}

function testMany(name: string, setup: Setup): void {
  test(`${name}: many are cancelled at once, each as it is`, async (t) => {
    const s = await setup(t)
    const [inBatch, alone, ended] = [await holdInBatch(s), await holdAlone(s), await holdAlone(s)]
    await ended.end(s.succeeded())
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const pending = [await s.fire(job, 0), await s.trigger(job)]
    const stranger = await s.createJob({ tenantId: await s.addTenant(1) })
    const foreign = await s.trigger(stranger)
    const own = [inBatch.executionId, alone.executionId, ...pending]
    const executionIds = [...own, ended.executionId, foreign, s.ids.next()]
    const order = { tenantId: defaultTenantId, executionIds, message }
    const { cancelled, cancelling } = await s.control.cancelMany(order)
    assert.deepEqual(
      [cancelled.map((one) => one.executionId).toSorted(), cancelling],
      [own.slice(2).toSorted(), 2],
    )
    const statuses = []
    for (const id of [...own, ended.executionId]) statuses.push(await s.statusOf(id))
    assert.deepEqual(statuses, ['CANCELLING', 'CANCELLING', 'CANCELLED', 'CANCELLED', 'SUCCEEDED'])
    assert.equal((await s.view(foreign, stranger.tenantId)).status, 'PENDING')
    assert.deepEqual(await s.control.cancelMany({ ...order, executionIds: [] }), {
      cancelled: [],
      cancelling: 0,
    })
  })

  test(`${name}: executions of a batch are cancelled without the others`, async (t) => {
    const s = await setup(t)
    const jobs = [await s.createJob(), await s.createJob(), await s.createJob()]
    for (const isClaimed of [false, true]) {
      const { executionIds } = await s.fireBatch(jobs, isClaimed ? 1 : 0)
      if (isClaimed) await s.claimBatch(await s.addWorker())
      const some = executionIds.slice(0, 2)
      const counts = await s.control.cancelMany({ tenantId: defaultTenantId, executionIds: some, message })
      assert.deepEqual([counts.cancelled.length, counts.cancelling], isClaimed ? [0, 2] : [2, 0])
      const statuses = []
      for (const id of executionIds) statuses.push(await s.statusOf(id))
      const gone = isClaimed ? 'CANCELLING' : 'CANCELLED'
      assert.deepEqual(statuses, [gone, gone, isClaimed ? 'RUNNING' : 'PENDING'])
      await s.runAll()
    }
  })
}

function testFindUnended(name: string, setup: Setup): void {
  test(`${name}: executions that have not ended are found, newest first and piece by piece`, async (t) => {
    const s = await setup(t)
    const [inBatch, alone, ended] = [await holdInBatch(s), await holdAlone(s), await holdAlone(s)]
    await ended.end(s.died())
    const job = await s.createJob()
    const pending = [await s.fire(job, 0), await s.trigger(job)]
    await s.trigger(await s.createJob({ tenantId: await s.addTenant(1) }))
    const expected = [inBatch.executionId, alone.executionId, ...pending].toSorted().toReversed()
    const found: string[] = []
    let before: string | null = null
    do {
      const page = await s.control.findUnended({ ...allExecutions, before, limit: 3 })
      assert(page.executionIds.length <= 3)
      found.push(...page.executionIds)
      before = page.next
    } while (before !== null)
    assert.deepEqual(found, expected)
  })

  test(`${name}: the matching executions are found among the ones that have not ended`, async (t) => {
    const s = await setup(t)
    const [inBatch, alone] = [await holdInBatch(s), await holdAlone(s)]
    await cancel(s, alone.executionId)
    const job = await s.createJob({ name: 'nightly export', tags: ['etl'] })
    const waiting = await s.trigger(job)
    const workerId = await s.addWorker()
    await s.finishLive(workerId, await s.claimLive(workerId), s.failedForNow())
    const find = async (changes: Partial<typeof allExecutions>) =>
      (await s.control.findUnended({ ...allExecutions, ...changes })).executionIds
    assert.deepEqual(await find({ status: 'RUNNING' }), [inBatch.executionId])
    assert.deepEqual(await find({ status: 'CANCELLING' }), [alone.executionId])
    assert.deepEqual(await find({ status: 'RETRYING' }), [waiting])
    assert.deepEqual(await find({ status: 'SUCCEEDED' }), [])
    assert.deepEqual(await find({ kind: 'slot' }), [inBatch.executionId])
    assert.deepEqual(await find({ jobId: job.jobId }), [waiting])
    assert.deepEqual(await find({ tag: 'etl' }), [waiting])
    assert.deepEqual(await find({ q: 'NIGHTLY' }), [waiting])
    assert.deepEqual(await find({ errorType: 'HTTP_ERROR' }), [waiting])
    assert.deepEqual(await find({ from: s.at(0), to: s.at(1) }), [inBatch.executionId])
    assert.deepEqual(await find({ jobId: s.ids.next() }), [])
  })
}
