// fire×fire with max_runs, fire×put of a calendar, and jobs that count from the end of their last execution: fire×release,
// finish×release, change×release. No slot runs that must not, and no job is forgotten.
import assert from 'node:assert/strict'
import test from 'node:test'
import { bufferMax, partitionsCount } from '../../src/domain/jobs/job.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { SlotToFire } from '../../src/ports/slots.ts'
import { noteCalendar, upsertCalendar } from '../../src/postgres/jobs/calendars.sql.ts'
import { writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { releaseWaiting } from '../../src/postgres/queue/maintenance.sql.ts'
import { finishBatches } from '../../src/postgres/queue/queue.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { lockCursors } from '../../src/postgres/scheduling/slots.sql.ts'
import { change, edit, editSchedule, pause, remove, resume } from '../conformance/jobs/changes.ts'
import { allHeld, type Scenario } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, fateRunsOf, placesOf } from './invariants.ts'
import { createRace, type Race, releaseAll, type Session } from './sessions.ts'

const allPartitions = Array.from({ length: partitionsCount }, (_, id) => id)

async function answerOf({ slots }: Pick<Session, 'slots'>, item: SlotToFire): Promise<string> {
  const [answer] = await slots.fire([item])
  return answer?.answer ?? 'fired'
}

async function cursorOf({ client }: Race, { jobId }: NewJob) {
  const { rows } = await client.query(
    'SELECT status, runs, to_ms(slot_at)::float8 AS slot FROM cursors WHERE job_id = $1',
    [jobId],
  )
  return rows[0] as { status: string; runs: number; slot: number | null }
}

const everySecond = { type: 'CRON', cron_expression: '* * * * * *' } as const

/** A slot of a schedule with `max_runs`, of which so many run by this fire. */
function countedSlot(s: Scenario, job: NewJob, second: number, changes: Partial<SlotToFire> = {}) {
  const move = { slotAt: s.at(second + 1), dueAt: s.at(second + 1), decidedTo: s.at(second) }
  return s.slotOf(job, second, { runs: { max: 3, count: 1 }, move, ...changes })
}

const interval = { type: 'INTERVAL', every_seconds: 10, after_completion: true } as const

/** A slot after which the job awaits the end of its execution. */
function awaitingSlot(s: Scenario, job: NewJob, second: number, changes: Partial<SlotToFire> = {}) {
  const move = { slotAt: null, dueAt: null, decidedTo: s.at(second), awaits: true }
  return s.slotOf(job, second, { move, ...changes })
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const overlapPolicy of ['ALLOW', 'BUFFER_ALL'] as const) {
    race(
      `fire×fire with max_runs (${overlapPolicy}): two schedulers that each know of none run exactly so many`,
      async (given) => {
        const { s, client, first, second } = given
        const job = await s.createJob({ overlapPolicy, schedule: { ...everySecond, max_runs: 3 } })
        const held = first.holdAfter(fireSlots)
        const firing = answerOf(first, countedSlot(s, job, 0))
        await held.reached
        assert.equal(await answerOf(second, countedSlot(s, job, 0)), 'busy')
        held.resume()
        assert.equal(await firing, 'fired')
        assert.equal(await answerOf(second, countedSlot(s, job, 0)), 'already_recorded')
        for (const second_ of [1, 2, 3, 4, 5]) {
          const answers = await Promise.all(
            [first, second].map((session) => answerOf(session, countedSlot(s, job, second_))),
          )
          if (second_ > 2)
            assert.deepEqual(new Set(answers).isSubsetOf(new Set(['stale', 'busy'])), true, answers.join())
        }
        const { rowCount } = await client.query('SELECT FROM slots WHERE job_id = $1 AND reason IS NULL', [
          job.jobId,
        ])
        const { status, runs, slot } = await cursorOf(given, job)
        assert.deepEqual([rowCount, status, runs, slot], [3, 'COMPLETED', 3, null])
      },
    )
  }

  race('fire×fire with max_runs: a plan that owes more than is left is refused and noted', async (given) => {
    const { s, client, first, second } = given
    const job = await s.createJob({ schedule: { ...everySecond, max_runs: 3 } })
    const late = countedSlot(s, job, 1, {
      ...{ late: true, owedTo: s.at(3), runs: { max: 3, count: 3 } },
      move: { slotAt: null, dueAt: null, decidedTo: s.at(3) },
    })
    const held = first.holdAfter(lockCursors)
    const firing = answerOf(first, countedSlot(s, job, 0))
    await held.reached
    assert.equal(await answerOf(second, late), 'busy')
    held.resume()
    assert.equal(await firing, 'fired')
    await client.query('DELETE FROM changes')
    assert.equal(await answerOf(second, late), 'stale')
    assert.equal((await client.query('SELECT FROM changes')).rowCount, 1, 'it is planned anew')
    assert.deepEqual((await cursorOf(given, job)).runs, 1)
    assert.deepEqual(await fateRunsOf(client, job, s, { to: 3 }), ['0 ran', '1-3 nothing'])
  })

  for (const what of ['a pause', 'a delete'] as const) {
    race(`late plan with max_runs×${what}: what was owed and counted is given back`, async (given) => {
      const { s, first, second, waiting } = given
      const job = await s.createJob({ schedule: { ...everySecond, max_runs: 5 } })
      const late = countedSlot(s, job, 0, {
        ...{ late: true, owedTo: s.at(3), runs: { max: 5, count: 4 } },
        move: { slotAt: s.at(4), dueAt: s.at(4), decidedTo: s.at(3) },
      })
      const held = first.holdAfter(fireSlots)
      const firing = answerOf(first, late)
      await held.reached
      const changing = change(second, job, what === 'a pause' ? pause() : remove)
      await waiting()
      held.resume()
      assert.equal(await firing, 'fired')
      assert.equal((await changing).runs, 1)
      assert.equal((await cursorOf(given, job)).runs, 1)
    })
  }

  const holidays: NewJob['schedule'] = {
    type: 'CRON',
    cron_expression: '* * * * * *',
    exclusions: [{ calendar: 'holidays' }],
  }
  const put = ({ calendars }: Session, s: Scenario) => {
    const day = new Date(s.at(0)).toISOString().slice(0, 10)
    return calendars.put({
      tenantId,
      name: 'holidays',
      description: null,
      entries: [{ date: day }],
      by: 'tester',
    })
  }

  for (const revision of [0, 1]) {
    const named = { names: ['holidays'], revision }
    race(
      `put of a calendar×fire: what was planned with revision ${revision} is refused and noted, and does not run`,
      async (given) => {
        const { s, client, first, second } = given
        if (revision === 1) {
          await s.calendars.put({ tenantId, name: 'holidays', description: null, entries: [], by: 'tester' })
        }
        const job = await s.createJob({ schedule: holidays })
        await client.query('DELETE FROM changes')
        const held = first.holdAfter(lockCursors)
        const firing = answerOf(first, s.slotOf(job, 0, { calendars: named }))
        await held.reached
        // Committed while the fire has the job locked and has not decided.
        await put(second, s)
        held.resume()
        assert.equal(await firing, 'stale')
        assert.deepEqual(await placesOf(client), {})
        const [cursor] = await second.slots.takeChanges(allPartitions, 10)
        assert.deepEqual([cursor?.jobId, cursor?.calendars?.revision], [job.jobId, revision + 1])
        const again = { names: ['holidays'], revision: revision + 1 }
        assert.equal(
          await answerOf(second, s.slotOf(job, 0, { calendars: again, skip: 'exclusion' })),
          'exclusion',
        )
        assert.deepEqual(await fateRunsOf(client, job, s, { to: 1 }), ['0 skipped', '1 nothing'])
      },
    )
  }

  race(
    'fire×put of a calendar: a put that is not committed is none, and the job is noted for the next slot',
    async (given) => {
      const { s, client, first, second } = given
      const job = await s.createJob({ schedule: holidays })
      await client.query('DELETE FROM changes')
      const planned = { calendars: { names: ['holidays'], revision: 0 } }
      for (const [statement, second_] of [
        [upsertCalendar, 0],
        [noteCalendar, 1],
      ] as const) {
        const held = first.holdAfter(statement)
        const putting = put(first, s)
        await held.reached
        const revision = second_
        const now = { calendars: { names: ['holidays'], revision } }
        assert.equal(await answerOf(second, s.slotOf(job, second_, now)), 'fired')
        assert.equal((await second.slots.takeChanges(allPartitions, 10)).length, 0)
        held.resume()
        await putting
        assert.equal(await answerOf(second, s.slotOf(job, 5, planned)), 'stale')
        assert.equal((await second.slots.takeChanges(allPartitions, 10)).length, 1)
        await s.runAll()
      }
    },
  )

  race(
    'after_completion: fire×release: nothing is planned while it is fired, nor while it runs, then once',
    async (given) => {
      const { s, first, second } = given
      const job = await s.createJob({ schedule: interval })
      const { jobId } = job
      const held = first.holdAfter(fireSlots)
      const firing = answerOf(first, awaitingSlot(s, job, 0))
      await held.reached
      assert.equal((await releaseAll(second, [jobId])).planned, false)
      held.resume()
      assert.equal(await firing, 'fired')
      assert.equal((await releaseAll(second, [jobId])).planned, false)
      assert.deepEqual(await second.maintenance.findWaiting(null, 10), [jobId])
      await s.runAll()
      const [one, other] = await Promise.all([releaseAll(first, [jobId]), releaseAll(second, [jobId])])
      assert.equal([one, other].filter(({ planned }) => planned).length, 1)
      const { status, slot } = await cursorOf(given, job)
      // Its execution ended at second 301, according to its worker.
      assert.deepEqual([status, slot], ['ACTIVE', s.at(311)])
      assert.deepEqual(await second.maintenance.findWaiting(null, 10), [])
    },
  )

  for (const [how, ends] of [
    ['ends', true],
    ['goes on', false],
    ['is to be retried', false],
  ] as const) {
    race(
      `after_completion: finish×release: nothing is planned before it is committed that it ${how}`,
      async (given) => {
        const { s, first, second } = given
        const job = await s.createJob({ schedule: interval })
        assert.equal(await answerOf(s, awaitingSlot(s, job, 0)), 'fired')
        const workerId = await s.addWorker()
        const { batchId, fence } = await s.claimBatch(workerId)
        const ending = ends ? s.succeeded() : how === 'goes on' ? s.running() : s.failedForNow()
        const held = first.holdAfter(finishBatches)
        const report = [{ batchId, fence, endings: [{ position: 0, ending }] }]
        const finishing = first.queue.finishBatches(workerId, report)
        await held.reached
        assert.equal((await releaseAll(second, [job.jobId])).planned, false)
        held.resume()
        assert.deepEqual(await finishing, allHeld)
        assert.equal((await releaseAll(second, [job.jobId])).planned, ends)
      },
    )
  }

  race(
    'after_completion: release×fire: the slot that was planned fires once, and is awaited again',
    async (given) => {
      const { s, first, second } = given
      const job = await s.createJob({ schedule: interval })
      await answerOf(s, awaitingSlot(s, job, 0))
      await s.runAll()
      const held = first.holdAfter(releaseWaiting)
      const releasing = releaseAll(first, [job.jobId])
      await held.reached
      assert.equal(await answerOf(second, awaitingSlot(s, job, 0)), 'busy')
      held.resume()
      assert.equal((await releasing).planned, true)
      // A copy of before the plan: its slot is decided.
      assert.equal(await answerOf(second, awaitingSlot(s, job, 0)), 'already_recorded')
      const answers = await Promise.all(
        [first, second].map((one) => answerOf(one, awaitingSlot(s, job, 311))),
      )
      assert.equal(answers.filter((answer) => answer === 'fired').length, 1)
      assert.equal((await cursorOf(given, job)).slot, null)
    },
  )

  for (const statement of [lockCursors, releaseWaiting]) {
    race(
      `after_completion: release×edit of the schedule (held after ${statement.name}): the edit plans last`,
      async (given) => {
        const { s, first, second, waiting } = given
        const job = await s.createJob({ schedule: interval })
        await answerOf(s, awaitingSlot(s, job, 0))
        await s.runAll()
        const held = first.holdAfter(statement)
        const releasing = releaseAll(first, [job.jobId])
        await held.reached
        const editing = change(second, job, editSchedule())
        await waiting()
        held.resume()
        assert.equal((await releasing).planned, true)
        const { slotAt } = await editing
        assert.equal((await cursorOf(given, job)).slot, slotAt)
        assert(slotAt! > (await s.now()) - 1_000)
        assert.equal((await releaseAll(second, [job.jobId])).planned, false)
      },
    )
  }

  race(
    'after_completion: edit×release: what the edit left alone is planned after it, as the new version has it',
    async (given) => {
      const { s, first, second } = given
      const job = await s.createJob({ schedule: interval })
      await answerOf(s, awaitingSlot(s, job, 0))
      await s.runAll()
      const held = first.holdAfter(writeJob)
      const editing = change(first, job, edit({ name: 'renamed' }))
      await held.reached
      assert.equal((await releaseAll(second, [job.jobId])).planned, false)
      held.resume()
      assert.equal((await editing).version, 2)
      assert.equal((await releaseAll(second, [job.jobId])).planned, true)
      assert.equal((await cursorOf(given, job)).slot, s.at(311))
    },
  )

  race(
    'after_completion: pause×release: a paused job is not planned, and goes on when it is resumed',
    async (given) => {
      const { s, first, second } = given
      const job = await s.createJob({ schedule: interval })
      await answerOf(s, awaitingSlot(s, job, 0))
      await s.runAll()
      const held = first.holdAfter(writeJob)
      const pausing = change(first, job, pause())
      await held.reached
      assert.equal((await releaseAll(second, [job.jobId])).planned, false)
      held.resume()
      await pausing
      assert.equal((await releaseAll(second, [job.jobId])).planned, false)
      assert.equal((await change(first, job, resume())).status, 'ACTIVE')
      assert.equal((await releaseAll(second, [job.jobId])).planned, true)
      assert((await cursorOf(given, job)).slot! > s.at(311))
    },
  )
}

test('slots that find no room, several in one fire: each is in the ledger as skipped', async (t) => {
  const given = await createRace(t)
  const { s, client } = given
  const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 1 })
  await fillBuffer(given, job, bufferMax)
  const at = (second: number) => s.slotOf(job, second, { previousSlot: s.at(second - 1) })
  assert.equal(await answerOf(s, at(1)), 'overlap')
  const answers = await s.slots.fire([at(2), at(3), at(4)])
  assert.deepEqual(
    answers.map(({ answer }) => answer),
    ['overlap', 'overlap', 'overlap'],
  )
  assert.deepEqual(await fateRunsOf(client, job, s, { from: 1, to: 5 }), ['1-4 skipped', '5 nothing'])
  await assertWhole(client)
})

test('several slots in one fire take no more than the room that is left', async (t) => {
  const given = await createRace(t)
  const { s, client } = given
  const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 1 })
  await fillBuffer(given, job, bufferMax - 1)
  const answers = await s.slots.fire([1, 2, 3].map((second) => s.slotOf(job, second)))
  assert.deepEqual(answers.map(({ answer }) => answer).toSorted(), ['buffered', 'overlap', 'overlap'])
  await assertWhole(client)
})

/** So many slots of the job wait, of long ago. */
async function fillBuffer({ client }: Race, { jobId }: NewJob, count: number): Promise<void> {
  await client.query(
    `WITH made AS (
      INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank)
      SELECT batch_of(gen_random_uuid()), $1, 1, $2, 'slot', 'waiting', 'server', 'shared', 5,
        date_trunc('second', now()) - interval '20 minutes' - n * interval '1 second', now(), now()
      FROM generate_series(1, $3::int) AS n RETURNING job_id, slot, execution_id
    ) INSERT INTO slots (job_id, slot, execution_id) SELECT job_id, slot, execution_id FROM made`,
    [jobId, tenantId, count],
  )
}
