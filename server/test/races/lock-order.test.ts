// Statements that lock several batches or executions lock them in one order: batches before `live`, by id.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { deleteJob } from '../../src/domain/jobs/job-change.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import { cancelBatchedById } from '../../src/postgres/queue/cancel.sql.ts'
import { releaseWaiting } from '../../src/postgres/queue/maintenance.sql.ts'
import { lockSilentWorker, reclaimLive } from '../../src/postgres/queue/reclaim.sql.ts'
import { change, edit } from '../conformance/jobs/changes.ts'
import { allHeld } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { hold, holdDelete } from './patient-race.ts'
import { createPatientRace, openSession, type Race, releaseAll, type Session } from './sessions.ts'

/** A job of which an execution runs in a batch, for it came before the job got its policy, and a newer slot waits. */
async function supersedeBatched({ s }: Race) {
  const job = await s.createJob()
  const executionId = await s.fire(job, 0)
  await s.claimBatch(await s.addWorker())
  await change(s, job, edit({ overlapPolicy: 'CANCEL_RUNNING' }))
  const later = { version: 2, overlapPolicy: 'CANCEL_RUNNING' } as const
  assert.equal(await s.tryFire(job, 1, later), 'buffered')
  return { job, executionId }
}

const cancelMany = ({ control }: Session, executionIds: readonly string[]) =>
  control
    .cancelMany({ tenantId, executionIds, message: 'no' })
    .then(({ cancelled, cancelling }) => ({ cancelled: cancelled.length, cancelling }))

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race, t: TestContext) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createPatientRace(t, version)
      await body(given, t)
      await assertWhole(given.client)
    })

  for (const [order, upwards] of [
    ['upwards', true],
    ['downwards', false],
  ] as const) {
    race(
      `finish×cancelMany of the same batches: reported ${order}, neither waits for ever`,
      async (given, t) => {
        const { s, second, waiting } = given
        const { workerId, batches, ids } = await hold(given)
        const reported = upwards ? batches : batches.toReversed()
        const held = await holdDelete(t, given, reported[0]!.batchId)
        const report = reported.map((one) => ({ ...one, endings: [{ position: 0, ending: s.succeeded() }] }))
        const finishing = held.session.queue.finishBatches(workerId, report)
        await held.reached()
        const cancelling = cancelMany(second, ids.toReversed())
        await waiting(2)
        await held.resume()
        assert.deepEqual(await finishing, allHeld)
        assert.deepEqual(await cancelling, { cancelled: 0, cancelling: 2 })
      },
    )

    race(
      `finish×cancelMany of the same single executions: reported ${order}, neither waits for ever`,
      async (given) => {
        const { s, first, second } = given
        const { workerId, live, ids } = await hold(given)
        const report = live.map((one) => ({ ...one, ending: s.succeeded() }))
        const [answer, { cancelling }] = await Promise.all([
          first.queue.finishLive(workerId, upwards ? report : report.toReversed()),
          cancelMany(second, upwards ? ids.toReversed() : ids),
        ])
        assert.deepEqual(answer.missing, [])
        // Both batches, and the other executions that it reached first.
        assert.equal(cancelling, 2 + answer.cancelled.length)
      },
    )
  }

  race('reclaim×cancelMany: neither waits for ever for what the other has', async (given) => {
    const { first, second, waiting } = given
    const { workerId, ids } = await hold(given)
    const held = first.holdAfter(reclaimLive)
    const reclaiming = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await held.reached
    const cancelling = cancelMany(second, ids)
    await waiting()
    held.resume()
    assert.notEqual(await reclaiming, 'alive')
    const { cancelled, cancelling: flagged } = await cancelling
    assert.equal(cancelled + flagged, 4)
  })

  race('cancelMany×reclaim: neither waits for ever for what the other has', async (given) => {
    const { first, second, waiting } = given
    const { workerId, ids } = await hold(given)
    const held = first.holdAfter(cancelBatchedById)
    const cancelling = cancelMany(first, ids)
    await held.reached
    const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await waiting()
    held.resume()
    const { cancelled, cancelling: flagged } = await cancelling
    assert.equal(cancelled + flagged, 4)
    assert.notEqual(await reclaiming, 'alive')
  })

  race(
    'reclaim×cancelMany: a reclaim that takes its batches in another order than by id',
    async (given, t) => {
      const { client, second, waiting } = given
      const { workerId, ids, batches } = await hold(given)
      // It finds them by where they lie: the first moves behind the second.
      await client.query('UPDATE batches SET lane = lane WHERE batch_id = $1', [batches[0]!.batchId])
      const held = await holdDelete(t, given, batches[0]!.batchId)
      const reclaiming = held.session.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await held.reached()
      const cancelling = cancelMany(second, ids.slice(0, 2))
      await waiting(2)
      await held.resume()
      assert.notEqual(await reclaiming, 'alive')
      assert.deepEqual(await cancelling, { cancelled: 2, cancelling: 0 })
    },
  )

  race('reclaim×claim×cancelMany: a claim in the name of the lost worker has no batch yet', async (given) => {
    const { s, first, second, waiting } = given
    const ids = [s.ids.nextBatch(), s.ids.nextBatch()].toSorted()
    await s.fire(await s.createJob(), 0, { executionId: ids[0]! })
    const workerId = await s.addWorker()
    await s.claimBatch(workerId)
    await s.fire(await s.createJob(), 0, { executionId: ids[1]! })
    await s.trigger(await s.createJob())
    const held = first.holdAfter(lockSilentWorker)
    const reclaiming = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await held.reached
    const lanes = [{ lane: sharedLane, count: 10 }]
    const order = { workerId, routes: ['server'], lanes, hosts: [], batchesMax: 10 }
    const claiming = assert.rejects(second.queue.claim(order), /foreign key/)
    await waiting(1)
    // It would have the held batch, and wait for the one that the claim had locked.
    assert.deepEqual(await cancelMany(second, ids), { cancelled: 1, cancelling: 1 })
    held.resume()
    assert.notEqual(await reclaiming, 'alive')
    await claiming
  })

  race('return×cancelMany: batches that come back in another order than by id', async (given, t) => {
    const { second, waiting } = given
    const { workerId, ids, batches } = await hold(given)
    const held = await holdDelete(t, given, batches[1]!.batchId)
    const back = held.session.queue.releaseUnknown(workerId, [])
    await held.reached()
    const cancelling = cancelMany(second, ids)
    await waiting(2)
    await held.resume()
    assert.equal(await back, 4)
    const { cancelled } = await cancelling
    assert.equal(cancelled, 4)
  })

  race('release×cancelMany: what one lets go of one job and cancels of another', async (given) => {
    const { s, first, second, waiting } = given
    const going = await s.createJob()
    await s.fire(going, 0)
    const triggered = await s.trigger(going)
    await s.runAll()
    const { job: superseded, executionId: running } = await supersedeBatched(given)
    const held = first.holdAfter(releaseWaiting)
    const releasing = releaseAll(first, [going.jobId, superseded.jobId])
    await held.reached
    const cancelling = cancelMany(second, [running, triggered])
    await waiting()
    held.resume()
    assert.equal((await releasing).ready, 1)
    assert.deepEqual(await cancelling, { cancelled: 1, cancelling: 1 })
    assert.equal(await s.statusOf(running), 'CANCELLING')
  })

  race('release of several jobs×cancelMany: what it cancels of one job after the other', async (given, t) => {
    const { s, client, address, second, waiting } = given
    const job = await s.createJob({ overlapPolicy: 'CANCEL_RUNNING' })
    const triggered = await s.trigger(job)
    await s.claim(await s.addWorker())
    assert.equal(await s.tryFire(job, 1), 'buffered')
    const other = await supersedeBatched(given)
    const [jobs, running] = [
      [job, other.job],
      [triggered, other.executionId],
    ]
    // The release is held after it flagged the running executions of the first job, before it reaches the second.
    await client.query(`
      CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('application_name') = 'carillon held' THEN PERFORM pg_advisory_xact_lock(77); END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER hold AFTER UPDATE ON live FOR EACH ROW WHEN (NEW.cancelled_at IS NOT NULL)
        EXECUTE FUNCTION hold()`)
    await client.query('SELECT pg_advisory_lock(77)')
    const releasing = releaseAll(
      openSession(t, address, 'held'),
      jobs.map(({ jobId }) => jobId),
    )
    await waiting()
    const cancelling = cancelMany(second, running)
    await waiting(2)
    await client.query('SELECT pg_advisory_unlock(77)')
    assert.equal((await releasing).cancelled, true)
    assert.deepEqual(await cancelling, { cancelled: 0, cancelling: 2 })
  })

  race('delete of all×finish of the same batches: neither waits for ever', async (given, t) => {
    const { s, second, waiting } = given
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (const second_ of [0, 1]) await s.fire(job, second_, { lane: sharedLane })
    const workerId = await s.addWorker()
    const batches = (await s.claim(workerId)).batches.toSorted((a, b) => (a.batchId < b.batchId ? 1 : -1))
    const held = await holdDelete(t, given, batches[0]!.batchId)
    const report = batches.map((one) => ({ ...one, endings: [{ position: 0, ending: s.succeeded() }] }))
    const finishing = held.session.queue.finishBatches(workerId, report)
    await held.reached()
    const deleting = second.jobs.change(job, (state) =>
      deleteJob(state, { by: 'tester', cancelRunning: true }),
    )
    await waiting(2)
    await held.resume()
    assert.deepEqual(await finishing, allHeld)
    assert(typeof (await deleting) === 'object')
  })
}
