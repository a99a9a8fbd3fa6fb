// release×finish, release×release, release×fire, release×trigger, wake×wake: a waiting execution is released once, and
// never beside an execution in progress.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { insertTriggers } from '../../src/postgres/jobs/triggers.sql.ts'
import { releaseWaiting, wakeRetries } from '../../src/postgres/queue/maintenance.sql.ts'
import { finishBatches } from '../../src/postgres/queue/queue.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { lockCursors } from '../../src/postgres/scheduling/slots.sql.ts'
import { allHeld, type Scenario } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, fatesOf, placesOf } from './invariants.ts'
import { createRace, releaseAll, type Session } from './sessions.ts'

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

/** How many executions of the job become claimable. */
const releaseOf = async (session: Session, { jobId }: NewJob) => (await releaseAll(session, [jobId])).ready

for (const version of POSTGRES_VERSIONS) {
  for (const statement of [lockCursors, releaseWaiting]) {
    test(`PostgreSQL ${version}: release×release: a trigger is let go once (held after ${statement.name})`, async (t) => {
      const { s, client, first, second } = await createRace(t, version)
      const { job, executionId } = await createTriggered(s)
      const held = first.holdAfter(statement)
      const releasing = releaseOf(first, job)
      await held.reached
      assert.equal(await releaseOf(second, job), 0)
      held.resume()
      assert.equal(await releasing, 1)
      assert.equal(await releaseOf(second, job), 0)
      assert.equal((await placesOf(client))[executionId], 'live')
      await assertWhole(client)
    })

    test(`PostgreSQL ${version}: release×release: an owed slot is let go once (held after ${statement.name})`, async (t) => {
      const { s, client, first, second } = await createRace(t, version)
      const job = await createOwing(s)
      const held = first.holdAfter(statement)
      const releasing = releaseOf(first, job)
      await held.reached
      assert.equal(await releaseOf(second, job), 0)
      held.resume()
      assert.equal(await releasing, 1)
      assert.equal(await releaseOf(second, job), 0, 'not beside the first')
      const fatesNow = () => fatesOf(client, job, { from: s.at(0), to: s.at(3) })
      assert.deepEqual(await fatesNow(), ['ran', 'ran', 'owed', 'owed'])
      await s.runAll()
      assert.equal(await releaseOf(second, job), 1)
      assert.deepEqual(await fatesNow(), ['ran', 'ran', 'ran', 'owed'])
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: release×fire: a fire finds the cursor locked, and then the released one in its way`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const job = await createOwing(s)
    const held = first.holdAfter(releaseWaiting)
    const releasing = releaseOf(first, job)
    await held.reached
    assert.deepEqual(
      (await second.slots.fire([s.slotOf(job, 4)])).map(({ answer }) => answer),
      ['busy'],
    )
    held.resume()
    assert.equal(await releasing, 1)
    assert.equal(await s.tryFire(job, 4), 'overlap')
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: fire×release: nothing is released while a fire decides, nor beside the execution it fired`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const { job, executionId } = await createTriggered(s)
    // The fire finds a waiting trigger and skips; of a job that owes nothing and has no trigger it would fire.
    const held = first.holdAfter(fireSlots)
    const firing = first.slots.fire([s.slotOf(job, 4)])
    await held.reached
    assert.equal(await releaseOf(second, job), 0)
    held.resume()
    assert.deepEqual(
      (await firing).map(({ answer }) => answer),
      ['overlap'],
    )
    assert.equal(await releaseOf(second, job), 1)
    assert.equal((await placesOf(client))[executionId], 'live')
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: release×trigger: a trigger waits for the release, and then behind the released execution`, async (t) => {
    const { s, client, first, second, waiting } = await createRace(t, version)
    const job = await createOwing(s)
    const held = first.holdAfter(releaseWaiting)
    const releasing = releaseOf(first, job)
    await held.reached
    const executionId = s.ids.next()
    const { jobId, tenantId } = job
    const triggering = second.jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
    await waiting()
    held.resume()
    await Promise.all([releasing, triggering])
    const { [executionId]: triggered, ...others } = await placesOf(client)
    assert.deepEqual([triggered, Object.values(others).toSorted()], ['waiting', ['final', 'live']])
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
    assert.equal(await releaseOf(second, job), 0)
    held.resume()
    await triggering
    assert.equal(await releaseOf(second, job), 1)
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
      const ending = finishes ? s.succeeded() : s.running()
      const held = first.holdAfter(finishBatches)
      const report = [{ batchId, fence, endings: [{ position: 0, ending }] }]
      const finishing = first.queue.finishBatches(workerId, report)
      await held.reached
      assert.equal(await releaseOf(second, job), 0)
      held.resume()
      assert.deepEqual(await finishing, allHeld)
      assert.equal(await releaseOf(second, job), finishes ? 1 : 0)
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
    const waking = first.maintenance.wake(2)
    await held.reached
    assert.equal(await second.maintenance.wake(5), 1)
    held.resume()
    assert.equal(await waking, 2)
    assert.equal(await second.maintenance.wake(5), 0)
    const { live } = await s.claim(workerId)
    assert.deepEqual(
      live.map(({ attempt, fence }) => [attempt, fence]),
      new Array(3).fill([2, 2]),
    )
    await assertWhole(client)
  })
}
