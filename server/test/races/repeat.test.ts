// retry×delete, redrive×delete, retry×redrive, redrive×redrive, edit×redrive, and redrives that nobody asked for: a letter
// is used once, as it was committed before, and nothing of a deleted job runs again.
import assert from 'node:assert/strict'
import test from 'node:test'
import { LaneChooser, sharedLane } from '../../src/domain/queue/lane.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import { redriveDue } from '../../src/maintenance/redrive-due.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import {
  discardDeadLetter,
  editDeadLetter,
  takeDeadLetters,
} from '../../src/postgres/history/dead-letters.sql.ts'
import { lockJob, writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { lockJobs } from '../../src/postgres/jobs/triggers.sql.ts'
import { insertRepeats } from '../../src/postgres/queue/control.sql.ts'
import { change, remove } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, hammer, type Race, type Session } from './sessions.ts'

/** A job of which an execution died. */
async function createDead({ s }: Race, changes: Partial<NewJob> = {}) {
  const job = await s.createJob(changes)
  const executionId = await s.fire(job, 0)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.died())
  return { job, executionId }
}

/** Ways to repeat an execution; each returns whether it was repeated, and how. */
const ways: Record<
  string,
  (session: Session, executionId: string, newExecutionId: string) => Promise<string>
> = {
  async retry({ control }, executionId, newExecutionId) {
    return (await control.retry({ tenantId, executionId, newExecutionId, lane: sharedLane })).kind
  },
  async redrive({ deadLetters }, executionId, newExecutionId) {
    const letters = [{ executionId, newExecutionId, lane: sharedLane }]
    const { redriven, jobDeleted } = await deadLetters.redrive({ tenantId, letters })
    return jobDeleted.length > 0 ? 'job_deleted' : redriven.length > 0 ? 'retried' : 'no letter'
  },
}
const { retry, redrive } = ways as { retry: (typeof ways)[string]; redrive: (typeof ways)[string] }

/** The step of a process that redrives due dead letters. */
function redriveDueOf({ deadLetters }: Session, { s }: Race) {
  const clock = { monotonicMs: () => performance.now() }
  return redriveDue({ clock, ids: s.ids, lanes: new LaneChooser(), deadLetters, onReady() {} })
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const [way, repeat] of Object.entries(ways)) {
    for (const statement of [lockJobs, insertRepeats]) {
      race(
        `${way}×delete: what was repeated before the delete is cancelled with it (held after ${statement.name})`,
        async (given) => {
          const { s, first, second, waiting } = given
          const { job, executionId } = await createDead(given)
          const newId = s.ids.next()
          const held = first.holdAfter(statement)
          const repeating = repeat(first, executionId, newId)
          await held.reached
          const deleting = change(second, job, remove)
          await waiting()
          held.resume()
          assert.equal(await repeating, 'retried')
          await deleting
          assert.equal(await s.statusOf(newId), 'CANCELLED')
          assert.equal(await s.deadLetters.get(tenantId, executionId), null)
        },
      )
    }

    for (const statement of [lockJob, writeJob]) {
      race(
        `delete×${way}: it waits after ${statement.name}, is refused, and the letter stays`,
        async (given) => {
          const { s, client, first, second, waiting } = given
          const { job, executionId } = await createDead(given)
          const held = first.holdAfter(statement)
          const deleting = change(first, job, remove)
          await held.reached
          const repeating = repeat(second, executionId, s.ids.next())
          await waiting()
          held.resume()
          await deleting
          assert.equal(await repeating, 'job_deleted')
          assert.deepEqual(await placesOf(client), { [executionId]: 'final' })
          assert.notEqual(await s.deadLetters.get(tenantId, executionId), null)
        },
      )
    }

    race(`edit of a letter×${way}: it runs with what was written`, async (given) => {
      const { s, first, second, waiting } = given
      const { executionId } = await createDead(given)
      const newId = s.ids.next()
      const held = first.holdAfter(editDeadLetter)
      const editing = first.deadLetters.edit(tenantId, executionId, { edited: true })
      await held.reached
      const repeating = repeat(second, executionId, newId)
      await waiting()
      held.resume()
      assert.deepEqual(JSON.parse((await editing)!.payload!), { edited: true })
      assert.equal(await repeating, 'retried')
      assert.deepEqual((await s.view(newId)).payloadOverride, { edited: true })
    })

    race(
      `${way}×edit of its letter: the letter is gone, and nobody is told that it was edited`,
      async (given) => {
        const { s, first, second, waiting } = given
        const { executionId } = await createDead(given)
        const newId = s.ids.next()
        const held = first.holdAfter(takeDeadLetters)
        const repeating = repeat(first, executionId, newId)
        await held.reached
        const editing = second.deadLetters.edit(tenantId, executionId, { edited: true })
        await waiting()
        held.resume()
        assert.equal(await repeating, 'retried')
        assert.equal(await editing, null)
        assert.equal((await s.view(newId)).payloadOverride, undefined)
      },
    )

    race(`${way}×discard: the letter is used, and not there to discard`, async (given) => {
      const { s, first, second, waiting } = given
      const { executionId } = await createDead(given)
      const held = first.holdAfter(takeDeadLetters)
      const repeating = repeat(first, executionId, s.ids.next())
      await held.reached
      const discarding = second.deadLetters.discard(tenantId, executionId)
      await waiting()
      held.resume()
      assert.deepEqual([await repeating, await discarding], ['retried', 'not_found'])
    })

    race(
      `discard×${way}: a letter that is discarded is not redriven; its execution may still be retried`,
      async (given) => {
        const { s, first, second, waiting } = given
        const { executionId } = await createDead(given)
        const held = first.holdAfter(discardDeadLetter)
        const discarding = first.deadLetters.discard(tenantId, executionId)
        await held.reached
        const repeating = repeat(second, executionId, s.ids.next())
        await waiting()
        held.resume()
        assert.equal(await discarding, 'discarded')
        assert.equal(await repeating, way === 'retry' ? 'retried' : 'no letter')
      },
    )
  }

  // A retry repeats an ended execution, with or without a dead letter; a redrive uses the dead letter.
  for (const [one, other, outcome, executions] of [
    [retry, redrive, 'no letter', 1],
    [redrive, retry, 'retried', 2],
    [redrive, redrive, 'no letter', 1],
    [retry, retry, 'retried', 2],
  ] as const) {
    const title = `${one === retry ? 'retry' : 'redrive'}×${other === retry ? 'retry' : 'redrive'}`
    for (const statement of [lockJobs, takeDeadLetters, insertRepeats]) {
      race(`${title} of one letter (held after ${statement.name}): it is used once`, async (given) => {
        const { s, client, first, second, waiting } = given
        const { executionId } = await createDead(given)
        await s.deadLetters.edit(tenantId, executionId, 'edited')
        const [oneId, otherId] = [s.ids.next(), s.ids.next()]
        const held = first.holdAfter(statement)
        const repeating = one(first, executionId, oneId)
        await held.reached
        const late = other(second, executionId, otherId)
        await waiting()
        held.resume()
        assert.deepEqual([await repeating, await late], ['retried', outcome])
        assert.equal(Object.keys(await placesOf(client)).length, 1 + executions)
        assert.equal((await s.view(oneId)).payloadOverride, 'edited')
        if (executions === 2) assert.equal((await s.view(otherId)).payloadOverride, undefined)
        assert.equal(await s.deadLetters.get(tenantId, executionId), null)
      })
    }
  }

  const autoRedrive = {
    max_retries: 0,
    backoff: 'FIXED',
    initial_delay_ms: 1_000,
    max_delay_ms: 1_000,
  } as const
  const auto = { retryPolicy: { ...autoRedrive, auto_redrive_after_seconds: 60 } }
  const makeDue = ({ client }: Race) =>
    client.query(`UPDATE dead_letters SET redrive_at = redrive_at - interval '1 hour'`)

  race('auto redrive×redrive by hand: one of them, whoever comes first', async (given) => {
    const { s, client, first, second, waiting } = given
    for (const [one, other] of [
      [() => redriveDueOf(first, given), (id: string) => redrive(second, id, s.ids.next())],
      [(id: string) => redrive(first, id, s.ids.next()), () => redriveDueOf(second, given)],
      [() => redriveDueOf(first, given), () => redriveDueOf(second, given)],
    ] as const) {
      const { executionId } = await createDead(given, auto)
      await makeDue(given)
      const held = first.holdAfter(takeDeadLetters)
      const redriving = one(executionId)
      await held.reached
      const late = other(executionId)
      await waiting()
      held.resume()
      await Promise.all([redriving, late])
      const { rows } = await client.query('SELECT count(*)::int AS n FROM live WHERE retry_of = $1', [
        executionId,
      ])
      assert.equal(rows[0].n, 1)
    }
  })

  race(
    'auto redrive×delete: letters of a deleted job stay and are not looked at again and again',
    async (given) => {
      const { s, client, first, second, waiting } = given
      const { job, executionId } = await createDead(given, auto)
      await makeDue(given)
      const held = first.holdAfter(writeJob)
      const deleting = change(first, job, remove)
      await held.reached
      const redriving = redriveDueOf(second, given)
      await waiting()
      held.resume()
      await Promise.all([deleting, redriving])
      assert.deepEqual(await placesOf(client), { [executionId]: 'final' })
      assert.deepEqual(await s.deadLetters.findDue(10), [])
    },
  )

  race(
    'redrive×finish×delete: a letter that comes while a redrive looks is not redriven behind the lock of its job',
    async (given) => {
      const { s, first } = given
      const job = await s.createJob()
      const executionId = await s.fire(job, 0)
      const workerId = await s.addWorker()
      const batch = await s.claimBatch(workerId)
      const held = first.holdAfter(lockJobs)
      const redriving = redrive(first, executionId, s.ids.next())
      await held.reached
      await s.finishBatch(workerId, batch, s.died())
      await change(s, job, remove)
      held.resume()
      assert.notEqual(await redriving, 'retried')
    },
  )
}

test('the same few executions can be retried, redriven, edited, discarded and deleted by many people at once', async (t) => {
  const given = await createRace(t)
  const { s, client, first, second } = given
  const dead: { job: NewJob; executionId: string }[] = []
  for (let i = 0; i < 20; i++)
    dead.push(await createDead(given, i % 2 === 0 ? { overlapPolicy: 'ALLOW' } : {}))
  const pick = () => dead[Math.floor(Math.random() * dead.length)]!
  const some = () => dead.filter(() => Math.random() < 0.4).toSorted(() => Math.random() - 0.5)
  const moves: ((session: Session) => Promise<unknown>)[] = [
    (session) => retry(session, pick().executionId, s.ids.next()),
    ({ deadLetters }) =>
      deadLetters.redrive({
        tenantId,
        letters: some().map(({ executionId }) => ({
          executionId,
          newExecutionId: s.ids.next(),
          lane: sharedLane,
        })),
      }),
    ({ deadLetters }) => deadLetters.edit(tenantId, pick().executionId, Math.random()),
    ({ deadLetters }) => deadLetters.discard(tenantId, pick().executionId),
    async (session) => (Math.random() < 0.02 ? change(session, pick().job, remove) : null),
  ]
  const errors = await hammer(
    1_000,
    [first, second].flatMap((session) => moves.map((move) => () => move(session))),
  )
  assert.deepEqual(errors, [])
  await assertWhole(client)
})

test('a redrive of nothing, or of a dead letter that does not exist, does nothing', async (t) => {
  const { s, first } = await createRace(t)
  assert.deepEqual(await first.deadLetters.redrive({ tenantId, letters: [] }), {
    redriven: [],
    jobDeleted: [],
  })
  assert.equal(await redrive(first, s.ids.next(), s.ids.next()), 'no letter')
})
