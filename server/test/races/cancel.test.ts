// claim×cancel, finish×cancel, reclaim×cancel, wake×cancel, release×cancel, cancel×cancel, and the same with a delete of
// the job: an execution is cancelled or it runs, never both, and its end is recorded once.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { executionIdAt } from '../../src/domain/execution.ts'
import { sharedLane } from '../../src/domain/lane.ts'
import { serverRoute } from '../../src/domain/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Claimed, Ending } from '../../src/ports/queue.ts'
import { cancelBatched, cancelLive } from '../../src/store/cancel-pending.sql.ts'
import { claimWork, finishBatches, finishLive } from '../../src/store/queue.sql.ts'
import { reclaimLive, releaseWaiting, wakeRetries } from '../../src/store/upkeep.sql.ts'
import { change, remove } from '../conformance/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, openSession, type Race, type Session } from './sessions.ts'

const cancel = async ({ control }: Pick<Session, 'control'>, executionId: string): Promise<string> =>
  (await control.cancel({ tenantId, executionId, message: 'not wanted' })).kind

const claim = ({ queue }: Pick<Session, 'queue'>, workerId: string, count = 10): Promise<Claimed> =>
  queue.claim({
    ...{ workerId, route: serverRoute, hosts: [], batchesMax: 20 },
    lanes: [{ lane: sharedLane, count }],
  })

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

/** A job whose execution is between two attempts, and due. */
async function createRetrying({ s }: Race) {
  const job = await s.createJob()
  const executionId = await s.fire(job, 0)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
  return { job, executionId }
}

/** The ways to end what waits of a job. */
const ways: Record<string, (session: Session, job: NewJob, executionId: string) => Promise<string>> = {
  cancel: (session, _job, executionId) => cancel(session, executionId),
  delete: async (session, job) => (await change(session, job, remove)).status,
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race, t: TestContext) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given, t)
      await assertWhole(given.client)
    })

  for (const [way, end] of Object.entries(ways)) {
    for (const [what, count, goes] of [
      ['a whole batch', 10, false],
      ['its part of a batch', 2, false],
      ['another part of its batch', 1, true],
    ] as const) {
      race(
        `claim×${way}: while a worker claims ${what}, it waits, and then ${goes ? 'cancels' : 'leaves it alone'}`,
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
          const expected = way === 'delete' ? 'DELETED' : goes ? 'cancelled' : 'running'
          assert.equal(await ending, expected)
          assert.equal(await s.statusOf(ids[1]), goes ? 'CANCELLED' : 'RUNNING')
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
        const held = first.holdAfter(cancelBatched)
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
          const held = await holdLook(t, given, 'cardinality(place smallint[])', 'array_length(place, 1)')
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
          const held = await holdLook(t, given, 'num_nulls(place uuid)', '(place IS NULL)::int')
          const ending = end(held.session, jobs[1], ids[1])
          await held.reached()
          assert.deepEqual(idsOf(await claim(second, await s.addWorker(), count)), ids.slice(0, count))
          await held.resume()
          await ending
          assert.equal(await s.statusOf(ids[1]), count === 1 ? 'CANCELLED' : 'RUNNING')
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
      assert.equal(await ending, way === 'delete' ? 'DELETED' : 'running')
      await s.finishLive(workerId, (await claiming).live[0]!, s.succeeded())
      assert.equal(await cancel(second, executionId), 'finished')
    })

    race(`${way}×claim: a triggered one that is being cancelled is not claimed`, async (given) => {
      const { s, first, second } = given
      const job = await s.createJob()
      const executionId = await s.trigger(job)
      const workerId = await s.addWorker()
      const held = first.holdAfter(cancelLive)
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
      const waking = first.upkeep.wake(10)
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
      const held = first.holdAfter(cancelLive)
      const ending = end(first, job, executionId)
      await held.reached
      assert.equal(await second.upkeep.wake(10), 0)
      held.resume()
      await ending
      assert.equal(await second.upkeep.wake(10), 0)
      assert.equal(await s.statusOf(executionId), 'CANCELLED')
    })

    for (const [other, endToo] of Object.entries(ways)) {
      for (const triggered of [false, true]) {
        race(
          `${way}×${other} of one that ${triggered ? 'was triggered' : 'waits in its batch'}: it ends once`,
          async (given) => {
            const { s, client, first, second, waiting } = given
            const job = await s.createJob()
            const executionId = triggered ? await s.trigger(job) : await s.fire(job, 0)
            const held = first.holdAfter(triggered ? cancelLive : cancelBatched)
            const ending = end(first, job, executionId)
            await held.reached
            const late = endToo(second, job, executionId)
            await waiting()
            held.resume()
            assert.equal(await ending, way === 'delete' ? 'DELETED' : 'cancelled')
            assert.equal(await late, other === 'delete' ? 'DELETED' : 'cancelled')
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
      const order = { jobId: job.jobId, version: 1, owed: null }
      const held = first.holdAfter(releaseWaiting)
      const releasing = first.upkeep.release([order])
      await held.reached
      const cancelling = cancel(second, one)
      await waiting()
      held.resume()
      assert.deepEqual(await releasing, [job.jobId])
      assert.equal(await cancelling, 'cancelled')
      assert.deepEqual(await second.upkeep.release([order]), [job.jobId])
      assert.equal((await placesOf(client))[other], 'live')
    },
  )

  race('cancel×release: one that is being cancelled is not let go, and the next goes', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    await s.fire(job, 0)
    const [one, other] = [await s.trigger(job), await s.trigger(job)]
    await s.runAll()
    const order = { jobId: job.jobId, version: 1, owed: null }
    const held = first.holdAfter(cancelLive)
    const cancelling = cancel(first, one)
    await held.reached
    const releasing = second.upkeep.release([order])
    await waiting()
    held.resume()
    assert.equal(await cancelling, 'cancelled')
    assert.deepEqual(await releasing, [])
    assert.deepEqual(await second.upkeep.release([order]), [job.jobId])
    const places = await placesOf(client)
    assert.deepEqual([places[one], places[other]], ['final', 'live'])
  })

  const endings: Record<string, (s: Race['s']) => Exclude<Ending, { kind: 'running' }>> = {
    succeeds: (s) => s.succeeded(),
    'is to be retried': (s) => s.failedForNow(),
    'is handed back': () => ({ kind: 'unstarted', host: null }),
  }
  for (const [how, endingOf] of Object.entries(endings)) {
    for (const triggered of [false, true]) {
      const whose = triggered ? 'a triggered one' : 'one of a batch'
      race(`finish×cancel: ${whose} that ${how} meanwhile runs until that is committed`, async (given) => {
        const { s, first, second } = given
        const job = await s.createJob()
        const executionId = triggered ? await s.trigger(job) : await s.fire(job, 0)
        const workerId = await s.addWorker()
        const { batches, live } = await claim(first, workerId)
        const held = first.holdAfter(triggered ? finishLive : finishBatches)
        const ending = endingOf(s)
        const finishing = triggered
          ? first.queue.finishLive(workerId, [{ ...live[0]!, ending }])
          : first.queue.finishBatches(workerId, [{ ...batches[0]!, endings: [{ position: 0, ending }] }])
        await held.reached
        assert.equal(await cancel(second, executionId), 'running')
        held.resume()
        assert.deepEqual(await finishing, [])
        assert.equal(await cancel(second, executionId), how === 'succeeds' ? 'finished' : 'cancelled')
      })

      race(`cancel×finish: ${whose} that ${how} after the look is not lost`, async (given) => {
        const { s, client, first, second } = given
        const job = await s.createJob()
        const executionId = triggered ? await s.trigger(job) : await s.fire(job, 0)
        const workerId = await s.addWorker()
        const { batches, live } = await claim(second, workerId)
        const held = first.holdAfter(cancelBatched)
        const cancelling = cancel(first, executionId)
        await held.reached
        const ending = endingOf(s)
        if (triggered) await s.finishLive(workerId, live[0]!, ending)
        else await s.finishBatch(workerId, batches[0]!, ending)
        held.resume()
        assert.equal(await cancelling, how === 'succeeds' ? 'finished' : 'cancelled')
        assert.deepEqual(await placesOf(client), { [executionId]: 'final' })
      })
    }
  }

  race(
    'reclaim×cancel: what a dead worker held runs until it is taken from it, and is cancelled then',
    async (given) => {
      const { s, client, first, second } = given
      const executionId = await s.trigger(await s.createJob())
      const workerId = await s.addWorker()
      await claim(first, workerId)
      const held = first.holdAfter(reclaimLive)
      const reclaiming = first.upkeep.reclaim({ workerId, beats: 0 })
      await held.reached
      assert.equal(await cancel(second, executionId), 'running')
      held.resume()
      assert.equal(await reclaiming, 'reclaimed')
      assert.equal(await cancel(second, executionId), 'cancelled')
      assert.deepEqual(await placesOf(client), { [executionId]: 'final' })
      const { attempts, status } = await s.view(executionId)
      assert.deepEqual([attempts.map(({ outcome }) => outcome), status], [['lost'], 'CANCELLED'])
    },
  )

  race('cancel×reclaim: a batch that comes back after the look is cancelled', async (given) => {
    const { s, client, first, second } = given
    const { ids } = await createBatch(given)
    const workerId = await s.addWorker()
    await claim(second, workerId)
    const held = first.holdAfter(cancelBatched)
    const cancelling = cancel(first, ids[1])
    await held.reached
    assert.equal(await second.upkeep.reclaim({ workerId, beats: 0 }), 'reclaimed')
    held.resume()
    assert.equal(await cancelling, 'cancelled')
    assert.deepEqual(Object.values(await placesOf(client)).toSorted(), ['final', 'live', 'live'])
  })
}

/**
 * A session whose statement is held with its snapshot taken and a batch in sight, not yet locked: it calls a function
 * that in this database waits for an advisory lock.
 */
async function holdLook(t: TestContext, race: Race, signature: string, answer: string) {
  const { address, client, waiting } = race
  await client.query(`
    CREATE FUNCTION public.${signature} RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('application_name') = 'carillon held' THEN PERFORM pg_advisory_xact_lock(77); END IF;
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
