// release×finish, release×release, release×fire, release×trigger, wake×wake: what waits is let go once, and never beside
// an execution that is under way.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/lane.ts'
import { serverRoute } from '../../src/domain/route.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { ReleaseOrder } from '../../src/ports/upkeep.ts'
import { insertTriggers } from '../../src/store/jobs.sql.ts'
import { finishBatches } from '../../src/store/queue.sql.ts'
import { fireSlots, lockCursors } from '../../src/store/slots.sql.ts'
import { releaseWaiting, wakeRetries } from '../../src/store/upkeep.sql.ts'
import type { Scenario } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, fatesOf, placesOf } from './invariants.ts'
import { createRace } from './sessions.ts'

/** A job that owes the seconds 1 to 3, with nothing under way. */
async function createOwing(s: Scenario): Promise<NewJob> {
  const job = await s.createJob()
  const move = { slotAt: s.at(4), dueAt: s.at(4), decidedTo: s.at(3) }
  await s.fire(job, 0, { late: true, owedTo: s.at(3), move })
  await s.runAll()
  return job
}

/** A job of which a trigger waits, with nothing under way. */
async function createTriggered(s: Scenario): Promise<{ job: NewJob; executionId: string }> {
  const job = await s.createJob()
  await s.fire(job, 0)
  const executionId = await s.trigger(job)
  await s.runAll()
  return { job, executionId }
}

function orderOf(s: Scenario, { jobId, priority }: NewJob, second: number | null): ReleaseOrder {
  if (second === null) return { jobId, version: 1, owed: null }
  const place = { executionId: s.ids.nextBatch(), route: serverRoute, lane: sharedLane, priority }
  return { jobId, version: 1, owed: { slot: s.at(second), next: s.at(second + 1), ...place } }
}

for (const version of POSTGRES_VERSIONS) {
  for (const statement of [lockCursors, releaseWaiting]) {
    test(`PostgreSQL ${version}: release×release: a trigger is let go once (held after ${statement.name})`, async (t) => {
      const { s, client, first, second } = await createRace(t, version)
      const { job, executionId } = await createTriggered(s)
      const held = first.holdAfter(statement)
      const releasing = first.upkeep.release([orderOf(s, job, null)])
      await held.reached
      assert.deepEqual(await second.upkeep.release([orderOf(s, job, null)]), [])
      held.resume()
      assert.deepEqual(await releasing, [job.jobId])
      assert.deepEqual(await second.upkeep.release([orderOf(s, job, null)]), [])
      assert.equal((await placesOf(client))[executionId], 'live')
      await assertWhole(client)
    })

    test(`PostgreSQL ${version}: release×release: an owed slot is let go once (held after ${statement.name})`, async (t) => {
      const { s, client, first, second } = await createRace(t, version)
      const job = await createOwing(s)
      const [one, other] = [orderOf(s, job, 1), orderOf(s, job, 1)]
      const held = first.holdAfter(statement)
      const releasing = first.upkeep.release([one])
      await held.reached
      assert.deepEqual(await second.upkeep.release([other]), [])
      held.resume()
      assert.deepEqual(await releasing, [job.jobId])
      // Its order is of before: the slot is no longer owed, also when the execution has ended.
      assert.deepEqual(await second.upkeep.release([other]), [])
      await s.runAll()
      assert.deepEqual(await second.upkeep.release([other]), [])
      const fates = await fatesOf(client, job, { from: s.at(0), to: s.at(3) })
      assert.deepEqual(fates, ['ran', 'ran', 'owed', 'owed'])
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: release×fire: a fire finds the cursor locked, and then the released one in its way`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const job = await createOwing(s)
    const held = first.holdAfter(releaseWaiting)
    const releasing = first.upkeep.release([orderOf(s, job, 1)])
    await held.reached
    assert.deepEqual(
      (await second.slots.fire([s.slotOf(job, 4)])).map(({ answer }) => answer),
      ['busy'],
    )
    held.resume()
    assert.deepEqual(await releasing, [job.jobId])
    assert.equal(await s.tryFire(job, 4), 'overlap')
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: fire×release: nothing is let go while a fire decides, nor beside what it fired`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const { job, executionId } = await createTriggered(s)
    // The fire finds a waiting trigger and skips; of a job that owes nothing and has no trigger it would fire.
    const held = first.holdAfter(fireSlots)
    const firing = first.slots.fire([s.slotOf(job, 4)])
    await held.reached
    assert.deepEqual(await second.upkeep.release([orderOf(s, job, null)]), [])
    held.resume()
    assert.deepEqual(
      (await firing).map(({ answer }) => answer),
      ['overlap'],
    )
    assert.deepEqual(await second.upkeep.release([orderOf(s, job, null)]), [job.jobId])
    assert.equal((await placesOf(client))[executionId], 'live')
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: release×trigger: a trigger waits for the release, and then behind what it let go`, async (t) => {
    const { s, client, first, second, waiting } = await createRace(t, version)
    const job = await createOwing(s)
    const order = orderOf(s, job, 1)
    const held = first.holdAfter(releaseWaiting)
    const releasing = first.upkeep.release([order])
    await held.reached
    const executionId = s.ids.next()
    const { jobId, tenantId } = job
    const triggering = second.jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
    await waiting()
    held.resume()
    await Promise.all([releasing, triggering])
    const { [executionId]: triggered, [order.owed!.executionId]: owed } = await placesOf(client)
    assert.deepEqual([triggered, owed], ['waiting', 'live'])
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: trigger×release: nothing is let go while a trigger decides, then the trigger goes first`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const job = await createOwing(s)
    const executionId = s.ids.next()
    const { jobId, tenantId } = job
    const held = first.holdAfter(insertTriggers)
    const triggering = first.jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
    await held.reached
    assert.deepEqual(await second.upkeep.release([orderOf(s, job, 1)]), [])
    held.resume()
    await triggering
    assert.deepEqual(await second.upkeep.release([orderOf(s, job, 1)]), [job.jobId])
    assert.equal((await placesOf(client))[executionId], 'live')
    assert.deepEqual(await fatesOf(client, job, { from: s.at(1), to: s.at(3) }), ['owed', 'owed', 'owed'])
    await assertWhole(client)
  })

  for (const [how, finishes] of [
    ['ends', true],
    ['leaves its batch', false],
  ] as const) {
    test(`PostgreSQL ${version}: release×finish: nothing goes beside an execution that ${how} meanwhile`, async (t) => {
      const { s, client, first, second } = await createRace(t, version)
      const job = await s.createJob()
      await s.fire(job, 0)
      const executionId = await s.trigger(job)
      const workerId = await s.addWorker()
      const { batchId, fence } = await s.claimBatch(workerId)
      const ending = finishes ? s.succeeded() : ({ kind: 'running', startedAt: s.at(1) } as const)
      const held = first.holdAfter(finishBatches)
      const report = [{ batchId, fence, endings: [{ position: 0, ending }] }]
      const finishing = first.queue.finishBatches(workerId, report)
      await held.reached
      assert.deepEqual(await second.upkeep.release([orderOf(s, job, null)]), [])
      held.resume()
      assert.deepEqual(await finishing, [])
      assert.deepEqual(await second.upkeep.release([orderOf(s, job, null)]), finishes ? [job.jobId] : [])
      assert.equal((await placesOf(client))[executionId], finishes ? 'live' : 'waiting')
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: wake×wake: a retry is woken once`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const workerId = await s.addWorker()
    for (let i = 0; i < 3; i++) {
      await s.fire(await s.createJob(), i)
      await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    }
    const held = first.holdAfter(wakeRetries)
    const waking = first.upkeep.wake(2)
    await held.reached
    assert.equal(await second.upkeep.wake(5), 1)
    held.resume()
    assert.equal(await waking, 2)
    assert.equal(await second.upkeep.wake(5), 0)
    const { live } = await s.claim(workerId)
    assert.deepEqual(
      live.map(({ attempt, fence }) => [attempt, fence]),
      new Array(3).fill([2, 1]),
    )
    await assertWhole(client)
  })
}

test('an owed slot that a later order names ahead of its turn is not let go', async (t) => {
  const { s, client } = await createRace(t)
  const job = await createOwing(s)
  // A schedule with no slot in what is owed must not run one beyond it.
  assert.deepEqual(await s.upkeep.release([orderOf(s, job, 9)]), [])
  await assertWhole(client)
})
