// Writes by schedulers, workers and maintenance, how they repeat them, and the state that must result.
import assert from 'node:assert/strict'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { toTriggerBatches } from '../../src/domain/queue/trigger-batches.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { Ending, FinishAnswer } from '../../src/ports/queue.ts'
import { change, remove } from '../conformance/jobs/changes.ts'
import { notHeld } from '../conformance/scenario.ts'
import { placesOf } from '../races/invariants.ts'
import { releaseAll } from '../races/sessions.ts'
import { claimOne, claimTriggered, executionsOf, outcomesOf, type Work } from './unheard-scene.ts'

export const works: Record<string, Work> = {
  async fire(race, twice) {
    const { s } = race
    const jobs = [
      await s.createJob(),
      await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 1 }),
      await s.createJob({ concurrencyKey: { key: 'key', limit: 2 } }),
    ]
    // The scheduler makes new ids each time.
    const answers = await twice(({ slots }) => slots.fire(jobs.map((job) => s.slotOf(job, 0))))
    assert.deepEqual(
      answers.map(({ answer }) => answer),
      ['already_recorded', 'already_recorded', 'already_recorded'],
    )
    assert.equal(await executionsOf(race), jobs.length)
  },

  async 'fire for a worker, which hands back what it was not told of'(race, twice) {
    const { s } = race
    const workerId = await s.addWorker()
    const job = await s.createJob()
    const direct = { workerId, route: serverRoute }
    const { answers, batches } = await twice(({ slots }) => slots.fireAndClaim([s.slotOf(job, 0)], direct))
    assert.deepEqual([answers.map(({ answer }) => answer), batches], [['already_recorded'], []])
    assert.equal(await executionsOf(race), 1)
    assert.equal(await s.queue.releaseUnknown(workerId, []), 1)
    const { live } = await s.claim(workerId)
    assert.deepEqual(
      live.map(({ jobId, attempt }) => [jobId, attempt]),
      [[job.jobId, 1]],
    )
  },

  async 'take notes of changes'({ s }, twice) {
    const job = await s.createJob()
    const partitions = Array.from({ length: 64 }, (_, id) => id)
    // Changes taken with a lost reply are found by the next load of the window, and by the query for overdue jobs.
    assert.deepEqual(await twice(({ slots }) => slots.takeChanges(partitions, 10)), [])
    const request = { partitions: partitions.map((partitionId) => ({ partitionId, after: null })) }
    const loaded = await s.slots.load({ ...request, dueBefore: s.at(10_000), limit: 10 })
    assert.deepEqual(
      loaded.map(({ jobId }) => jobId),
      [job.jobId],
    )
  },

  async 'claim, and hand back what was claimed unheard'(race, twice) {
    const { s } = race
    const fired = await s.fire(await s.createJob(), 0)
    const triggered = await s.trigger(await s.createJob())
    const workerId = await s.addWorker()
    const routes = ['server']
    const order = { workerId, routes, lanes: [{ lane: sharedLane, count: 10 }], hosts: [], batchesMax: 10 }
    for (const singles of [true, false]) {
      const nothing = await twice(({ queue }) => queue.claim({ ...order, singles }))
      assert.deepEqual(nothing, { batches: [], live: [] })
      await twice(({ queue }) => queue.releaseUnknown(workerId, []))
    }
    const { live } = await s.claim(workerId)
    assert.deepEqual(
      live.map(({ executionId, attempt }) => [executionId, attempt]).toSorted(),
      [fired, triggered].map((id) => [id, 1]).toSorted(),
    )
  },

  async 'finish of a batch'(race, twice) {
    const { s } = race
    // Endings after which others may claim the execution again come last.
    const endings: [Ending, string[]][] = [
      [s.succeeded(), ['succeeded']],
      [s.failedForNow(), ['failed']],
      [s.died(), ['failed']],
      [s.running(), []],
      [s.awaiting(), []],
      [{ kind: 'unstarted', host: null }, []],
    ]
    for (const [ending, outcomes] of endings) {
      const { executionId, workerId, batch, job } = await claimOne(race)
      const { batchId, fence } = batch
      const finished = [{ batchId, fence, endings: [{ position: 0, ending }] }]
      const answer: FinishAnswer = await twice(({ queue }) => queue.finishBatches(workerId, finished))
      assert.deepEqual(answer, notHeld(batchId))
      const asked = [{ executionId, attempt: 1, jobId: job.jobId }]
      const own = await s.queue.findOwn(workerId, asked)
      // So the worker learns that it was its own write.
      if (outcomes.length > 0) assert.deepEqual(own, [{ executionId, status: 'recorded' }])
      assert.deepEqual(await outcomesOf(race, executionId), outcomes)
    }
  },

  async 'finish of one that is alone'(race, twice) {
    const { executionId, workerId, one, job } = await claimTriggered(race)
    const finished = [{ ...one, ending: race.s.succeeded() }]
    assert.deepEqual(await twice(({ queue }) => queue.finishLive(workerId, finished)), notHeld(executionId))
    const own = await race.s.queue.findOwn(workerId, [{ executionId, attempt: 1, jobId: job.jobId }])
    assert.deepEqual(own, [{ executionId, status: 'recorded' }])
    assert.deepEqual(await outcomesOf(race, executionId), ['succeeded'])
  },

  async 'the word of a target or an SDK worker'(race, twice) {
    const { s } = race
    const alone = await claimTriggered(race)
    const together = await claimOne(race)
    for (const { executionId, workerId, job } of [alone, together]) {
      const mark = { executionId, attempt: 1, jobId: job.jobId, fence: 1, workerId }
      const [noted] = await twice(({ attempts }) =>
        attempts.update([{ ...mark, alive: true, progress: 0.5 }]),
      )
      assert.equal(noted?.status, 'updated')
      const part = { tenantId, executionId, attempt: 1, firstLine: 0 }
      const lines = [{ at: s.at(1), level: 'info', message: 'hello' }] as const
      await twice(({ logs }) => logs.append([{ ...part, lines }]))
      const query = { tenantId, executionId, attempt: null, after: null, limit: 10 }
      assert.equal((await s.logs.read(query)).lines.length, 1)
      const answer = await twice(({ attempts }) => attempts.report([{ ...mark, ending: s.succeeded() }]))
      assert.deepEqual(answer, { refused: [], cancelled: [] })
      assert.deepEqual(await outcomesOf(race, executionId), ['succeeded'])
    }
    const batched = await claimOne(race)
    const mark = { ...batched, attempt: 1, jobId: batched.job.jobId, fence: batched.batch.fence }
    await twice(({ attempts }) => attempts.report([{ ...mark, ending: s.succeeded() }]))
    assert.deepEqual(await outcomesOf(race, batched.executionId), ['succeeded'])
  },

  async 'release of what waits'(race, twice) {
    const { s } = race
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 2 })
    for (let n = 0; n < 5; n++) await s.trigger(job)
    await twice(({ maintenance }) => releaseAll({ maintenance, ids: s.ids }, [job.jobId]))
    const { rows } = await race.client.query(`SELECT count(*)::int AS n FROM live WHERE state = 'ready'`)
    assert.equal(rows[0].n, 2)
  },

  async 'release of a slot that cancels running executions'(race, twice) {
    const { s } = race
    const job = await s.createJob({ overlapPolicy: 'CANCEL_RUNNING' })
    const executionId = await s.fire(job, 0)
    await s.claim(await s.addWorker())
    await s.slots.fire([s.slotOf(job, 1)])
    await twice(({ maintenance }) => releaseAll({ maintenance, ids: s.ids }, [job.jobId]))
    assert.equal(await s.statusOf(executionId), 'CANCELLING')
  },

  async 'release of executions that a deleted job left behind'(race, twice) {
    const { s, client } = race
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (let n = 0; n < 3; n++) {
      const batches = toTriggerBatches({ count: 1_000, payloads: null }, () => s.ids.nextBatch())
      await s.jobs.triggerMany({ tenantId, jobId: job.jobId, lane: sharedLane, batches })
    }
    await change(s, job, remove)
    await twice(({ maintenance }) => releaseAll({ maintenance, ids: s.ids }, [job.jobId]))
    assert.equal((await client.query('SELECT FROM batches')).rowCount, 0)
    assert.equal((await client.query(`SELECT FROM attempts WHERE outcome = 'cancelled'`)).rowCount, 3_000)
  },

  async reclaim(race, twice) {
    const alone = await claimTriggered(race)
    const together = await claimOne(race)
    for (const { workerId, executionId } of [alone, together]) {
      const beat = (await race.s.maintenance.watch()).find(({ holderId }) => holderId === workerId)!
      assert.equal(await twice(({ maintenance }) => maintenance.reclaim(beat)), 'alive')
      assert.deepEqual(await outcomesOf(race, executionId), ['lost'])
    }
  },

  async 'wake of a retry, end of what is overdue'(race, twice) {
    const { s, client } = race
    const failed = await claimTriggered(race)
    await s.finishLive(failed.workerId, failed.one, s.failedForNow())
    assert.equal(await twice(({ maintenance }) => maintenance.wake(10)), 0)
    assert.equal((await client.query(`SELECT FROM live WHERE state = 'ready'`)).rowCount, 1)
    const silent = await s.claimLive(failed.workerId)
    await client.query(`UPDATE live SET deadline = clock_timestamp() - interval '1 minute'`)
    const ends = [{ ...silent, end: s.died().end }]
    assert.deepEqual(await twice(({ maintenance }) => maintenance.timeOut(ends)), [])
    assert.deepEqual(await outcomesOf(race, failed.executionId), ['failed', 'failed'])
  },

  async 'what is forgotten in a batch'(race, twice) {
    const { s, client } = race
    const { executionId } = await claimOne(race)
    await client.query(`UPDATE batches SET claimed_at = claimed_at - interval '61 seconds'`)
    await twice(({ maintenance }) => maintenance.findOverdue(10))
    assert.deepEqual(await placesOf(client), { [executionId]: 'live' })
    assert.equal(await s.statusOf(executionId), 'RUNNING')
  },

  async 'leases of workers and schedulers'({ s, client }, twice) {
    const workerId = s.ids.next()
    const worker = { workerId, host: 'a', port: null, version: '1', labels: [], capacity: 1, tenantId: null }
    await twice(({ leases }) => leases.register({ ...worker, executors: ['http'], handlers: [] }))
    const load = { status: 'ACTIVE', currentLoad: 0 } as const
    assert.equal(await twice(({ leases }) => leases.beat(workerId, load)), 'held')
    await twice(({ leases }) => leases.unregister(workerId))
    assert.equal(await s.leases.beat(workerId, load), 'lost')
    const schedulerId = s.ids.next()
    await twice(({ partitions }) => partitions.join(schedulerId))
    assert.equal(await twice(({ partitions }) => partitions.beat(schedulerId)), 'held')
    // Partitions taken with a lost reply are seen by the next query.
    assert.deepEqual(await twice(({ partitions }) => partitions.take(schedulerId, [1, 2])), [])
    await twice(({ partitions }) => partitions.release(schedulerId, [2]))
    assert.deepEqual((await s.partitions.view()).holders.slice(0, 3), [null, schedulerId, null])
    const beat = (await s.partitions.view()).schedulers[0]!
    assert.equal(await twice(({ partitions }) => partitions.expel(beat)), 'alive')
    await s.partitions.join(schedulerId)
    await twice(({ partitions }) => partitions.leave(schedulerId))
    assert.equal((await client.query('SELECT FROM schedulers')).rowCount, 0)
  },
}
