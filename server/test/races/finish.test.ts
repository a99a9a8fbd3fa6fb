// finish×finish, finish×reclaim, leave×reclaim: exactly one wins, and no attempt is recorded twice or not at all.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Ending, FinishAnswer, FinishedBatch } from '../../src/ports/queue.ts'
import { finishBatches, finishLive } from '../../src/postgres/queue/queue.sql.ts'
import { lockSilentWorker, reclaimBatches, reclaimLive } from '../../src/postgres/queue/reclaim.sql.ts'
import { allHeld, notHeld, type Scenario } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, hammer, openSession, type Race } from './sessions.ts'

/** The ways an execution leaves its batch. */
const endings: Record<string, (s: Scenario) => Ending> = {
  ended: (s) => s.succeeded(),
  failed: (s) => s.failedForNow(),
  dead: (s) => s.died(),
  running: (s) => s.running(),
  unstarted: () => ({ kind: 'unstarted', host: null }),
}

/** A worker that holds so many batches of three, and its report of them. */
async function holdBatches({ s }: Race, count: number, ending: Ending) {
  const report: FinishedBatch[] = []
  const workerId = await s.addWorker()
  for (let i = 0; i < count; i++) {
    await s.fireBatch([await s.createJob(), await s.createJob(), await s.createJob()], i)
    const { batchId, fence, positions } = await s.claimBatch(workerId)
    report.push({ batchId, fence, endings: positions.map((position) => ({ position, ending })) })
  }
  return { workerId, report }
}

/** A worker that holds so many executions in `live`, and its report of them. */
async function holdLive({ s }: Race, count: number, ending: Exclude<Ending, { kind: 'running' }>) {
  const workerId = await s.addWorker()
  for (let i = 0; i < count; i++) await s.trigger(await s.createJob())
  const { live } = await s.claim(workerId)
  assert.equal(live.length, count)
  return { workerId, report: live.map((one) => ({ ...one, ending })) }
}

const sorted = (answer: FinishAnswer): FinishAnswer => ({ ...answer, missing: answer.missing.toSorted() })

async function outcomesOf({ client }: Race): Promise<Record<string, number>> {
  const { rows } = await client.query<{ outcome: string; n: number }>(
    'SELECT outcome, count(*)::int AS n FROM attempts GROUP BY outcome',
  )
  return Object.fromEntries(rows.map(({ outcome, n }) => [outcome, n]))
}

for (const version of POSTGRES_VERSIONS) {
  for (const [how, endingOf] of Object.entries(endings)) {
    test(`PostgreSQL ${version}: finish×finish: the same report of batches twice (${how}) counts once`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second, waiting } = race
      const { workerId, report } = await holdBatches(race, 2, endingOf(s))
      const held = first.holdAfter(finishBatches)
      const once = first.queue.finishBatches(workerId, report)
      await held.reached
      const twice = second.queue.finishBatches(workerId, report)
      await waiting()
      held.resume()
      assert.deepEqual(await once, allHeld)
      assert.deepEqual(sorted(await twice), notHeld(...report.map(({ batchId }) => batchId).toSorted()))
      const recorded = how === 'running' || how === 'unstarted' ? 0 : 6
      assert.equal((await client.query('SELECT FROM attempts')).rowCount, recorded)
      await assertWhole(client)
    })

    test(`PostgreSQL ${version}: finish×reclaim: the reclaim waits for a finish (${how}) and finds the rest`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second, waiting } = race
      const { workerId, report } = await holdBatches(race, 2, endingOf(s))
      const held = first.holdAfter(finishBatches)
      const finishing = first.queue.finishBatches(workerId, report.slice(0, 1))
      await held.reached
      const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await waiting()
      held.resume()
      assert.deepEqual(await finishing, allHeld)
      assert.notEqual(await reclaiming, 'alive')
      const { lost = 0, ...others } = await outcomesOf(race)
      assert.equal(lost, how === 'running' ? 6 : 3)
      const ended: Record<string, object> = {
        ended: { succeeded: 3 },
        failed: { failed: 3 },
        dead: { failed: 3 },
      }
      assert.deepEqual(others, ended[how] ?? {})
      await assertWhole(client)
    })

    for (const statement of [lockSilentWorker, reclaimBatches]) {
      test(`PostgreSQL ${version}: reclaim×finish: a finish (${how}) after ${statement.name} finds nothing`, async (t) => {
        const race = await createRace(t, version)
        const { s, client, first, second, waiting } = race
        const { workerId, report } = await holdBatches(race, 2, endingOf(s))
        const held = first.holdAfter(statement)
        const reclaiming = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
        await held.reached
        const finishing = second.queue.finishBatches(workerId, report)
        // After the first statement alone, a finish that needs no lock on the worker may still win.
        const went = await Promise.race([waiting().then(() => null), finishing.catch(() => null)])
        held.resume()
        const [answer, reclaimed] = await Promise.all([finishing, reclaiming])
        assert.notEqual(reclaimed, 'alive')
        const batchIds = report.map(({ batchId }) => batchId).toSorted()
        assert.deepEqual(sorted(answer), went === null ? notHeld(...batchIds) : allHeld)
        const { lost = 0 } = await outcomesOf(race)
        assert.equal(lost, went === null ? 6 : 0)
        await assertWhole(client)
      })
    }
  }

  for (const how of ['ended', 'failed', 'dead', 'unstarted'] as const) {
    const liveEnding = (s: Scenario) => endings[how]!(s) as Exclude<Ending, { kind: 'running' }>

    test(`PostgreSQL ${version}: finish×finish: the same report of single executions twice (${how}) counts once`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second, waiting } = race
      const { workerId, report } = await holdLive(race, 3, liveEnding(s))
      const held = first.holdAfter(finishLive)
      const once = first.queue.finishLive(workerId, report)
      await held.reached
      const twice = second.queue.finishLive(workerId, report.toReversed())
      await waiting()
      held.resume()
      assert.deepEqual(await once, allHeld)
      assert.deepEqual(
        sorted(await twice),
        notHeld(...report.map(({ executionId }) => executionId).toSorted()),
      )
      assert.equal((await client.query('SELECT FROM attempts')).rowCount, how === 'unstarted' ? 0 : 3)
      await assertWhole(client)
    })

    test(`PostgreSQL ${version}: finish×reclaim: a reclaim waits for single executions (${how})`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second, waiting } = race
      const { workerId, report } = await holdLive(race, 3, liveEnding(s))
      const held = first.holdAfter(finishLive)
      const finishing = first.queue.finishLive(workerId, report.slice(0, 2))
      await held.reached
      const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await waiting()
      held.resume()
      assert.deepEqual(await finishing, allHeld)
      assert.notEqual(await reclaiming, 'alive')
      assert.equal((await outcomesOf(race))['lost'], 1)
      await assertWhole(client)
    })

    test(`PostgreSQL ${version}: reclaim×finish: single executions (${how}) that were reclaimed are not held`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second, waiting } = race
      const { workerId, report } = await holdLive(race, 3, liveEnding(s))
      const held = first.holdAfter(reclaimLive)
      const reclaiming = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await held.reached
      const finishing = second.queue.finishLive(workerId, report)
      await waiting()
      held.resume()
      assert.notEqual(await reclaiming, 'alive')
      assert.deepEqual(
        sorted(await finishing),
        notHeld(...report.map(({ executionId }) => executionId).toSorted()),
      )
      assert.deepEqual(await outcomesOf(race), { lost: 3 })
      assert.deepEqual([...new Set(Object.values(await placesOf(client)))], ['live'])
      await assertWhole(client)
    })
  }
}

// A reclaim takes the batches of a worker in the order of an index, a finish in that of its report.
test('finish×reclaim: batches that are finished in another order than they are reclaimed in', async (t) => {
  const race = await createRace(t)
  const { s, client, address, second, waiting } = race
  const { workerId, report } = await holdBatches(race, 2, s.succeeded())
  // The finish is held when it has deleted the second batch and comes to the first.
  await client.query(`
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('application_name') = 'carillon held' AND OLD.batch_id = '${report[0]!.batchId}' THEN
        PERFORM pg_advisory_xact_lock(77);
      END IF;
      RETURN OLD;
    END $$;
    CREATE TRIGGER hold BEFORE DELETE ON batches FOR EACH ROW EXECUTE FUNCTION hold()`)
  await client.query('SELECT pg_advisory_lock(77)')
  const finishing = openSession(t, address, 'held').queue.finishBatches(workerId, report.toReversed())
  await waiting()
  const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
  await waiting(2)
  await client.query('SELECT pg_advisory_unlock(77)')
  assert.deepEqual(await finishing, allHeld)
  assert.notEqual(await reclaiming, 'alive')
  assert.deepEqual(await outcomesOf(race), { succeeded: 6 })
  await assertWhole(client)
})

test('finish×reclaim: many batches, finished in any order while the worker is reclaimed, without an error', async (t) => {
  const race = await createRace(t)
  const { s, client, first, second } = race
  const kinds = Object.values(endings)
  const errors = await hammer(3_000, [
    async () => {
      const ending = kinds[Math.floor(Math.random() * kinds.length)]!(s)
      const { workerId, report } = await holdBatches(race, 6, ending)
      const shuffled = report.toSorted(() => Math.random() - 0.5)
      const ends = await Promise.allSettled([
        first.queue.finishBatches(workerId, shuffled.slice(0, 3)),
        second.maintenance.reclaim({ holderId: workerId, beats: 0 }),
        first.queue.finishBatches(workerId, shuffled.slice(3)),
      ])
      await assertWhole(client)
      await client.query('TRUNCATE batches, live, attempts, dead_letters, slots')
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    },
  ])
  assert.deepEqual(errors, [])
})

test('finish×reclaim: a result that came too late is not taken for one that was recorded', async (t) => {
  const race = await createRace(t)
  const { s } = race
  const job = await s.createJob()
  const executionId = await s.fire(job, 0)
  const workerId = await s.addWorker()
  const { batchId, fence } = await s.claimBatch(workerId)
  assert.notEqual(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
  const report = [{ batchId, fence, endings: [{ position: 0, ending: s.succeeded() }] }]
  assert.deepEqual(await s.queue.finishBatches(workerId, report), notHeld(batchId))
  // This attempt is recorded as lost, by the reclaim.
  assert.deepEqual(await s.queue.findOwn(workerId, [{ executionId, attempt: 1, jobId: job.jobId }]), [])
})
