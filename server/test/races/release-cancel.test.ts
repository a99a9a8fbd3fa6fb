// CANCEL_RUNNING, BUFFER_ONE and BUFFER_ALL: release×finish, ×claim, ×trigger, ×fire. An execution superseded by a
// newer slot is cancelled wherever it moves meanwhile, and nothing starts beside an unended execution.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { OverlapPolicy } from '../../src/domain/jobs/job.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { supersededMessage } from '../../src/domain/queue/release.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Ending } from '../../src/ports/queue.ts'
import type { SlotToFire } from '../../src/ports/slots.ts'
import { cancelBatchedOfJobs, cancelLiveOfJobs } from '../../src/postgres/queue/cancel.sql.ts'
import { selectReleasable } from '../../src/postgres/queue/maintenance.sql.ts'
import { claimWork, finishBatches, finishLive } from '../../src/postgres/queue/queue.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { lockCursors } from '../../src/postgres/scheduling/slots.sql.ts'
import { change, edit } from '../conformance/jobs/changes.ts'
import { allHeld } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, type Race, releaseAll, type Session } from './sessions.ts'

const release = (session: Session, { jobId }: NewJob) => releaseAll(session, [jobId])

type Place = 'batch' | 'live'

/**
 * A job with slot 0 in progress and slot 1 waiting. Executions of such jobs are rows of their own; in a batch are only
 * executions from before the job got its policy.
 */
async function createWaiting({ s }: Race, overlapPolicy: OverlapPolicy, place: Place) {
  const job = await s.createJob({ overlapPolicy: place === 'batch' ? 'SKIP' : overlapPolicy })
  const running = s.slotOf(job, 0)
  await s.slots.fire([running])
  if (place === 'batch') await change(s, job, edit({ overlapPolicy }))
  const later = { overlapPolicy, version: place === 'batch' ? 2 : 1 }
  const next = s.slotOf(job, 1, later)
  const [answer] = await s.slots.fire([next])
  assert.equal(answer?.answer, 'buffered')
  return { job, later, running: running.executionId, next: next.executionId }
}

/** A worker claims everything available, and may then report how it ended. */
async function claimRunning({ s }: Race) {
  const workerId = await s.addWorker()
  const { batches, live } = await s.claim(workerId)
  assert.equal(batches.length + live.length, 1)
  const finish = ({ queue }: Session, ending: Ending) => {
    if (batches[0] !== undefined)
      return queue.finishBatches(workerId, [{ ...batches[0], endings: [{ position: 0, ending }] }])
    assert(ending.kind !== 'running')
    return queue.finishLive(workerId, [{ ...live[0]!, ending }])
  }
  return { workerId, finish }
}

/** The report of a worker, and the status after a release that waited for it. */
const endings: Record<string, { of: (s: Race['s']) => Ending; status: string }> = {
  'has ended': { of: (s) => s.succeeded(), status: 'SUCCEEDED' },
  'is to be retried': { of: (s) => s.failedForNow(), status: 'CANCELLED' },
  'was handed back': { of: () => ({ kind: 'unstarted', host: null }), status: 'CANCELLED' },
  'goes on': { of: (s) => s.running(), status: 'CANCELLING' },
}

async function answersOf({ slots }: Session, slot: SlotToFire): Promise<string[]> {
  return (await slots.fire([slot])).map(({ answer }) => answer)
}

const orderOf = (workerId: string) => ({
  ...{ workerId, routes: [serverRoute], hosts: [], batchesMax: 5 },
  lanes: [{ lane: sharedLane, count: 10 }],
})

async function messageOf({ client }: Race, executionId: string): Promise<string | null> {
  const { rows } = await client.query(
    'SELECT error_message FROM attempts WHERE execution_id = $1 AND final',
    [executionId],
  )
  return rows[0]?.error_message ?? null
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const policy of ['BUFFER_ONE', 'BUFFER_ALL'] as const) {
    for (const [place, isClaimed] of [
      ['batch', false],
      ['batch', true],
      ['live', true],
    ] as const) {
      race(
        `${policy}: a slot waits while the one before it is in ${place}, ${isClaimed ? 'running' : 'not claimed'}`,
        async (given) => {
          const { client, first } = given
          const { job, running, next } = await createWaiting(given, policy, place)
          if (isClaimed) await claimRunning(given)
          assert.equal((await release(first, job)).ready, 0)
          assert.deepEqual(await placesOf(client), { [running]: place, [next]: 'waiting' })
        },
      )

      race(
        `${policy}: when the slot that waits is cancelled, the one in ${place} is still in the way (${isClaimed ? 'running' : 'not claimed'})`,
        async (given) => {
          const { s, client } = given
          const { job, later, running, next } = await createWaiting(given, policy, place)
          if (isClaimed) await claimRunning(given)
          const target = { tenantId, executionId: next, message: 'no' }
          assert.equal((await s.control.cancel(target)).kind, 'cancelled')
          assert.equal(await s.tryFire(job, 2, later), 'buffered')
          const triggered = await s.trigger(job)
          const places = await placesOf(client)
          assert.deepEqual([places[running], places[triggered]], [place, 'waiting'])
        },
      )
    }
  }

  race('a trigger after the slot that waited was cancelled waits for the one in its batch', async (given) => {
    const { s, client } = given
    const { job, next } = await createWaiting(given, 'BUFFER_ONE', 'batch')
    await s.control.cancel({ tenantId, executionId: next, message: 'no' })
    const triggered = await s.trigger(job)
    assert.equal((await placesOf(client))[triggered], 'waiting')
  })

  for (const place of ['batch', 'live'] as const) {
    const reporting = place === 'batch' ? finishBatches : finishLive
    const flagging = place === 'batch' ? cancelBatchedOfJobs : cancelLiveOfJobs
    const create = (given: Race) => createWaiting(given, 'CANCEL_RUNNING', place)

    for (const [how, { of, status }] of Object.entries(endings)) {
      if (place === 'live' && how === 'goes on') continue

      race(
        `CANCEL_RUNNING in ${place}: finish×release: one that ${how} meanwhile is ${status}`,
        async (given) => {
          const { s, client, first, second, waiting } = given
          const { job, running, next } = await create(given)
          const { finish } = await claimRunning(given)
          const held = first.holdAfter(reporting)
          const finishing = finish(first, of(s))
          await held.reached
          const releasing = release(second, job)
          await waiting()
          held.resume()
          assert.deepEqual(await finishing, allHeld)
          assert.equal((await releasing).ready, 0)
          assert.equal(await s.statusOf(running), status)
          if (status === 'CANCELLED')
            assert.equal(await messageOf(given, running), supersededMessage(s.at(1)))
          assert.equal((await release(second, job)).ready, status === 'CANCELLING' ? 0 : 1)
          assert.equal((await placesOf(client))[next], status === 'CANCELLING' ? 'waiting' : 'live')
        },
      )

      race(
        `CANCEL_RUNNING in ${place}: release×finish: one that ${how} after the look is ${status}`,
        async (given) => {
          const { s, first, second } = given
          const { job, running } = await create(given)
          const { finish } = await claimRunning(given)
          const held = first.holdAfter(selectReleasable)
          const releasing = release(first, job)
          await held.reached
          assert.deepEqual(await finish(second, of(s)), allHeld)
          held.resume()
          assert.equal((await releasing).ready, 0)
          assert.equal(await s.statusOf(running), status)
          assert.equal((await release(second, job)).ready, status === 'CANCELLING' ? 0 : 1)
        },
      )

      race(
        `CANCEL_RUNNING in ${place}: release×finish: what is flagged ends so, though it ${how}`,
        async (given) => {
          const { s, first, second, waiting } = given
          const { job, running } = await create(given)
          const { finish } = await claimRunning(given)
          const held = first.holdAfter(flagging)
          const releasing = release(first, job)
          await held.reached
          const finishing = finish(second, of(s))
          await waiting()
          held.resume()
          assert.deepEqual(await releasing, { ready: 0, cancelled: true, planned: false, more: false })
          const goesOn = how === 'goes on'
          assert.deepEqual((await finishing).cancelled, goesOn ? [] : [running])
          assert.equal(await s.statusOf(running), goesOn ? 'CANCELLING' : 'CANCELLED')
          assert.equal((await release(second, job)).ready, goesOn ? 0 : 1)
        },
      )
    }

    race(
      `CANCEL_RUNNING in ${place}: claim×release: what is being claimed is flagged once it runs`,
      async (given) => {
        const { s, first, second, waiting } = given
        const { job, running } = await create(given)
        const workerId = await s.addWorker()
        const held = first.holdAfter(claimWork)
        const claiming = first.queue.claim(orderOf(workerId))
        await held.reached
        const releasing = release(second, job)
        await waiting()
        held.resume()
        const { batches, live } = await claiming
        assert.equal(batches.length + live.length, 1)
        assert.equal((await releasing).cancelled, true)
        assert.equal(await s.statusOf(running), 'CANCELLING')
        assert.deepEqual(await first.queue.findCancelled(workerId), [running])
      },
    )

    race(
      `CANCEL_RUNNING in ${place}: release×claim: what is being cancelled is not claimed`,
      async (given) => {
        const { s, first, second } = given
        const { job, running, next } = await create(given)
        const held = first.holdAfter(flagging)
        const releasing = release(first, job)
        await held.reached
        assert.deepEqual(await second.queue.claim(orderOf(await s.addWorker())), { batches: [], live: [] })
        held.resume()
        const { settled, ...released } = await releasing
        assert.deepEqual(released, { ready: 0, cancelled: false, planned: false, more: true })
        assert.equal(settled?.length, 1)
        assert.equal(await s.statusOf(running), 'CANCELLED')
        assert.equal((await release(second, job)).ready, 1)
        assert.equal((await s.claimLive(await s.addWorker())).executionId, next)
      },
    )

    race(
      `CANCEL_RUNNING in ${place}: release×trigger: it waits, and then behind the newer slot`,
      async (given) => {
        const { s, client, first, second, waiting } = given
        const { job, next } = await create(given)
        await claimRunning(given)
        const held = first.holdAfter(flagging)
        const releasing = release(first, job)
        await held.reached
        const executionId = s.ids.next()
        const triggering = second.jobs.trigger({ tenantId, jobId: job.jobId, executionId, lane: sharedLane })
        await waiting()
        held.resume()
        assert.equal((await releasing).cancelled, true)
        assert.equal((await triggering).kind, 'triggered')
        const places = await placesOf(client)
        assert.deepEqual([places[executionId], places[next]], ['waiting', 'waiting'])
        assert.equal((await release(second, job)).ready, 0)
      },
    )

    race(
      `CANCEL_RUNNING in ${place}: fire×release: a slot that comes meanwhile is decided about next`,
      async (given) => {
        const { s, client, first, second } = given
        const { job, later, next } = await create(given)
        const held = first.holdAfter(lockCursors)
        const releasing = release(first, job)
        await held.reached
        const last = s.slotOf(job, 2, later)
        assert.deepEqual(await answersOf(second, last), ['busy'])
        held.resume()
        assert.equal((await releasing).more, true)
        assert.deepEqual(await answersOf(second, last), ['buffered'])
        assert.equal((await release(second, job)).ready, 1)
        const places = await placesOf(client)
        assert.deepEqual([places[next], places[last.executionId]], ['final', 'live'])
        assert.equal(await messageOf(given, next), supersededMessage(s.at(2)))
      },
    )
  }

  for (const policy of ['BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const) {
    race(
      `fire×fire (${policy}): a slot is kept once, and the next finds the room that is left`,
      async (given) => {
        const { s, client, first, second } = given
        const job = await s.createJob({ overlapPolicy: policy })
        await s.fire(job, 0)
        const [one, same, later] = [s.slotOf(job, 1), s.slotOf(job, 1), s.slotOf(job, 2)]
        const held = first.holdAfter(fireSlots)
        const firing = first.slots.fire([one])
        await held.reached
        assert.deepEqual(
          [await answersOf(second, same), await answersOf(second, later)],
          [['busy'], ['busy']],
        )
        held.resume()
        assert.deepEqual(
          (await firing).map(({ answer }) => answer),
          ['buffered'],
        )
        assert.deepEqual(await answersOf(second, same), ['already_recorded'])
        const last = policy === 'BUFFER_ONE' ? 'overlap' : 'buffered'
        assert.deepEqual(await answersOf(second, later), [last])
        const { rowCount } = await client.query(`SELECT FROM live WHERE state = 'waiting'`)
        assert.equal(rowCount, policy === 'BUFFER_ONE' ? 1 : 2)
      },
    )
  }
}
