// claim×cancel, wake×cancel, release×cancel, cancel×cancel, and the same with a delete of the job: an execution that
// does not run ends at once, a running one is flagged or left alone, and its end is recorded once.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { Sql } from '../../src/lib/sql.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Claimed } from '../../src/ports/queue.ts'
import {
  cancelBatchedById,
  cancelBatchedOfJobs,
  cancelLiveById,
  cancelLiveOfDeleted,
} from '../../src/postgres/queue/cancel.sql.ts'
import { releaseWaiting, wakeRetries } from '../../src/postgres/queue/maintenance.sql.ts'
import { claimWork } from '../../src/postgres/queue/queue.sql.ts'
import { change, remove } from '../conformance/jobs/changes.ts'
import { allHeld } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, openSession, type Race, releaseAll, type Session } from './sessions.ts'

const cancel = async ({ control }: Pick<Session, 'control'>, executionId: string): Promise<string> =>
  (await control.cancel({ tenantId, executionId, message: 'not wanted' })).kind

const claim = ({ queue }: Pick<Session, 'queue'>, workerId: string, count = 10): Promise<Claimed> =>
  queue.claim({
    ...{ workerId, routes: [serverRoute], hosts: [], batchesMax: 20 },
    lanes: [{ lane: sharedLane, count }],
  })

/** How many executions of the job become claimable. */
const releaseOf = async (session: Session, { jobId }: NewJob) => (await releaseAll(session, [jobId])).ready

function idsOf({ batches, live }: Claimed): string[] {
  const inBatches = batches.flatMap(({ batchId, positions }) =>
    positions.map((at) => executionIdAt(batchId, at)),
  )
  return [...inBatches, ...live.map(({ executionId }) => executionId)].toSorted()
}

/** Three jobs with one execution each in one batch. */
async function createBatch({ s }: Race) {
  const jobs = [await s.createJob(), await s.createJob(), await s.createJob()] as const
  const { executionIds } = await s.fireBatch(jobs, 0)
  return { jobs, ids: executionIds as [string, string, string] }
}

/** A job with an execution that is between two attempts, and due. */
async function createRetrying({ s }: Race) {
  const job = await s.createJob()
  const executionId = await s.fire(job, 0)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
  return { job, executionId }
}

/** A way to end the executions of a job. */
interface Way {
  end(session: Session, job: NewJob, executionId: string): Promise<string>
  /** Its answers about an execution that does not run, and about a running one. */
  answers: { ended: string; running: string }
  /** Whether it also stops running executions. */
  stops: boolean
  batched: Sql
  live: Sql
  /** The function it calls with its snapshot taken and no batch locked yet. */
  look: Look
}

/** A function that a statement calls, and its return value. */
interface Look {
  statement: Sql
  signature: string
  answer: string
}

const lookOfClaim: Look = {
  statement: claimWork,
  signature: 'cardinality(place smallint[]) RETURNS integer',
  answer: 'array_length(place, 1)',
}
const lookOfDelete: Look = {
  statement: cancelBatchedOfJobs,
  signature: 'num_nulls(place uuid) RETURNS integer',
  answer: '(place IS NULL)::int',
}
const lookOfCancel: Look = {
  statement: cancelBatchedById,
  signature: 'batch_of(execution uuid) RETURNS uuid',
  answer: "(left(execution::text, 34) || '00')::uuid",
}

const ways: Record<string, Way> = {
  cancel: {
    end: (session, _job, executionId) => cancel(session, executionId),
    answers: { ended: 'cancelled', running: 'cancelling' },
    stops: true,
    ...{ batched: cancelBatchedById, live: cancelLiveById, look: lookOfCancel },
  },
  delete: {
    end: async (session, job) => (await change(session, job, remove)).status,
    answers: { ended: 'DELETED', running: 'DELETED' },
    stops: false,
    ...{ batched: cancelBatchedOfJobs, live: cancelLiveOfDeleted, look: lookOfDelete },
  },
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race, t: TestContext) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given, t)
      await assertWhole(given.client)
    })

  for (const [way, { end, answers, stops, batched, live, look }] of Object.entries(ways)) {
    const running = stops ? 'CANCELLING' : 'RUNNING'

    for (const [what, count, goes] of [
      ['a whole batch', 10, false],
      ['its part of a batch', 2, false],
      ['another part of its batch', 1, true],
    ] as const) {
      race(
        `claim×${way}: while a worker claims ${what}, it waits, and then ${goes ? 'ends it' : stops ? 'flags it' : 'leaves it alone'}`,
        async (given) => {
          const { s, first, second, waiting } = given
          const { jobs, ids } = await createBatch(given)
          const workerId = await s.addWorker()
          const held = first.holdAfter(claimWork)
          const claiming = claim(first, workerId, count)
          await held.reached
          const ending = end(second, jobs[1], ids[1])
          await waiting()
          held.resume()
          assert.deepEqual(idsOf(await claiming), ids.slice(0, count))
          assert.equal(await ending, goes ? answers.ended : answers.running)
          assert.equal(await s.statusOf(ids[1]), goes ? 'CANCELLED' : running)
          const rest = await claim(second, await s.addWorker())
          assert.deepEqual(idsOf(rest), goes ? [ids[2]] : ids.slice(count))
        },
      )
    }

    race(
      `${way}×claim: a claim passes over its batch meanwhile, and then takes the others`,
      async (given) => {
        const { s, first, second } = given
        const { jobs, ids } = await createBatch(given)
        const workerId = await s.addWorker()
        const held = first.holdAfter(batched)
        const ending = end(first, jobs[1], ids[1])
        await held.reached
        assert.deepEqual(idsOf(await claim(second, workerId)), [])
        held.resume()
        await ending
        assert.equal(await s.statusOf(ids[1]), 'CANCELLED')
        assert.deepEqual(idsOf(await claim(second, workerId)), [ids[0], ids[2]])
      },
    )

    for (const count of [1, 10]) {
      race(
        `${way}×claim: of a batch that a claim of ${count} has in sight, only what is left is claimed`,
        async (given, t) => {
          const { s, second } = given
          const { jobs, ids } = await createBatch(given)
          const workerId = await s.addWorker()
          const held = await holdLook(t, given, lookOfClaim)
          const claiming = claim(held.session, workerId, count)
          await held.reached()
          await end(second, jobs[0], ids[0])
          await held.resume()
          assert.deepEqual(idsOf(await claiming), [ids[1], ids[2]].slice(0, count))
          assert.equal(await s.statusOf(ids[0]), 'CANCELLED')
        },
      )

      race(
        `claim×${way}: of a batch that it has in sight and a claim of ${count} takes from, only what waits is cancelled`,
        async (given, t) => {
          const { s, second } = given
          const { jobs, ids } = await createBatch(given)
          const held = await holdLook(t, given, look)
          const ending = end(held.session, jobs[1], ids[1])
          await held.reached()
          assert.deepEqual(idsOf(await claim(second, await s.addWorker(), count)), ids.slice(0, count))
          await held.resume()
          await ending
          assert.equal(await s.statusOf(ids[1]), count === 1 ? 'CANCELLED' : running)
          const rest = await claim(second, await s.addWorker())
          assert.deepEqual(idsOf(rest), count === 1 ? [ids[2]] : [])
        },
      )
    }

    race(`claim×${way}: a triggered one that is being claimed runs`, async (given) => {
      const { s, first, second, waiting } = given
      const job = await s.createJob()
      const executionId = await s.trigger(job)
      const workerId = await s.addWorker()
      const held = first.holdAfter(claimWork)
      const claiming = claim(first, workerId)
      await held.reached
      const ending = end(second, job, executionId)
      await waiting()
      held.resume()
      assert.deepEqual(idsOf(await claiming), [executionId])
      assert.equal(await ending, answers.running)
      assert.equal(await s.statusOf(executionId), running)
      const report = (await claiming).live.map((one) => ({ ...one, ending: s.succeeded() }))
      const cancelled = stops ? [executionId] : []
      assert.deepEqual(await first.queue.finishLive(workerId, report), { ...allHeld, cancelled })
      assert.equal(await cancel(second, executionId), stops ? 'cancelled' : 'finished')
    })

    race(`${way}×claim: a triggered one that is being cancelled is not claimed`, async (given) => {
      const { s, first, second } = given
      const job = await s.createJob()
      const executionId = await s.trigger(job)
      const workerId = await s.addWorker()
      const held = first.holdAfter(live)
      const ending = end(first, job, executionId)
      await held.reached
      assert.deepEqual(idsOf(await claim(second, workerId)), [])
      held.resume()
      await ending
      assert.deepEqual(idsOf(await claim(second, workerId)), [])
      assert.equal(await s.statusOf(executionId), 'CANCELLED')
    })

    race(`wake×${way}: a retry that becomes ready is cancelled all the same`, async (given) => {
      const { s, client, first, second, waiting } = given
      const { job, executionId } = await createRetrying(given)
      const held = first.holdAfter(wakeRetries)
      const waking = first.maintenance.wake(10)
      await held.reached
      const ending = end(second, job, executionId)
      await waiting()
      held.resume()
      assert.equal(await waking, 1)
      await ending
      assert.equal(await s.statusOf(executionId), 'CANCELLED')
      assert.deepEqual(await placesOf(client), { [executionId]: 'final' })
    })

    race(`${way}×wake: a retry that is being cancelled is not woken`, async (given) => {
      const { s, first, second } = given
      const { job, executionId } = await createRetrying(given)
      const held = first.holdAfter(live)
      const ending = end(first, job, executionId)
      await held.reached
      assert.equal(await second.maintenance.wake(10), 0)
      held.resume()
      await ending
      assert.equal(await second.maintenance.wake(10), 0)
      assert.equal(await s.statusOf(executionId), 'CANCELLED')
    })

    for (const [other, { end: endToo, answers: answersToo }] of Object.entries(ways)) {
      for (const triggered of [false, true]) {
        race(
          `${way}×${other} of one that ${triggered ? 'was triggered' : 'waits in its batch'}: it ends once`,
          async (given) => {
            const { s, client, first, second, waiting } = given
            const job = await s.createJob()
            const executionId = triggered ? await s.trigger(job) : await s.fire(job, 0)
            const held = first.holdAfter(triggered ? live : batched)
            const ending = end(first, job, executionId)
            await held.reached
            const late = endToo(second, job, executionId)
            await waiting()
            held.resume()
            assert.equal(await ending, answers.ended)
            assert.equal(await late, answersToo.ended)
            assert.deepEqual(await placesOf(client), { [executionId]: 'final' })
            assert.equal(await s.statusOf(executionId), 'CANCELLED')
          },
        )
      }
    }
  }

  race(
    'release×cancel: one that is being let go is cancelled all the same, and the next goes',
    async (given) => {
      const { s, client, first, second, waiting } = given
      const job = await s.createJob()
      await s.fire(job, 0)
      const [one, other] = [await s.trigger(job), await s.trigger(job)]
      await s.runAll()
      const held = first.holdAfter(releaseWaiting)
      const releasing = releaseOf(first, job)
      await held.reached
      const cancelling = cancel(second, one)
      await waiting()
      held.resume()
      assert.equal(await releasing, 1)
      assert.equal(await cancelling, 'cancelled')
      assert.equal(await releaseOf(second, job), 1)
      assert.equal((await placesOf(client))[other], 'live')
    },
  )

  race('cancel×release: one that is being cancelled is not let go, and the next goes', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    await s.fire(job, 0)
    const [one, other] = [await s.trigger(job), await s.trigger(job)]
    await s.runAll()
    const held = first.holdAfter(cancelLiveById)
    const cancelling = cancel(first, one)
    await held.reached
    const releasing = releaseOf(second, job)
    await waiting()
    held.resume()
    assert.equal(await cancelling, 'cancelled')
    assert.equal(await releasing, 0)
    assert.equal(await releaseOf(second, job), 1)
    const places = await placesOf(client)
    assert.deepEqual([places[one], places[other]], ['final', 'live'])
  })
}

/**
 * A session with a statement held after it took its snapshot and saw a batch, but before it locked the batch: it calls
 * a function that in this database waits for an advisory lock.
 */
async function holdLook(t: TestContext, race: Race, { statement, signature, answer }: Look) {
  const { address, client, waiting } = race
  await client.query(`
    CREATE OR REPLACE FUNCTION public.${signature} LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('application_name') = 'carillon held' AND strpos(current_query(), '${statement.name}') > 0 THEN
        PERFORM pg_advisory_xact_lock(77);
      END IF;
      RETURN ${answer};
    END $$;
    ALTER DATABASE ${address.database} SET search_path = public, pg_catalog`)
  await client.query('SELECT pg_advisory_lock(77)')
  return {
    session: openSession(t, address, 'held'),
    reached: () => waiting(),
    resume: () => client.query('SELECT pg_advisory_unlock(77)'),
  }
}

test('an execution cancelled between two attempts is CANCELLED, wherever its records lie in the table', async (t) => {
  const race = await createRace(t)
  const { client, s } = race
  const { executionId } = await createRetrying(race)
  assert.equal(await cancel(s, executionId), 'cancelled')
  // Two sessions write to pages of their own: the later record may lie before the earlier one.
  await client.query(`
    WITH moved AS (DELETE FROM attempts WHERE NOT final RETURNING *) INSERT INTO attempts SELECT * FROM moved`)
  assert.equal(await s.statusOf(executionId), 'CANCELLED')
  assert.equal(await cancel(s, executionId), 'cancelled')
})
