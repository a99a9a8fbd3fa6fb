// finish×cancel, leave×cancel, reclaim×cancel, return×cancel and cancel×cancel of running executions, in their batch
// and alone: in either order, the answer to a cancel stays true, and the end is recorded once and with the first
// message.
import assert from 'node:assert/strict'
import test from 'node:test'
import { deleteJob } from '../../src/domain/jobs/job-change.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Ending, FinishAnswer } from '../../src/ports/queue.ts'
import {
  cancelBatchedById,
  cancelBatchedOfJobs,
  cancelLiveById,
  cancelLiveOfDeleted,
} from '../../src/postgres/queue/cancel.sql.ts'
import { finishBatches, finishLive } from '../../src/postgres/queue/queue.sql.ts'
import { reclaimBatches, reclaimLive } from '../../src/postgres/queue/reclaim.sql.ts'
import { returnBatches, returnLive } from '../../src/postgres/queue/reconcile.sql.ts'
import { change } from '../conformance/jobs/changes.ts'
import { allHeld } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, type Race, type Session } from './sessions.ts'

type Place = 'batch' | 'live'

/** A running execution, and the reports its worker may send. */
interface Running {
  job: NewJob
  executionId: string
  workerId: string
  finish(session: Session, ending: Ending): Promise<FinishAnswer>
}

async function createRunning({ s }: Race, place: Place): Promise<Running> {
  const job = await s.createJob()
  const executionId = place === 'batch' ? await s.fire(job, 0) : await s.trigger(job)
  const workerId = await s.addWorker()
  const lanes = [{ lane: sharedLane, count: 10 }]
  const { batches, live } = await s.queue.claim({
    ...{ workerId, routes: [serverRoute], hosts: [], batchesMax: 20, lanes },
  })
  const finish = ({ queue }: Session, ending: Ending) => {
    if (place === 'batch')
      return queue.finishBatches(workerId, [{ ...batches[0]!, endings: [{ position: 0, ending }] }])
    assert(ending.kind !== 'running')
    return queue.finishLive(workerId, [{ ...live[0]!, ending }])
  }
  return { job, executionId, workerId, finish }
}

const cancel = async ({ control }: Session, executionId: string, message = 'not wanted'): Promise<string> =>
  (await control.cancel({ tenantId, executionId, message })).kind

const removeAll = (session: Session, job: NewJob) =>
  change(session, job, (state) => deleteJob(state, { by: 'deleter', cancelRunning: true }))

/** The ways to stop a running execution: by its id, or with its job. */
const stops: Record<string, (session: Session, running: Running) => Promise<string>> = {
  cancel: (session, { executionId }) => cancel(session, executionId),
  'delete of all': async (session, { job }) => (await removeAll(session, job)).status,
}
const flagStatements = {
  cancel: { batch: cancelBatchedById, live: cancelLiveById },
  'delete of all': { batch: cancelBatchedOfJobs, live: cancelLiveOfDeleted },
} as const

/** The report of a worker, and the answer of a cancel that waited for it. */
const endings: Record<string, { of: (s: Race['s']) => Ending; after: string; status: string }> = {
  'it succeeded': { of: (s) => s.succeeded(), after: 'finished', status: 'SUCCEEDED' },
  'it died': { of: (s) => s.died(), after: 'finished', status: 'FAILED' },
  'it is to be retried': { of: (s) => s.failedForNow(), after: 'cancelled', status: 'CANCELLED' },
  'it was not started': {
    of: () => ({ kind: 'unstarted', host: null }),
    ...{ after: 'cancelled', status: 'CANCELLED' },
  },
  'it goes on': {
    of: (s) => s.running(),
    ...{ after: 'cancelling', status: 'CANCELLING' },
  },
}

async function assertCancelled({ s, client }: Race, executionId: string, message: string): Promise<void> {
  const { rows } = await client.query(
    'SELECT outcome, error_type, error_message FROM attempts WHERE execution_id = $1 AND final',
    [executionId],
  )
  assert.deepEqual(rows, [{ outcome: 'cancelled', error_type: 'CANCELLED', error_message: message }])
  assert.equal(await s.statusOf(executionId), 'CANCELLED')
  assert.equal((await placesOf(client))[executionId], 'final')
  assert.equal((await client.query('SELECT FROM dead_letters')).rowCount, 0)
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const place of ['batch', 'live'] as const) {
    const where = place === 'batch' ? 'in its batch' : 'alone'
    const reporting = place === 'batch' ? finishBatches : finishLive
    for (const [how, { of, after, status }] of Object.entries(endings)) {
      if (place === 'live' && how === 'it goes on') continue
      for (const [way, stop] of Object.entries(stops)) {
        const message = way === 'cancel' ? 'not wanted' : 'The job was deleted.'

        race(`finish×${way} ${where}: it waits while the worker says that ${how}`, async (given) => {
          const { s, first, second, waiting } = given
          const running = await createRunning(given, place)
          const held = first.holdAfter(reporting)
          const finishing = running.finish(first, of(s))
          await held.reached
          const stopping = stop(second, running)
          await waiting()
          held.resume()
          assert.deepEqual(await finishing, allHeld)
          assert.equal(await stopping, way === 'cancel' ? after : 'DELETED')
          assert.equal(await s.statusOf(running.executionId), status)
        })

        race(
          `${way}×finish ${where}: it ends cancelled though the worker says that ${how}`,
          async (given) => {
            const { s, first, second, waiting } = given
            const running = await createRunning(given, place)
            const { executionId, workerId } = running
            const held = first.holdAfter(flagStatements[way as keyof typeof flagStatements][place])
            const stopping = stop(first, running)
            await held.reached
            const finishing = running.finish(second, of(s))
            await waiting()
            held.resume()
            assert.equal(await stopping, way === 'cancel' ? 'cancelling' : 'DELETED')
            const goesOn = how === 'it goes on'
            assert.deepEqual(await finishing, { ...allHeld, cancelled: goesOn ? [] : [executionId] })
            assert.deepEqual(await second.queue.findCancelled(workerId), goesOn ? [executionId] : [])
            if (goesOn) {
              const report = [{ executionId, fence: 1, attempt: 1, ending: s.succeeded() }]
              const answer = await second.queue.finishLive(workerId, report)
              assert.deepEqual(answer, { ...allHeld, cancelled: [executionId] })
            }
            await assertCancelled(given, executionId, message)
            assert.equal(await cancel(second, executionId, 'again'), 'cancelled')
          },
        )
      }
    }

    race(
      `finish×cancel ${where}: a finish whose reply was lost is its worker's own, also when cancelled`,
      async (given) => {
        const { s, first, second } = given
        for (const isCancelled of [false, true]) {
          const running = await createRunning(given, place)
          const { executionId, workerId, job } = running
          if (isCancelled) assert.equal(await cancel(second, executionId), 'cancelling')
          await running.finish(first, s.succeeded({ preview: 'what the target said' }))
          const again = await running.finish(first, s.succeeded())
          assert.deepEqual([again.missing.length, again.cancelled], [1, []])
          const own = await first.queue.findOwn(workerId, [{ executionId, attempt: 1, jobId: job.jobId }])
          assert.deepEqual(own, [{ executionId, status: 'recorded' }])
          assert.equal(await cancel(second, executionId), isCancelled ? 'cancelled' : 'finished')
          const { attempts, status } = await s.view(executionId)
          assert.deepEqual(
            attempts.map(({ preview, httpStatus, workerId: by }) => [preview, httpStatus, by]),
            [['what the target said', 200, workerId]],
          )
          assert.equal(status, isCancelled ? 'CANCELLED' : 'SUCCEEDED')
        }
      },
    )

    race(`reclaim×cancel ${where}: it waits, and ends what was lost`, async (given) => {
      const { s, first, second, waiting } = given
      const { executionId, workerId } = await createRunning(given, place)
      const held = first.holdAfter(place === 'batch' ? reclaimBatches : reclaimLive)
      const reclaiming = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await held.reached
      const cancelling = cancel(second, executionId)
      await waiting()
      held.resume()
      assert.notEqual(await reclaiming, 'alive')
      assert.equal(await cancelling, 'cancelled')
      await assertCancelled(given, executionId, 'not wanted')
      const { attempts } = await s.view(executionId)
      assert.deepEqual(
        attempts.map(({ outcome }) => outcome),
        ['lost'],
      )
    })

    race(`cancel×reclaim ${where}: it ends with its worker, and no attempt is lost`, async (given) => {
      const { client, first, second, waiting } = given
      const { executionId, workerId } = await createRunning(given, place)
      const held = first.holdAfter(flagStatements.cancel[place])
      const cancelling = cancel(first, executionId)
      await held.reached
      const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await waiting()
      held.resume()
      assert.equal(await cancelling, 'cancelling')
      assert.notEqual(await reclaiming, 'alive')
      await assertCancelled(given, executionId, 'not wanted')
      assert.equal((await client.query('SELECT FROM attempts')).rowCount, 1)
      assert.equal(await cancel(second, executionId), 'cancelled')
    })

    const returning = ({ queue }: Session, workerId: string) => queue.releaseUnknown(workerId, [])

    race(`return×cancel ${where}: what its worker did not know is cancelled at once`, async (given) => {
      const { first, second, waiting } = given
      const { executionId, workerId } = await createRunning(given, place)
      const held = first.holdAfter(place === 'batch' ? returnBatches : returnLive)
      const back = returning(first, workerId)
      await held.reached
      const cancelling = cancel(second, executionId)
      await waiting()
      held.resume()
      assert.equal(await back, 1)
      assert.equal(await cancelling, 'cancelled')
      await assertCancelled(given, executionId, 'not wanted')
    })

    race(`cancel×return ${where}: what was flagged is not handed back`, async (given) => {
      const { first, second, waiting } = given
      const { executionId, workerId } = await createRunning(given, place)
      const held = first.holdAfter(flagStatements.cancel[place])
      const cancelling = cancel(first, executionId)
      await held.reached
      const back = returning(second, workerId)
      await waiting()
      held.resume()
      assert.equal(await cancelling, 'cancelling')
      await back
      await assertCancelled(given, executionId, 'not wanted')
      assert.equal(await cancel(second, executionId), 'cancelled')
    })

    race(`cancel×cancel ${where}: both get the same answer, and the first message stands`, async (given) => {
      const { s, first, second, waiting } = given
      const running = await createRunning(given, place)
      const { executionId } = running
      const held = first.holdAfter(flagStatements.cancel[place])
      const one = cancel(first, executionId, 'first')
      await held.reached
      const other = cancel(second, executionId, 'second')
      await waiting()
      held.resume()
      assert.deepEqual([await one, await other], ['cancelling', 'cancelling'])
      await running.finish(first, s.failedForNow())
      await assertCancelled(given, executionId, 'first')
      assert.equal(await cancel(second, executionId, 'third'), 'cancelled')
    })

    for (const [way, stop] of Object.entries(stops)) {
      race(
        `a worker that is told late: what ${way} flagged ${where} ends so when it is handed back`,
        async (given) => {
          const { s, first, second } = given
          const running = await createRunning(given, place)
          await stop(second, running)
          assert.deepEqual(await first.queue.findCancelled(running.workerId), [running.executionId])
          assert.equal(await s.statusOf(running.executionId), 'CANCELLING')
          await running.finish(first, { kind: 'unstarted', host: null })
          assert.equal(await s.statusOf(running.executionId), 'CANCELLED')
        },
      )
    }
  }
}
