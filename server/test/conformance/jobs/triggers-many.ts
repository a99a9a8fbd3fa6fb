// Conformance: many triggers of a single job. Triggers that nothing holds back wait in batches, and however an
// execution leaves its batch it is still a trigger, with the payload that it was given.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { deleteJob } from '../../../src/domain/jobs/job-change.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { triggerPriority } from '../../../src/domain/queue/rank.ts'
import {
  listTriggers,
  toTriggerBatches,
  triggersWaitingMax,
} from '../../../src/domain/queue/trigger-batches.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Ending } from '../../../src/ports/queue.ts'
import { allExecutions, allHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit } from './changes.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Triggers it once for each payload; returns the executions. */
async function triggerMany(s: StoreScenario, job: NewJob, payloads: readonly unknown[]): Promise<string[]> {
  const texts = payloads.map((one) => JSON.stringify(one))
  return triggerBatches(
    s,
    job,
    toTriggerBatches({ count: texts.length, payloads: texts }, () => s.ids.nextBatch()),
  )
}

async function triggerBatches(
  s: StoreScenario,
  { tenantId, jobId }: NewJob,
  batches: ReturnType<typeof toTriggerBatches>,
): Promise<string[]> {
  const outcome = await s.jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })
  assert.equal(outcome.kind, 'triggered')
  return listTriggers(batches).map(({ executionId }) => executionId)
}

/** Three triggers of a job that allows overlaps, held by a worker, in their batch. */
async function holdMany(s: StoreScenario, payloads: readonly unknown[] = ['a', null, { c: [3] }]) {
  const job = await s.createJob({ overlapPolicy: 'ALLOW' })
  const executionIds = await triggerMany(s, job, payloads)
  const workerId = await s.addWorker()
  const batch = await s.claimBatch(workerId)
  const { batchId, fence } = batch
  const finish = (endings: Record<number, Ending>) =>
    s.queue.finishBatches(workerId, [
      {
        batchId,
        fence,
        endings: Object.entries(endings).map(([position, ending]) => ({
          position: Number(position),
          ending,
        })),
      },
    ])
  return { job, executionIds, workerId, batch, finish, payloads }
}

/** Kind and payload of each. */
async function seen(s: StoreScenario, executionIds: readonly string[]) {
  const views = await Promise.all(executionIds.map((id) => s.view(id)))
  return views.map((view) => [view.kind, 'payloadOverride' in view ? view.payloadOverride : 'none'])
}

const triggers = (payloads: readonly unknown[]) => payloads.map((payload) => ['trigger', payload])

export function testTriggersMany(name: string, setup: Setup): void {
  testMade(name, setup)
  testBounds(name, setup)
  testEnds(name, setup)
  testLeaves(name, setup)
  testHeldBack(name, setup)
}

function testMade(name: string, setup: Setup): void {
  test(`${name}: many triggers wait in batches of at most 100, two levels above their job, in their order`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', priority: 5 })
    const payloads = Array.from({ length: 250 }, (_, n) => ({ n }))
    const executionIds = await triggerMany(s, job, payloads)
    assert.deepEqual(executionIds, executionIds.toSorted())
    assert.deepEqual(await seen(s, [executionIds[0]!, executionIds[249]!]), triggers([{ n: 0 }, { n: 249 }]))
    const { executions, total } = await s.list(job, { limit: 200 })
    assert.deepEqual([executions.length, total], [200, 250])
    const { kind, status, attempt, slot, enqueuedAt } = executions[0]!
    assert.deepEqual([kind, status, attempt], ['trigger', 'PENDING', 0])
    assert.equal(slot, enqueuedAt - (enqueuedAt % 1_000))
    const { batches: claimed, live } = await s.claim(await s.addWorker(), 250)
    const batches = claimed.toSorted((a, b) => a.rank - b.rank || (a.batchId < b.batchId ? -1 : 1))
    assert.deepEqual(
      batches.map((one) => [one.positions.length, one.kind, one.priority]),
      [100, 100, 50].map((size) => [size, 'trigger', triggerPriority(5)]),
    )
    assert.deepEqual(live, [])
    assert.deepEqual(
      batches.flatMap(({ positions, payloads: own }) => positions.map((position) => own![position])),
      payloads,
    )
    assert.deepEqual(new Set(batches.flatMap(({ jobIds }) => jobIds)), new Set([job.jobId]))
  })

  test(`${name}: more than a search looks at wait in batches, and pages find each of them once`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const made: string[] = []
    for (let i = 0; i < 21; i++) {
      const batches = toTriggerBatches({ count: 1_000, payloads: null }, () => s.ids.nextBatch())
      made.push(...(await triggerBatches(s, job, batches)))
    }
    for (const changes of [{}, { status: 'PENDING' }] as const) {
      const found: string[] = []
      let before: string | null = null
      do {
        const page = await s.list(job, { limit: 200, before, ...changes })
        found.push(...page.executions.map(({ executionId }) => executionId))
        assert.deepEqual([page.total, page.capped], [10_000, true])
        // The rest of the pages is like the ones between.
        before = found.length === 1_000 ? made[1_050]! : page.next
      } while (before !== null)
      const newest = made.slice(-1_000)
      assert.deepEqual(found, [...newest.toReversed(), ...made.slice(0, 1_050).toReversed()])
    }
  })

  test(`${name}: without payloads of their own they have the job's`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const batches = toTriggerBatches({ count: 3, payloads: null }, () => s.ids.nextBatch())
    const executionIds = await triggerBatches(s, job, batches)
    const workerId = await s.addWorker()
    const claimed = await s.claimBatch(workerId)
    assert.deepEqual([claimed.kind, claimed.payloads], ['trigger', null])
    await s.finishBatch(workerId, claimed, s.succeeded())
    assert.deepEqual(await seen(s, executionIds), triggers(['none', 'none', 'none']))
  })

  test(`${name}: a job that is not there, or was deleted, is not triggered`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const { tenantId } = job
    const order = { tenantId, lane: sharedLane }
    const batches = () => toTriggerBatches({ count: 2, payloads: null }, () => s.ids.nextBatch())
    const other = { ...order, jobId: s.ids.next(), batches: batches() }
    assert.deepEqual(await s.jobs.triggerMany(other), { kind: 'not_found' })
    await change(s, job, (state) => deleteJob(state, { by: 'tester', cancelRunning: false }))
    const gone = { ...order, jobId: job.jobId, batches: batches() }
    assert.deepEqual(await s.jobs.triggerMany(gone), { kind: 'deleted' })
    assert.equal((await s.list(job)).total, 0)
  })
}

function testBounds(name: string, setup: Setup): void {
  test(`${name}: a job has no more triggers that have not ended than can be dealt with`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const { tenantId, jobId } = job
    const many = (count: number) => {
      const batches = toTriggerBatches({ count, payloads: null }, () => s.ids.nextBatch())
      return s.jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })
    }
    for (let made = 0; made < triggersWaitingMax; made += 1_000)
      assert.equal((await many(1_000)).kind, 'triggered')
    assert.deepEqual(await many(1), { kind: 'too_many' })
    await change(s, job, (state) => deleteJob(state, { by: 'tester', cancelRunning: false }))
    assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
  })

  test(`${name}: the executions of a tenant under way are found behind more executions of others than a search reads`, async (t) => {
    const s = await setup(t)
    const own = await s.createJob({ overlapPolicy: 'ALLOW' })
    const executionIds = await triggerMany(s, own, ['a', 'b'])
    const other = await s.createJob({ overlapPolicy: 'ALLOW', tenantId: await s.addTenant(1) })
    for (let i = 0; i < 2; i++) {
      const batches = Array.from({ length: 300 }, () => ({
        batchId: s.ids.nextBatch(),
        count: 1,
        payloads: null,
      }))
      await triggerBatches(s, other, batches)
    }
    const found: string[] = []
    let before: string | null = null
    do {
      const page = await s.control.findUnended({ ...allExecutions, before })
      found.push(...page.executionIds)
      before = page.next
    } while (before !== null)
    assert.deepEqual(found, executionIds.toReversed())
  })
}

function testEnds(name: string, setup: Setup): void {
  test(`${name}: a batch of triggers that all succeed is on record, each with its payload`, async (t) => {
    const s = await setup(t)
    const { workerId, batch, executionIds, payloads } = await holdMany(s)
    await s.finishBatch(workerId, batch, s.succeeded())
    assert.deepEqual(await seen(s, executionIds), triggers(payloads))
    for (const id of executionIds) assert.equal(await s.statusOf(id), 'SUCCEEDED')
  })

  test(`${name}: of a batch of triggers each ends, is tried again, dies, runs on or goes back with its payload`, async (t) => {
    const s = await setup(t)
    const { executionIds, payloads, finish, workerId } = await holdMany(s, ['a', null, { c: 3 }, [4], 5])
    const endings = [
      s.succeeded(),
      s.failedForNow(),
      s.died(),
      s.running(),
      { kind: 'unstarted', host: null } as const,
    ]
    assert.deepEqual(await finish(endings), allHeld)
    assert.deepEqual(await seen(s, executionIds), triggers(payloads))
    const statuses = await Promise.all(executionIds.map((id) => s.statusOf(id)))
    assert.deepEqual(statuses, ['SUCCEEDED', 'RETRYING', 'FAILED', 'RUNNING', 'PENDING'])
    const letter = await s.deadLetters.get((await s.createJob()).tenantId, executionIds[2]!)
    assert.deepEqual(JSON.parse(letter!.payload!), { c: 3 })
    assert.equal(await s.maintenance.wake(10), 1)
    const { live } = await s.claim(workerId)
    assert.deepEqual(live.map((one) => [one.executionId, one.kind, one.payloadOverride]).toSorted(), [
      [executionIds[1], 'trigger', null],
      [executionIds[4], 'trigger', 5],
    ])
  })

  test(`${name}: the rest of a batch of triggers ends with the right payloads`, async (t) => {
    const s = await setup(t)
    const { executionIds, payloads, workerId, batch, finish } = await holdMany(s)
    const { jobIds, fence } = batch
    const mark = { executionId: executionIds[0]!, attempt: 1, jobId: jobIds[0]!, fence, workerId }
    assert.deepEqual(
      (await s.attempts.update([{ ...mark, alive: true, progress: 0.5 }])).map(({ status }) => status),
      ['updated'],
    )
    assert.deepEqual(await finish({ 1: s.succeeded(), 2: s.succeeded() }), allHeld)
    assert.deepEqual(await seen(s, executionIds), triggers(payloads))
    const held = { executionId: executionIds[0]!, fence: 1, attempt: 1 }
    const end = { ...held, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), allHeld)
    assert.deepEqual(await seen(s, executionIds), triggers(payloads))
  })
}

function testLeaves(name: string, setup: Setup): void {
  test(`${name}: a worker without room for a whole batch of triggers takes some, with their payloads`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const executionIds = await triggerMany(s, job, ['a', 'b', 'c'])
    const workerId = await s.addWorker()
    const { batches, live } = await s.claim(workerId, 2)
    assert.deepEqual(batches, [])
    assert.deepEqual(
      live.map((one) => [one.executionId, one.kind, one.payloadOverride]).toSorted(),
      [0, 1].map((n) => [executionIds[n], 'trigger', ['a', 'b'][n]]),
    )
    const rest = await s.claimBatch(workerId)
    assert.deepEqual([rest.positions, rest.payloads![2]], [[2], 'c'])
    await s.finishBatch(workerId, rest, s.succeeded())
    assert.deepEqual(await seen(s, executionIds), triggers(['a', 'b', 'c']))
  })

  test(`${name}: triggers that were lost with their worker run again with their payloads`, async (t) => {
    const s = await setup(t)
    const { executionIds, payloads, workerId } = await holdMany(s)
    assert.notEqual(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
    assert.deepEqual(await seen(s, executionIds), triggers(payloads))
    const { live } = await s.claim(await s.addWorker())
    assert.deepEqual(
      live.map((one) => [one.kind, one.attempt, one.payloadOverride]),
      payloads.map((payload) => ['trigger', 2, payload]),
    )
    const { attempts } = await s.view(executionIds[0]!)
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ['lost'],
    )
  })

  test(`${name}: triggers that a worker does not know go back with their payloads`, async (t) => {
    const s = await setup(t)
    const { executionIds, payloads, workerId } = await holdMany(s)
    assert.equal(await s.queue.releaseUnknown(workerId, [executionIds[1]!]), 2)
    assert.deepEqual(await seen(s, executionIds), triggers(payloads))
    const { live } = await s.claim(workerId)
    assert.deepEqual(
      live.map((one) => [one.executionId, one.payloadOverride]).toSorted(),
      [0, 2].map((n) => [executionIds[n], payloads[n]]),
    )
  })

  test(`${name}: a trigger is cancelled in its batch, waiting or running, and keeps its payload`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const executionIds = await triggerMany(s, job, ['a', 'b', 'c'])
    const cancel = (executionId: string) =>
      s.control.cancel({ tenantId: job.tenantId, executionId, message: 'Cancelled by hand.' })
    assert.equal((await cancel(executionIds[0]!)).kind, 'cancelled')
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    assert.equal((await cancel(executionIds[2]!)).kind, 'cancelling')
    const { batchId, fence } = batch
    const endings = [1, 2].map((position) => ({ position, ending: s.succeeded() }))
    const answer = await s.queue.finishBatches(workerId, [{ batchId, fence, endings }])
    assert.deepEqual(answer.cancelled, [executionIds[2]])
    assert.deepEqual(await seen(s, executionIds), triggers(['a', 'b', 'c']))
    const statuses = await Promise.all(executionIds.map((id) => s.statusOf(id)))
    assert.deepEqual(statuses, ['CANCELLED', 'SUCCEEDED', 'CANCELLED'])
  })

  test(`${name}: a job that is deleted takes its waiting triggers with it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const executionIds = await triggerMany(s, job, ['a', 'b'])
    await change(s, job, (state) => deleteJob(state, { by: 'tester', cancelRunning: false }))
    for (const id of executionIds) assert.equal(await s.statusOf(id), 'CANCELLED')
    assert.deepEqual(await seen(s, executionIds), triggers(['a', 'b']))
  })

  test(`${name}: a retry of a single trigger among many has its payload`, async (t) => {
    const s = await setup(t)
    const { executionIds, finish, job } = await holdMany(s)
    assert.deepEqual(await finish({ 0: s.died(), 1: s.succeeded(), 2: s.died() }), allHeld)
    const newExecutionId = s.ids.next()
    const order = { tenantId: job.tenantId, executionId: executionIds[2]!, newExecutionId, lane: sharedLane }
    assert.equal((await s.control.retry(order)).kind, 'retried')
    assert.deepEqual((await s.view(newExecutionId)).payloadOverride, { c: [3] })
  })
}

function testHeldBack(name: string, setup: Setup): void {
  test(`${name}: of a job that does not allow overlaps the first of many triggers runs, and the others wait`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'SKIP' })
    const executionIds = await triggerMany(s, job, ['a', 'b', 'c'])
    const workerId = await s.addWorker()
    const first = await s.claimLive(workerId)
    assert.deepEqual([first.executionId, first.payloadOverride], [executionIds[0], 'a'])
    await s.finishLive(workerId, first, s.succeeded())
    await s.release(job)
    const second = await s.claimLive(workerId)
    assert.deepEqual([second.executionId, second.payloadOverride], [executionIds[1], 'b'])
    assert.deepEqual(await seen(s, executionIds), triggers(['a', 'b', 'c']))
  })

  test(`${name}: of a job with a limit no more of its many triggers run at once`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 2 })
    await triggerMany(s, job, ['a', 'b', 'c'])
    await s.release(job)
    const { batches, live } = await s.claim(await s.addWorker())
    assert.deepEqual([batches.length, live.length], [0, 2])
  })

  test(`${name}: when a job no longer allows overlaps, its triggers in batches are in the way of a slot`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    await triggerMany(s, job, ['a', 'b'])
    await change(s, job, edit({ overlapPolicy: 'SKIP' }))
    const slot = s.slotOf({ ...job, overlapPolicy: 'SKIP' }, 0, { version: 2 })
    const [answer] = await s.slots.fire([slot])
    assert.equal(answer?.answer, 'overlap')
  })

  test(`${name}: triggers of a root start a graph run each`, async (t) => {
    const s = await setup(t)
    const root = await s.createJob({ overlapPolicy: 'ALLOW' })
    await s.createJob({ dependsOn: [{ jobId: root.jobId, on: 'success' }], slotAt: null })
    const { tenantId, jobId } = root
    const batches = toTriggerBatches({ count: 2, payloads: null }, () => s.ids.nextBatch())
    const outcome = await s.jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })
    assert.equal(outcome.kind, 'triggered')
    const ids = listTriggers(batches).map(({ executionId }) => executionId)
    assert.deepEqual(outcome.kind === 'triggered' && outcome.runIds, ids)
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await s.view(id)).runId)), ids)
  })
}
