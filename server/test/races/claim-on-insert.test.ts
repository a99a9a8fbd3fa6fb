// A worker claims executions enqueued in its own process: trigger×reclaim and fire×reclaim, and locks held by other
// sessions.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { insertTriggers, lockFreeJobs } from '../../src/postgres/jobs/triggers.sql.ts'
import { reclaimLive } from '../../src/postgres/queue/reclaim.sql.ts'
import { claimFired, lockCursors } from '../../src/postgres/scheduling/slots.sql.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace, type Race, type Session } from './sessions.ts'

const isLocked = { code: '55P03' }
const lockWorker = 'SELECT FROM workers WHERE worker_id = $1 FOR UPDATE NOWAIT'

function trigger({ jobs, ids }: Session, { tenantId, jobId }: NewJob, workerId: string) {
  const direct = { workerId, route: serverRoute }
  return jobs.trigger({ tenantId, jobId, executionId: ids.next(), lane: sharedLane, direct })
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  race('a trigger that is to be taken locks the worker before its job', async ({ s, client, first }) => {
    const workerId = await s.addWorker()
    const held = first.holdBefore(insertTriggers)
    const triggering = trigger(first, await s.createJob(), workerId)
    await held.reached
    await assert.rejects(client.query(lockWorker, [workerId]), isLocked)
    held.resume()
    assert.equal((await triggering).kind, 'triggered')
    const waiting = first.holdBefore(lockFreeJobs)
    const next = trigger(first, await s.createJob(), workerId)
    await waiting.reached
    await client.query(lockWorker, [workerId])
    waiting.resume()
    await next
  })

  race('a fire that is to be taken locks the worker before its jobs', async ({ s, client, first }) => {
    const workerId = await s.addWorker()
    const held = first.holdBefore(lockCursors)
    const slot = s.slotOf(await s.createJob(), 0)
    const firing = first.slots.fireAndClaim([slot], { workerId, route: serverRoute })
    await held.reached
    await assert.rejects(client.query(lockWorker, [workerId]), isLocked)
    held.resume()
    assert.equal((await firing).batches.length, 1)
  })

  race('trigger×reclaim: of a worker that is being reclaimed nothing is taken', async (given) => {
    const { s, first, second, waiting } = given
    const workerId = await s.addWorker()
    const held = second.holdAfter(reclaimLive)
    const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await held.reached
    const triggering = trigger(first, await s.createJob(), workerId)
    await waiting()
    held.resume()
    assert.notEqual(await reclaiming, 'alive')
    const outcome = await triggering
    assert(outcome.kind === 'triggered')
    assert.equal(outcome.claimed, null)
    assert.equal((await s.claim(await s.addWorker())).live.length, 1)
  })

  race(
    'reclaim×trigger: what was taken before is lost with its worker, and runs elsewhere',
    async (given) => {
      const { s, first, second, waiting } = given
      const workerId = await s.addWorker()
      const held = first.holdAfter(insertTriggers)
      const triggering = trigger(first, await s.createJob(), workerId)
      await held.reached
      const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await waiting()
      held.resume()
      assert.equal((await triggering).kind, 'triggered')
      assert.notEqual(await reclaiming, 'alive')
      const { live } = await s.claim(await s.addWorker())
      assert.deepEqual(
        live.map(({ attempt, losses }) => [attempt, losses]),
        [[2, 1]],
      )
    },
  )

  race('fire×reclaim: what is fired of a worker that is being reclaimed waits for another', async (given) => {
    const { s, first, second, waiting } = given
    const workerId = await s.addWorker()
    const held = second.holdAfter(reclaimLive)
    const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await held.reached
    const slot = s.slotOf(await s.createJob(), 0)
    const firing = first.slots.fireAndClaim([slot], { workerId, route: serverRoute })
    await waiting()
    held.resume()
    assert.notEqual(await reclaiming, 'alive')
    assert.deepEqual(await firing, { answers: [], batches: [] })
    assert.equal((await s.claim(await s.addWorker())).batches.length, 1)
  })

  race('claim×fire: what a fire takes nobody else claims', async ({ s, first, second }) => {
    const workerId = await s.addWorker()
    const helper = await s.addWorker()
    const held = first.holdAfter(claimFired)
    const slot = s.slotOf(await s.createJob(), 0)
    const firing = first.slots.fireAndClaim([slot], { workerId, route: serverRoute })
    await held.reached
    const lanes = [{ lane: sharedLane, count: 10 }]
    const order = { workerId: helper, routes: [serverRoute], lanes, hosts: [], batchesMax: 10 }
    assert.deepEqual(await second.queue.claim(order), { batches: [], live: [] })
    held.resume()
    const { batches } = await firing
    assert.equal(batches.length, 1)
    assert.deepEqual(await second.queue.claim(order), { batches: [], live: [] })
    await s.finishBatch(workerId, batches[0]!, s.succeeded())
  })

  race('a job that somebody has locked holds up no direct', async ({ s, client, first }) => {
    const workerId = await s.addWorker()
    const job = await s.createJob()
    await client.query('BEGIN')
    await client.query('SELECT FROM cursors WHERE job_id = $1 FOR UPDATE', [job.jobId])
    assert.deepEqual(await trigger(first, job, workerId), { kind: 'locked' })
    await client.query('COMMIT')
    assert.equal((await trigger(first, job, workerId)).kind, 'triggered')
  })
}
