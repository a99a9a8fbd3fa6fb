// Conformance: triggers that a worker claims on insert. Only executions that it could have claimed at once, and with
// the same result.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { serverRoute } from '../../../src/domain/queue/route.ts'
import type { NewJob, TriggerOrder } from '../../../src/ports/jobs.ts'
import type { ClaimedLive } from '../../../src/ports/queue.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Triggers the job for this worker; returns the execution as the worker holds it. */
async function take(
  s: StoreScenario,
  { tenantId, jobId }: NewJob,
  workerId: string,
  changes: Partial<TriggerOrder> = {},
): Promise<{ executionId: string; claimed: ClaimedLive | null }> {
  const executionId = s.ids.next()
  const direct = { workerId, route: serverRoute }
  const outcome = await s.jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane, direct, ...changes })
  assert(outcome.kind === 'triggered')
  return { executionId, claimed: outcome.claimed }
}

export function testTriggersClaimed(name: string, setup: Setup): void {
  testTaken(name, setup)
  testLeft(name, setup)
  testGoesOn(name, setup)
}

function testTaken(name: string, setup: Setup): void {
  test(`${name}: a trigger that could start at once is its direct's as if that had claimed it`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const other = await s.createJob({ name: 'another one' })
    await s.trigger(other, { payloadOverride: [1] })
    const lanes = [{ lane: sharedLane, count: 1 }]
    const order = { workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 1, singles: true }
    const { live } = await s.queue.claim(order)
    const job = await s.createJob({ name: 'a job' })
    const { executionId, claimed } = await take(s, job, workerId, { payloadOverride: { a: [1] } })
    const { enqueuedAt, rank, slot } = claimed!
    assert.deepEqual(claimed, {
      ...live[0]!,
      ...{ executionId, jobId: job.jobId, payloadOverride: { a: [1] }, enqueuedAt, rank, slot },
      definition: { ...live[0]!.definition!, jobId: job.jobId, name: 'a job' },
    })
    assert.deepEqual([claimed.fence, claimed.attempt], [1, 1])
    assert.equal(await s.statusOf(executionId), 'RUNNING')
    assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
    await s.finishLive(workerId, claimed, s.succeeded())
    const { status, attempts } = await s.view(executionId)
    assert.deepEqual([status, attempts.length], ['SUCCEEDED', 1])
  })

  test(`${name}: of triggers that come together each is taken that nothing holds back`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const [a, b, c] = [
      await s.createJob(),
      await s.createJob(),
      await s.createJob({ overlapPolicy: 'ALLOW' }),
    ]
    const made = await Promise.all([a, b, a, c, c].map((job) => take(s, job, workerId)))
    const states = await Promise.all(made.map(({ executionId }) => s.statusOf(executionId)))
    assert.deepEqual(
      made.map(({ claimed, executionId }) => claimed?.executionId === executionId),
      [true, true, false, true, true],
    )
    assert.deepEqual(states, ['RUNNING', 'RUNNING', 'PENDING', 'RUNNING', 'RUNNING'])
  })

  test(`${name}: one of a job that is paused is taken too; one of another tenant's job is not made`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const job = await s.createJob({ status: 'PAUSED' })
    assert.notEqual((await take(s, job, workerId)).claimed, null)
    const tenantId = s.ids.next()
    const direct = { workerId, route: serverRoute }
    const order = { tenantId, jobId: job.jobId, executionId: s.ids.next(), lane: sharedLane }
    assert.notEqual((await s.jobs.trigger({ ...order, direct })).kind, 'triggered')
    assert.deepEqual(await s.jobs.trigger(order), { kind: 'not_found' })
  })
}

function testLeft(name: string, setup: Setup): void {
  test(`${name}: a trigger that has to wait is not taken`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const busy = await s.createJob()
    await take(s, busy, workerId)
    const limited = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 3 })
    const keyed = await s.createJob({ concurrencyKey: { key: 'k', limit: 1 } })
    for (const job of [busy, limited, keyed]) {
      const { executionId, claimed } = await take(s, job, workerId)
      assert.deepEqual([claimed, await s.statusOf(executionId)], [null, 'PENDING'])
    }
  })

  test(`${name}: neither is one that is not the worker's to claim there`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const root = await s.createJob()
    await s.createJob({ dependsOn: [{ jobId: root.jobId, on: 'success' }] })
    const handler = await s.createJob({ execution: handlerExecution })
    const job = () => s.createJob()
    for (const made of [
      await take(s, await job(), workerId, { lane: 'a lane of its own' }),
      await take(s, await job(), workerId, { direct: { workerId, route: 'shell' } }),
      await take(s, handler, workerId),
      await take(s, root, workerId),
      await take(s, await job(), s.ids.next()),
    ]) {
      assert.equal(made.claimed, null)
      assert.equal(await s.statusOf(made.executionId), 'PENDING')
    }
  })

  test(`${name}: claim on insert overtakes no execution ahead in the shared lane, in a batch or alone, only later ones`, async (t) => {
    for (const enqueue of ['slot', 'trigger'] as const) {
      const s = await setup(t)
      const workerId = await s.addWorker()
      const wait = async (priority: number) => {
        const job = await s.createJob({ priority })
        if (enqueue === 'slot') await s.fire(job, 0)
        else await s.trigger(job)
      }
      await wait(10)
      const job = await s.createJob({ priority: 5 })
      assert.notEqual((await take(s, job, workerId)).claimed, null, 'it goes before what has less priority')
      await wait(3)
      const late = await s.createJob({ priority: 6 })
      assert.equal((await take(s, late, workerId)).claimed, null)
      const { batches, live } = await s.claim(await s.addWorker())
      assert.equal(batches.length + live.length, 3)
    }
  })
}

function testGoesOn(name: string, setup: Setup): void {
  test(`${name}: an execution claimed on insert that its worker does not know is released without an attempt spent`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const { executionId, claimed } = await take(s, await s.createJob(), workerId)
    assert.equal(await s.queue.releaseUnknown(workerId, [executionId]), 0)
    assert.equal(await s.queue.releaseUnknown(workerId, []), 1)
    const helper = await s.addWorker()
    const again = await s.claimLive(helper)
    assert.deepEqual([again.executionId, again.attempt], [executionId, 1])
    const { fence, attempt } = claimed!
    const late = { executionId, fence, attempt, ending: s.succeeded() }
    assert.deepEqual((await s.queue.finishLive(workerId, [late])).missing, [executionId])
    await s.finishLive(helper, again, s.succeeded())
  })

  test(`${name}: when its worker dies it was lost, and runs elsewhere`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const { executionId } = await take(s, await s.createJob(), workerId)
    const beat = (await s.maintenance.watch()).find(({ holderId }) => holderId === workerId)!
    await s.maintenance.reclaim(beat)
    const again = await s.claimLive(await s.addWorker())
    assert.deepEqual([again.executionId, again.attempt, again.losses], [executionId, 2, 1])
  })

  test(`${name}: a cancel finds it running`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const job = await s.createJob()
    const { executionId } = await take(s, job, workerId)
    const { tenantId } = job
    assert.equal((await s.control.cancel({ tenantId, executionId, message: 'no' })).kind, 'cancelling')
    assert.deepEqual(await s.queue.findCancelled(workerId), [executionId])
  })
}

const handlerExecution: NewJob['execution'] = {
  type: 'worker',
  handler: 'h',
  labels: [],
  payload: null,
  timeout_seconds: 60,
}
