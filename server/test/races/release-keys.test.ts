// release×release, release×finish, release×reclaim and release×cancel of executions that share a concurrency key: never
// more hold it than its limit, whichever process releases them, and each end makes room for the next.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { countHeldKeys, lockKeys, releaseWaiting } from '../../src/postgres/queue/maintenance.sql.ts'
import { finishLive } from '../../src/postgres/queue/queue.sql.ts'
import { reclaimLive } from '../../src/postgres/queue/reclaim.sql.ts'
import { change, edit } from '../conformance/jobs/changes.ts'
import { allHeld } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, type Race, releaseAll, type Session } from './sessions.ts'

/** Jobs that share a key, of each of which two triggers wait. */
async function createSharing({ s }: Race, count: number, limit: number) {
  const jobs: NewJob[] = []
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyKey: { key: 'vendor', limit } })
    jobs.push(job)
    ids.push(await s.trigger(job), await s.trigger(job))
  }
  return { jobs, ids }
}

async function heldCount({ client }: Race): Promise<number> {
  const { rows } = await client.query(
    `SELECT count(*)::int AS n FROM live WHERE concurrency_key = 'vendor' AND state <> 'waiting'`,
  )
  return rows[0].n
}

const readyOf = async (session: Session, ...jobs: readonly NewJob[]) =>
  (
    await releaseAll(
      session,
      jobs.map(({ jobId }) => jobId),
    )
  ).ready

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const limit of [1, 2]) {
    for (const statement of [lockKeys, countHeldKeys, releaseWaiting]) {
      race(
        `release×release of jobs that share a key (limit ${limit}): the other lets nothing go after ${statement.name}`,
        async (given) => {
          const { first, second } = given
          const { jobs } = await createSharing(given, 2, limit)
          const held = first.holdAfter(statement)
          const releasing = readyOf(first, jobs[0]!)
          await held.reached
          assert.equal(await readyOf(second, jobs[1]!), 0)
          held.resume()
          assert.equal(await releasing, limit)
          assert.equal(await readyOf(second, ...jobs), 0)
          assert.equal(await heldCount(given), limit)
        },
      )
    }

    race(
      `release of several jobs that share a key (limit ${limit}) in one go: those that waited longest`,
      async (given) => {
        const { client, first } = given
        const { jobs, ids } = await createSharing(given, 3, limit)
        assert.equal(await readyOf(first, ...jobs.toReversed()), limit)
        const places = await placesOf(client)
        assert.deepEqual(
          ids.filter((id) => places[id] === 'live'),
          ids.slice(0, limit),
        )
      },
    )

    for (const [how, makesRoom] of [
      ['ends', true],
      ['is to be retried', false],
      ['is handed back', false],
    ] as const) {
      race(
        `release×finish with a key (limit ${limit}): one that ${how} ${makesRoom ? 'makes room' : 'goes on holding it'} once that is committed`,
        async (given) => {
          const { s, first, second } = given
          const { jobs } = await createSharing(given, 2, limit)
          await readyOf(first, ...jobs)
          const workerId = await s.addWorker()
          const { live } = await s.claim(workerId)
          assert.equal(live.length, limit)
          const ending = makesRoom
            ? s.succeeded()
            : how === 'is handed back'
              ? ({ kind: 'unstarted', host: null } as const)
              : s.failedForNow()
          const held = first.holdAfter(finishLive)
          const finishing = first.queue.finishLive(workerId, [{ ...live[0]!, ending }])
          await held.reached
          assert.equal(await readyOf(second, ...jobs), 0)
          held.resume()
          assert.deepEqual(await finishing, allHeld)
          assert.equal(await readyOf(second, ...jobs), makesRoom ? 1 : 0)
          assert.equal(await heldCount(given), limit)
        },
      )
    }

    race(`reclaim×release with a key (limit ${limit}): what was lost goes on holding it`, async (given) => {
      const { s, first, second } = given
      const { jobs } = await createSharing(given, 2, limit)
      await readyOf(first, ...jobs)
      const workerId = await s.addWorker()
      await s.claim(workerId)
      const held = first.holdAfter(reclaimLive)
      const reclaiming = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await held.reached
      assert.equal(await readyOf(second, ...jobs), 0)
      held.resume()
      assert.notEqual(await reclaiming, 'alive')
      assert.equal(await readyOf(second, ...jobs), 0)
      assert.equal(await heldCount(given), limit)
    })
  }

  race(
    'release×cancel with a key: one that is let go is cancelled all the same, and makes room',
    async (given) => {
      const { s, client, first, second, waiting } = given
      const { jobs, ids } = await createSharing(given, 2, 1)
      const held = first.holdAfter(releaseWaiting)
      const releasing = readyOf(first, ...jobs)
      await held.reached
      const cancelling = second.control.cancel({ tenantId, executionId: ids[0]!, message: 'no' })
      await waiting()
      held.resume()
      assert.equal(await releasing, 1)
      assert.equal((await cancelling).kind, 'cancelled')
      assert.equal(await s.statusOf(ids[0]!), 'CANCELLED')
      assert.equal(await readyOf(second, ...jobs), 1)
      assert.equal((await placesOf(client))[ids[1]!], 'live')
    },
  )

  race('cancel of one that runs×release: it holds its key until its worker has stopped it', async (given) => {
    const { s, first, second } = given
    const { jobs } = await createSharing(given, 2, 1)
    await readyOf(first, ...jobs)
    const workerId = await s.addWorker()
    const one = await s.claimLive(workerId)
    const target = { tenantId, executionId: one.executionId, message: 'no' }
    assert.equal((await first.control.cancel(target)).kind, 'cancelling')
    assert.equal(await readyOf(second, ...jobs), 0)
    await first.queue.finishLive(workerId, [{ ...one, ending: s.failedForNow() }])
    assert.equal(await readyOf(second, ...jobs), 1)
  })

  race(
    'edit of the limit×release: what waits has the limit it was made with, what comes the new one',
    async (given) => {
      const { s, first, second } = given
      const { jobs } = await createSharing(given, 1, 2)
      const [job] = jobs as [NewJob]
      const held = first.holdAfter(writeJob)
      const editing = change(first, job, edit({ concurrencyKey: { key: 'vendor', limit: 1 } }))
      await held.reached
      assert.equal(await readyOf(second, job), 0, 'the job is locked')
      held.resume()
      await editing
      await s.trigger(job)
      assert.equal(await readyOf(second, job), 2)
      await s.runAll()
      assert.equal(await readyOf(second, job), 1)
      await s.trigger(job)
      assert.equal(await readyOf(second, job), 0)
    },
  )
}
