// release×change, late plan×change: in either order, each slot that a job owes runs or is skipped, exactly once.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { NewJob } from '../../src/ports/jobs.ts'
import { lockJob, writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { releaseWaiting } from '../../src/postgres/queue/maintenance.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { lockCursors } from '../../src/postgres/scheduling/slots.sql.ts'
import {
  change,
  type Decision,
  edit,
  editSchedule,
  pause,
  remove,
  resume,
} from '../conformance/jobs/changes.ts'
import { missed, type Scenario } from '../conformance/scenario.ts'
import { ledgerOf } from '../conformance/scheduling/ledger.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, fateRunsOf, placesOf } from './invariants.ts'
import { createRace, releaseAll, type Session } from './sessions.ts'

/** The changes that end the slots of a job up to now. */
const ends: Record<string, { decide: Decision; reason: string }> = {
  'an edit of the schedule': { decide: editSchedule(), reason: 'edited' },
  'a pause': { decide: pause(), reason: 'paused' },
  'a delete': { decide: remove, reason: 'deleted' },
}

/** A job that owes the seconds 1 to 3, with nothing under way. */
async function createOwing(s: Scenario): Promise<NewJob> {
  const job = await s.createJob()
  const move = { slotAt: s.at(4), dueAt: s.at(4), decidedTo: s.at(3) }
  await s.fire(job, 0, { late: true, owedTo: s.at(3), move })
  await s.runAll()
  return job
}

/** How many executions of the job become claimable. */
const releaseOf = async (session: Session, { jobId }: NewJob) => (await releaseAll(session, [jobId])).ready

async function answerOf({ slots }: Session, item: ReturnType<Scenario['slotOf']>): Promise<string> {
  const [answer] = await slots.fire([item])
  return answer?.answer ?? 'fired'
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Awaited<ReturnType<typeof createRace>>) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const [what, { decide, reason }] of Object.entries(ends)) {
    race(
      `release×${what}: the slot that was let go runs, the rest that was owed is skipped`,
      async (given) => {
        const { s, client, first, second, waiting } = given
        const job = await createOwing(s)
        const held = first.holdAfter(releaseWaiting)
        const releasing = releaseOf(first, job)
        await held.reached
        const changing = change(second, job, decide)
        await waiting()
        held.resume()
        assert.equal(await releasing, 1)
        await changing
        assert.deepEqual(await fateRunsOf(client, job, s), ['0-1 ran', '2-599 skipped'])
        assert.equal(await s.owedBy(job), null)
        const ledger = await ledgerOf(s, job)
        assert.deepEqual([...new Set(ledger.map(({ fate }) => fate))], ['fired', reason])
        await s.runAll()
        assert.equal(await releaseOf(second, job), 0)
      },
    )

    for (const statement of [lockJob, writeJob]) {
      race(
        `${what}×release: nothing is let go after ${statement.name}, and nothing is owed then`,
        async (given) => {
          const { s, client, first, second } = given
          const job = await createOwing(s)
          const held = first.holdAfter(statement)
          const changing = change(first, job, decide)
          await held.reached
          assert.equal(await releaseOf(second, job), 0)
          held.resume()
          await changing
          assert.equal(await releaseOf(second, job), 0)
          assert.deepEqual(await fateRunsOf(client, job, s), ['0 ran', '1-599 skipped'])
        },
      )
    }
  }

  race(
    'release×edit that leaves the schedule alone: what is owed stays owed, to the new version',
    async (given) => {
      const { s, client, first, second, waiting } = given
      const job = await createOwing(s)
      const held = first.holdAfter(lockCursors)
      const releasing = releaseOf(first, job)
      await held.reached
      const editing = change(second, job, edit({ name: 'renamed' }))
      await waiting()
      held.resume()
      assert.equal(await releasing, 1)
      await editing
      await s.runAll()
      assert.equal(await releaseOf(second, job), 1)
      const { rows } = await client.query('SELECT version FROM live')
      assert.deepEqual(rows, [{ version: 2 }])
      assert.deepEqual(await fateRunsOf(client, job, s), ['0-2 ran', '3 owed', '4-599 nothing'])
    },
  )

  const latePlan = (s: Scenario, job: NewJob) =>
    s.slotOf(job, 3, {
      late: true,
      owedTo: s.at(6),
      skipped: missed({ from: s.at(0), to: s.at(2), count: 3 }),
      move: { slotAt: s.at(7), dueAt: s.at(7), decidedTo: s.at(6) },
    })

  race('late plan×pause: what it owes is skipped by the pause', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    const held = first.holdAfter(fireSlots)
    const firing = answerOf(first, latePlan(s, job))
    await held.reached
    const pausing = change(second, job, pause())
    await waiting()
    held.resume()
    assert.equal(await firing, 'fired')
    await pausing
    assert.deepEqual(await fateRunsOf(client, job, s), ['0-2 skipped', '3 ran', '4-599 skipped'])
    assert.equal(await s.owedBy(job), null)
  })

  for (const resumed of [false, true]) {
    race(
      `pause${resumed ? ' and resume' : ''}×late plan: a plan of before decides nothing`,
      async (given) => {
        const { s, client, first, second } = given
        const job = await s.createJob()
        const plan = latePlan(s, job)
        const held = first.holdAfter(writeJob)
        const pausing = change(first, job, pause())
        await held.reached
        assert.equal(await answerOf(second, plan), 'busy')
        held.resume()
        await pausing
        if (resumed) await change(first, job, resume())
        assert.equal(await answerOf(second, plan), resumed ? 'already_recorded' : 'stale')
        assert.deepEqual(await fateRunsOf(client, job, s), ['0-599 skipped'])
        assert.deepEqual([await s.owedBy(job), await placesOf(client)], [null, {}])
      },
    )
  }
}

test('a job that owes slots and comes to allow overlaps and back: no slot is both run and skipped', async (t) => {
  const { s, client } = await createRace(t)
  const job = await createOwing(s)
  await change(s, job, edit({ overlapPolicy: 'ALLOW' }))
  for (const second of [4, 5, 6]) await s.tryFire(job, second, { version: 2, overlapPolicy: 'ALLOW' })
  await change(s, job, edit({ overlapPolicy: 'SKIP' }))
  const move = { slotAt: s.at(10), dueAt: s.at(10), decidedTo: s.at(9) }
  await s.tryFire(job, 7, { version: 3, late: true, owedTo: s.at(9), move })
  await change(s, job, pause())
  await ledgerOf(s, job)
  await assertWhole(client)
})

test('a job changed to skip overlaps: an execution still running from before blocks the next slot', async (t) => {
  const { s } = await createRace(t)
  const job = await s.createJob({ overlapPolicy: 'ALLOW' })
  const [earlier, later] = [await s.fire(job, 0), await s.fire(job, 1)]
  const workerId = await s.addWorker()
  const { batches } = await s.claim(workerId)
  await s.finishBatch(workerId, batches.find(({ batchId }) => batchId === later)!, s.succeeded())
  await change(s, job, edit({ overlapPolicy: 'SKIP' }))
  assert.equal(await s.statusOf(earlier), 'RUNNING')
  assert.equal(await s.tryFire(job, 2, { version: 2, overlapPolicy: 'SKIP' }), 'overlap')
})
