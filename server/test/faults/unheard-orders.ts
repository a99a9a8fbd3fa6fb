// Writes requested by people, how they repeat them, and the state that must result.
import assert from 'node:assert/strict'
import { noSchedule } from '../../src/domain/jobs/job.ts'
import type { NewOperation } from '../../src/domain/jobs/operation.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { toTriggerBatches } from '../../src/domain/queue/trigger-batches.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { WriteStores } from '../../src/ports/requests.ts'
import { createPair, runOn, stepRuns, toolsOf } from '../conformance/graphs/run-scene.ts'
import { change, edit, pause, remove } from '../conformance/jobs/changes.ts'
import { placesOf } from '../races/invariants.ts'
import type { Session } from '../races/sessions.ts'

import {
  claimOne,
  claimTriggered,
  executionsOf,
  message,
  onceOf,
  outcomesOf,
  reply,
  type Work,
} from './unheard-scene.ts'

export const orders: Record<string, Work> = {
  async 'creation and trigger under a key'(race, twice) {
    const { s, client } = race
    const job = await s.createJob()
    const outcome = await twice(({ requests }) =>
      requests.run({ once: onceOf('create'), dryRun: false }, async ({ jobs }) => {
        assert.equal(await jobs.create({ ...job, jobId: s.ids.next() }), 'created')
        const order = { tenantId, jobId: job.jobId, executionId: s.ids.next(), lane: sharedLane }
        assert.equal((await jobs.trigger(order)).kind, 'triggered')
        return { value: null, reply }
      }),
    )
    assert.deepEqual(outcome, { kind: 'repeated', reply })
    assert.deepEqual([(await client.query('SELECT FROM jobs')).rowCount, await executionsOf(race)], [2, 1])
  },

  async 'a trigger that a worker takes, which hands back what it was not told of'({ s }, twice) {
    const workerId = await s.addWorker()
    const { jobId } = await s.createJob()
    const direct = { workerId, route: serverRoute }
    const again = await twice(({ jobs }) =>
      jobs.trigger({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane, direct }),
    )
    assert(again.kind === 'triggered')
    assert.equal(again.claimed, null, 'without a key it is another one, and waits for the first')
    assert.equal(await s.queue.releaseUnknown(workerId, []), 1)
    assert.equal((await s.claimLive(workerId)).attempt, 1)
  },

  async 'many triggers under a key'(race, twice) {
    const { s } = race
    const { jobId } = await s.createJob({ overlapPolicy: 'ALLOW' })
    const outcome = await twice(({ requests }) =>
      requests.run({ once: onceOf('many'), dryRun: false }, async ({ jobs }) => {
        const batches = toTriggerBatches({ count: 3, payloads: null }, () => s.ids.nextBatch())
        assert.equal(
          (await jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })).kind,
          'triggered',
        )
        return { value: null, reply }
      }),
    )
    assert.deepEqual(outcome, { kind: 'repeated', reply })
    assert.equal(await executionsOf(race), 3)
  },

  async 'changes of jobs under keys'(race, twice) {
    const { s, client } = race
    const [parent, job] = [await s.createJob(), await s.createJob()]
    const changed = async (key: string, work: (stores: WriteStores) => Promise<unknown>) => {
      const outcome = await twice(({ requests }) =>
        requests.run({ once: onceOf(key), dryRun: false }, async (stores) => {
          await work(stores)
          return { value: null, reply }
        }),
      )
      assert.deepEqual(outcome, { kind: 'repeated', reply })
    }
    await changed('pause', (stores) => change(stores, job, pause()))
    await changed('edit', (stores) => change(stores, job, edit({ name: 'other' })))
    assert.equal((await client.query(`SELECT FROM job_versions WHERE job_id = $1`, [job.jobId])).rowCount, 2)
    await changed('create after another', async ({ jobs }) => {
      const dependsOn = [{ jobId: parent.jobId, on: 'success' }] as const
      const after = { ...parent, jobId: s.ids.next(), schedule: noSchedule, slotAt: null, dependsOn }
      assert.equal(await jobs.create(after), 'created')
    })
    assert.equal((await client.query('SELECT FROM job_edges')).rowCount, 1)
    const ids = [await s.trigger(job), await s.trigger(job)]
    const fired = await s.createJob()
    ids.push(await s.fire(fired, 0))
    for (const one of [job, fired])
      await changed(`delete ${one.jobId}`, (stores) => change(stores, one, remove))
    for (const id of ids) assert.deepEqual(await outcomesOf(race, id), ['cancelled'])
  },

  async 'retry under a key, and redrive of a letter'(race, twice) {
    const { s } = race
    const { executionId, workerId, batch } = await claimOne(race, { overlapPolicy: 'ALLOW' })
    await s.finishBatch(workerId, batch, s.died())
    const outcome = await twice(({ requests }) =>
      requests.run({ once: onceOf('retry'), dryRun: false }, async ({ control }) => {
        const order = { tenantId, executionId, newExecutionId: s.ids.next(), lane: sharedLane }
        assert.equal((await control.retry(order)).kind, 'retried')
        return { value: null, reply }
      }),
    )
    assert.deepEqual([outcome, await executionsOf(race)], [{ kind: 'repeated', reply }, 2])
    await s.runAll()
    const other = await claimOne(race)
    await s.finishBatch(other.workerId, other.batch, s.died())
    const letters = [{ executionId: other.executionId, newExecutionId: s.ids.next(), lane: sharedLane }]
    const { redriven } = await twice(({ deadLetters }) => deadLetters.redrive({ tenantId, letters }))
    assert.deepEqual([redriven, await executionsOf(race)], [[], 4])
  },

  async 'cancel of what waits and of what runs'(race, twice) {
    const { s } = race
    const waiting = await s.trigger(await s.createJob())
    const cancel = (executionId: string) =>
      twice(({ control }) => control.cancel({ tenantId, executionId, message }))
    assert.equal((await cancel(waiting)).kind, 'cancelled')
    assert.deepEqual(await outcomesOf(race, waiting), ['cancelled'])
    const alone = await claimTriggered(race)
    assert.equal((await cancel(alone.executionId)).kind, 'cancelling')
    const together = await claimOne(race)
    assert.equal((await cancel(together.executionId)).kind, 'cancelling')
    for (const { executionId } of [alone, together]) assert.equal(await s.statusOf(executionId), 'CANCELLING')
  },

  async 'a graph run, its cancel and its resume'(race, twice) {
    const { s, client } = race
    const { root, child, inRun } = await createPair(s, { overlapPolicy: 'ALLOW' })
    await s.fire(root, 0, inRun(0))
    const { runId } = inRun(0)
    const step = async () => {
      const runIds = await s.runSteps.findNoted(100, true)
      if (runIds.length > 0) await twice(({ runSteps }) => runSteps.step(runIds, toolsOf(s.ids)))
    }
    await step()
    await s.runAll()
    await step()
    await s.runAll()
    await step()
    const executions = `SELECT FROM attempts WHERE final AND job_id = $1`
    for (const { jobId } of [root, child]) assert.equal((await client.query(executions, [jobId])).rowCount, 1)
    assert.equal((await s.graphRuns.get(tenantId, runId!))?.status, 'SUCCEEDED')
    await s.fire(root, 1, inRun(1))
    await stepRuns(s, true)
    const second = inRun(1).runId!
    const workerId = await s.addWorker()
    const running = await s.claimLive(workerId)
    await twice(({ graphRuns }) => graphRuns.cancel({ tenantId, runId: second, message }))
    await s.queue.finishLive(workerId, [{ ...running, ending: s.succeeded() }])
    await step()
    await step()
    assert.equal((await s.graphRuns.get(tenantId, second))?.status, 'CANCELLED')
    const order = { tenantId, runId: second, ...toolsOf(s.ids) }
    await twice(({ graphRuns }) => graphRuns.resume(order))
    assert.equal((await s.graphRuns.get(tenantId, second))?.resumes, 1)
    await runOn(s)
    await runOn(s)
    assert.equal((await s.graphRuns.get(tenantId, second))?.status, 'SUCCEEDED')
    await s.fire(root, 2, inRun(2))
    await stepRuns(s, true)
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    await step()
    assert.equal((await s.graphRuns.get(tenantId, inRun(2).runId!))?.status, 'FAILED')
    const { rows } = await client.query(`SELECT count(*)::int AS n FROM attempts WHERE outcome = 'skipped'`)
    assert.equal(rows[0].n, 1)
    // Before the first step there is no run yet, only the record that it is to start.
    await s.fire(root, 3, inRun(3))
    const third = inRun(3).runId!
    await twice(({ graphRuns }) => graphRuns.cancel({ tenantId, runId: third, message }))
    await step()
    await step()
    assert.equal((await s.graphRuns.get(tenantId, third))?.status, 'CANCELLED')
  },

  async 'an operation, each of its steps and its cancel'(race, twice) {
    const { s, client } = race
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const { schedule, anchorAt, jobId } = job
    const operation: NewOperation = {
      ...{
        operationId: s.ids.next(),
        tenantId,
        kind: 'backfill',
        createdBy: 'tester',
        createdAt: await s.now(),
      },
      filter: { jobId, from: s.at(0), to: s.at(9) },
      options: { backfill: { order: 'asc', maxConcurrent: 2, schedule, anchorAt } },
      ...{ total: 2, totalCapped: false },
    }
    const outcome = await twice(({ requests }) =>
      requests.run({ once: onceOf('operation'), dryRun: false }, async ({ operations }) => {
        assert.equal(await operations.create(operation), 'created')
        return { value: null, reply }
      }),
    )
    assert.equal(outcome.kind, 'repeated')
    const { operationId } = operation
    // One step makes an execution, and says how far it came: the next goes on behind it.
    let steps = 0
    const stepOf = ({ operations }: Pick<Session, 'operations'>) =>
      operations.step(async (found, { jobs }) => {
        steps += 1
        const executions = [{ executionId: s.ids.next(), slot: s.at(steps), lane: sharedLane }]
        await jobs.enqueueBackfill({ tenantId, jobId: job.jobId, operationId, unendedMax: 10, executions })
        return { done: 1, skipped: 0, after: found.done === 0 ? s.ids.next() : null, waitMs: 60_000 }
      })
    await twice(stepOf)
    assert.deepEqual([steps, await executionsOf(race)], [1, 1], 'the next step has to wait')
    const { rows } = await client.query('SELECT failures, done FROM operations')
    assert.deepEqual(rows, [{ failures: 0, done: 1 }], 'that it was not heard of is no failure')
    const cancelled = await twice(({ operations }) => operations.cancel(tenantId, operationId))
    assert.equal(cancelled?.status, 'CANCELLED')
    assert.deepEqual(Object.values(await placesOf(client)), ['final'])
  },
}
