// fire×change, trigger×change, change×change: in either order, every slot has exactly one record, and every decision is
// about the job as it was committed before.
import assert from 'node:assert/strict'
import test from 'node:test'
import { partitionsCount } from '../../src/domain/jobs/job.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { lockJob, selectState, writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { insertTriggers, lockFreeJobs } from '../../src/postgres/jobs/triggers.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import {
  change,
  type Decision,
  edit,
  editSchedule,
  pause,
  remove,
  resume,
} from '../conformance/jobs/changes.ts'
import type { Scenario } from '../conformance/scenario.ts'
import { ledgerOf } from '../conformance/scheduling/ledger.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, fateRunsOf, placesOf } from './invariants.ts'
import { createRace, type Session } from './sessions.ts'

/** The changes that end the slots of a job up to now. */
const ends: Record<string, { decide: Decision; status: string; version: number; reason: string }> = {
  'an edit of the schedule': { decide: editSchedule(), status: 'ACTIVE', version: 2, reason: 'edited' },
  'a pause': { decide: pause(), status: 'PAUSED', version: 1, reason: 'paused' },
  'a delete': { decide: remove, status: 'DELETED', version: 1, reason: 'deleted' },
}

async function answerOf({ slots }: Session, item: ReturnType<Scenario['slotOf']>): Promise<string> {
  const [answer] = await slots.fire([item])
  return answer?.answer ?? 'fired'
}

const allPartitions = Array.from({ length: partitionsCount }, (_, id) => id)

const triggerOf = (s: Scenario, { tenantId, jobId }: NewJob) => ({
  ...{ tenantId, jobId },
  executionId: s.ids.next(),
  lane: sharedLane,
})

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Awaited<ReturnType<typeof createRace>>) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const [what, { decide, status, version: after, reason }] of Object.entries(ends)) {
    for (const overlapPolicy of ['SKIP', 'ALLOW'] as const) {
      race(
        `fire×${what} (${overlapPolicy}): it waits for the fire, and ends what comes after it`,
        async (given) => {
          const { s, client, first, second, waiting } = given
          const job = await s.createJob({ overlapPolicy })
          const slot = s.slotOf(job, 0)
          const held = first.holdAfter(fireSlots)
          const firing = first.slots.fire([slot])
          await held.reached
          const changing = change(second, job, decide)
          await waiting()
          held.resume()
          assert.deepEqual(await firing, [])
          const view = await changing
          assert.deepEqual([view.status, view.version], [status, after])
          assert.deepEqual(await fateRunsOf(client, job, s), ['0 ran', '1-599 skipped'])
          const runs = (await ledgerOf(s, job)).map(({ fate }) => fate)
          assert.deepEqual(runs, ['fired', reason])
          assert.equal((await placesOf(client))[slot.executionId], status === 'DELETED' ? 'final' : 'batch')
        },
      )
    }

    for (const statement of [lockJob, selectState, writeJob]) {
      race(
        `${what}×fire: the fire finds the cursor locked after ${statement.name}, and then nothing to fire`,
        async (given) => {
          const { s, client, first, second } = given
          const job = await s.createJob()
          const slot = s.slotOf(job, 0)
          const held = first.holdAfter(statement)
          const changing = change(first, job, decide)
          await held.reached
          assert.equal(await answerOf(second, slot), 'busy')
          held.resume()
          await changing
          assert.equal(await answerOf(second, slot), 'stale')
          assert.deepEqual(await fateRunsOf(client, job, s), ['0-599 skipped'])
          assert.deepEqual(await placesOf(client), {})
        },
      )
    }
  }

  race(
    'fire×edit that leaves the schedule alone: the slot fires once, and the next as the new version',
    async (given) => {
      const { s, client, first, second, waiting } = given
      const job = await s.createJob()
      const held = first.holdAfter(fireSlots)
      const firing = first.slots.fire([s.slotOf(job, 0)])
      await held.reached
      const editing = change(second, job, edit({ name: 'renamed' }))
      await waiting()
      held.resume()
      assert.deepEqual(await firing, [])
      assert.equal((await editing).version, 2)
      await s.runAll()
      assert.equal(await s.tryFire(job, 0, { version: 2 }), 'already_recorded')
      assert.equal(await s.tryFire(job, 1), 'stale')
      assert.equal(await s.tryFire(job, 1, { version: 2 }), 'fired')
      assert.deepEqual(await fateRunsOf(client, job, s), ['0-1 ran', '2-599 nothing'])
    },
  )

  race('edit that leaves the schedule alone×fire: no slot is lost with the version', async (given) => {
    const { s, client, first, second } = given
    const job = await s.createJob()
    const held = first.holdAfter(writeJob)
    const editing = change(first, job, edit({ name: 'renamed' }))
    await held.reached
    assert.equal(await answerOf(second, s.slotOf(job, 0)), 'busy')
    held.resume()
    assert.equal((await editing).version, 2)
    assert.equal(await answerOf(second, s.slotOf(job, 0)), 'stale')
    assert.equal((await client.query('SELECT FROM changes')).rowCount, 1, 'its scheduler loads it anew')
    assert.equal(await answerOf(second, s.slotOf(job, 0, { version: 2 })), 'fired')
    assert.deepEqual(await fateRunsOf(client, job, s), ['0 ran', '1-599 nothing'])
  })

  race('fire×resume: a fire of a paused job is refused, and its slots are skipped once', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    await change(s, job, pause())
    const held = first.holdAfter(fireSlots)
    const firing = answerOf(first, s.slotOf(job, 0))
    await held.reached
    const resuming = change(second, job, resume())
    await waiting()
    held.resume()
    assert.equal(await firing, 'stale')
    assert.equal((await resuming).status, 'ACTIVE')
    assert.deepEqual(await fateRunsOf(client, job, s), ['0-599 skipped'])
  })

  race(
    'resume×fire: what was skipped by the pause does not fire after it, though the version is the same',
    async (given) => {
      const { s, client, first, second } = given
      const job = await s.createJob()
      await change(s, job, pause())
      const held = first.holdAfter(writeJob)
      const resuming = change(first, job, resume())
      await held.reached
      assert.equal(await answerOf(second, s.slotOf(job, 5)), 'busy')
      held.resume()
      await resuming
      assert.equal(await answerOf(second, s.slotOf(job, 5)), 'already_recorded')
      assert.deepEqual(await fateRunsOf(client, job, s), ['0-599 skipped'])
    },
  )

  race('pause×resume: the resume sees the pause, and the slots between have one record', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    const held = first.holdAfter(writeJob)
    const pausing = change(first, job, pause())
    await held.reached
    const resuming = change(second, job, resume())
    await waiting()
    held.resume()
    assert.equal((await pausing).status, 'PAUSED')
    assert.equal((await resuming).status, 'ACTIVE')
    assert.deepEqual(await fateRunsOf(client, job, s), ['0-599 skipped'])
  })

  race('resume×pause: the pause sees the resume, and stays', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    await change(s, job, pause())
    const held = first.holdAfter(writeJob)
    const resuming = change(first, job, resume())
    await held.reached
    const pausing = change(second, job, pause('again'))
    await waiting()
    held.resume()
    assert.equal((await resuming).status, 'ACTIVE')
    const { status, pause: paused } = await pausing
    assert.deepEqual([status, paused?.reason], ['PAUSED', 'again'])
    assert.deepEqual(await fateRunsOf(client, job, s), ['0-599 skipped'])
  })

  race('pause×pause, delete×delete: the second finds it done', async (given) => {
    const { s, client, first, second, waiting } = given
    for (const decide of [pause(), remove]) {
      const job = await s.createJob()
      const held = first.holdAfter(writeJob)
      const one = change(first, job, decide)
      await held.reached
      const other = change(second, job, decide)
      await waiting()
      held.resume()
      assert.equal((await one).status, (await other).status)
      assert.deepEqual(await fateRunsOf(client, job, s), ['0-599 skipped'])
    }
  })

  race('edit×edit: the second decides about what the first has written', async (given) => {
    const { s, first, second, waiting } = given
    const job = await s.createJob()
    const seen: number[] = []
    const held = first.holdAfter(writeJob)
    const one = change(first, job, edit({ name: 'one' }))
    await held.reached
    const other = change(second, job, (state) => {
      seen.push(state.version)
      return edit({ description: `after ${state.name}` })(state)
    })
    await waiting()
    held.resume()
    assert.equal((await one).version, 2)
    const { version: last, name, description } = await other
    assert.deepEqual([last, name, description, seen], [3, 'one', 'after one', [2]])
  })

  race('edit×edit, both meant for version 1: one of them is made', async (given) => {
    const { s, first, second, waiting } = given
    const job = await s.createJob()
    const ifFirst =
      (name: string): Decision =>
      (state) =>
        state.version === 1 ? edit({ name })(state) : null
    const held = first.holdBefore(writeJob)
    const one = change(first, job, ifFirst('one'))
    await held.reached
    const other = change(second, job, ifFirst('other'))
    await waiting()
    held.resume()
    const views = await Promise.all([one, other])
    assert.deepEqual(
      views.map((view) => [view.version, view.name]),
      [
        [2, 'one'],
        [2, 'one'],
      ],
    )
  })

  race('edit×edit of the schedule: each ends the slots of the one before', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    const held = first.holdAfter(writeJob)
    const one = change(first, job, editSchedule())
    await held.reached
    const other = change(second, job, editSchedule({ type: 'CRON', cron_expression: '*/3 * * * * *' }))
    await waiting()
    held.resume()
    await one
    const { version: last, slotAt } = await other
    assert.equal(last, 3)
    assert(slotAt! > (await s.now()) - 1_000)
    assert.deepEqual(await fateRunsOf(client, job, s), ['0-599 skipped'])
    await ledgerOf(s, job)
  })

  race(
    'change×take of notes: a change that finds a note of the one before it is noted all the same',
    async (given) => {
      const { s, first, second } = given
      const job = await s.createJob()
      await change(s, job, edit({ name: 'one' }))
      const held = first.holdAfter(writeJob)
      const editing = change(first, job, edit({ name: 'two' }))
      await held.reached
      const before = await second.slots.takeChanges(allPartitions, 100)
      held.resume()
      await editing
      // A scheduler that knows only version 2 finds it stale when it comes due, and drops it.
      const taken = [...before, ...(await second.slots.takeChanges(allPartitions, 100))]
      assert.equal(taken.at(-1)?.version, 3)
    },
  )

  race('trigger×delete: what was triggered before the delete is cancelled with it', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    const order = triggerOf(s, job)
    const held = first.holdAfter(insertTriggers)
    const triggering = first.jobs.trigger(order)
    await held.reached
    const deleting = change(second, job, remove)
    await waiting()
    held.resume()
    assert.equal((await triggering).kind, 'triggered')
    await deleting
    assert.deepEqual(await placesOf(client), { [order.executionId]: 'final' })
    assert.equal(await s.statusOf(order.executionId), 'CANCELLED')
  })

  for (const statement of [lockJob, writeJob]) {
    race(`delete×trigger: the trigger waits after ${statement.name} and is refused`, async (given) => {
      const { s, client, first, second, waiting } = given
      const job = await s.createJob()
      const held = first.holdAfter(statement)
      const deleting = change(first, job, remove)
      await held.reached
      const triggering = second.jobs.trigger(triggerOf(s, job))
      await waiting()
      held.resume()
      await deleting
      assert.deepEqual(await triggering, { kind: 'deleted' })
      assert.deepEqual(await placesOf(client), {})
    })
  }

  race('trigger×edit: it runs the version that was committed before it', async (given) => {
    const { s, first, second, waiting } = given
    const job = await s.createJob()
    const order = triggerOf(s, job)
    const held = first.holdAfter(lockFreeJobs)
    const triggering = first.jobs.trigger(order)
    await held.reached
    const editing = change(second, job, edit({ name: 'renamed' }))
    await waiting()
    held.resume()
    await Promise.all([triggering, editing])
    assert.equal((await s.view(order.executionId)).version, 1)
  })
}

test('changes of a few jobs and takes of their notes, hammered: the last version is taken, always', async (t) => {
  const { s, first, second } = await createRace(t)
  const jobs = await Promise.all([s.createJob(), s.createJob(), s.createJob()])
  const taken = new Map<string, number>()
  const take = async ({ slots }: Session) => {
    for (const { jobId, version } of await slots.takeChanges(allPartitions, 100)) {
      taken.set(jobId, Math.max(version, taken.get(jobId) ?? 0))
    }
  }
  const until = performance.now() + 1_500
  while (performance.now() < until) {
    const edits = jobs.flatMap((job) => [first, second].map((session) => change(session, job, edit())))
    await Promise.all([...edits, take(first), take(second), take(first)])
    await take(second)
    for (const { jobId } of jobs) {
      assert.equal(taken.get(jobId), (await s.jobs.get(defaultTenantId, jobId))!.version)
    }
  }
})

test('change×trigger: a trigger of another job does not wait for the job that is being changed', async (t) => {
  const { s, first, second, waiting } = await createRace(t)
  const [changed, other] = [await s.createJob(), await s.createJob()]
  const held = first.holdAfter(lockJob)
  const changing = change(first, changed, pause())
  await held.reached
  const behind = second.jobs.trigger(triggerOf(s, changed))
  await waiting()
  // If it waited, it would wait for us.
  assert.equal((await second.jobs.trigger(triggerOf(s, other))).kind, 'triggered')
  held.resume()
  await Promise.all([changing, behind])
})
