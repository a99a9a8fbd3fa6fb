// Conformance: which executions start a run of a graph, and which run it is.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { partitionsCount } from '../../../src/domain/jobs/job.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { remove } from '../jobs/changes.ts'
import { createOperation } from '../jobs/jobs-backfill.ts'
import type { StoreScenario } from '../stores.ts'
import { createAfter, createPair, inRunOf, runOn, stepRuns } from './run-scene.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testRunStart(name: string, setup: Setup): void {
  testFire(name, setup)
  testOwed(name, setup)
  testChangedGraph(name, setup)
  testByHand(name, setup)
  testBackfill(name, setup)
}

const partitionIds = Array.from({ length: partitionsCount }, (_, id) => id)

/** The statuses of the executions of a job, newest first. */
async function statusesOf(s: StoreScenario, job: NewJob): Promise<string[]> {
  return (await s.list(job)).executions.map(({ status }) => status)
}

/** Claims every waiting execution; returns the runs by job. */
async function claimRuns(s: StoreScenario): Promise<Map<string, string | null>> {
  const { batches, live } = await s.claim(await s.addWorker())
  assert.deepEqual(batches, [])
  return new Map(live.map(({ jobId, runId }) => [jobId, runId]))
}

function testFire(name: string, setup: Setup): void {
  test(`${name}: a slot of a root starts a run of its graph`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createPair(s)
    const started = await s.fire(root, 1, inRun(1))
    assert.equal((await s.view(started)).runId, inRun(1).runId)
    assert.deepEqual(await statusesOf(s, child), [], 'nothing until somebody looks at the run')
    await stepRuns(s)
    assert.deepEqual(await statusesOf(s, child), ['WAITING_DEPENDENCIES'])
    await runOn(s)
    assert.deepEqual(await claimRuns(s), new Map([[child.jobId, inRun(1).runId!]]))
  })

  test(`${name}: roots that fire for the same slot share one run, in any order`, async (t) => {
    const s = await setup(t)
    const roots = [await s.createJob(), await s.createJob()] as const
    const child = await createAfter(s, roots)
    const inRun = inRunOf(s, ...roots, child)
    await s.fire(roots[1], 1, inRun(1))
    await stepRuns(s)
    await s.fire(roots[0], 1, inRun(1))
    await stepRuns(s)
    const { runId } = inRun(1)
    const workerId = await s.addWorker()
    const { live } = await s.claim(workerId)
    assert.deepEqual(
      live.map((one) => one.runId),
      [runId, runId],
    )
    assert.deepEqual(await statusesOf(s, child), ['WAITING_DEPENDENCIES'], 'one for both')
    await s.finishLive(workerId, live[0]!, s.succeeded())
    await stepRuns(s)
    assert.deepEqual(await statusesOf(s, child), ['WAITING_DEPENDENCIES'])
    await s.finishLive(workerId, live[1]!, s.succeeded())
    await stepRuns(s)
    assert.deepEqual(await statusesOf(s, child), ['PENDING'])
  })

  test(`${name}: roots that fire for different slots start runs of their own`, async (t) => {
    const s = await setup(t)
    const roots = [await s.createJob(), await s.createJob()] as const
    const inRun = inRunOf(s, ...roots, await createAfter(s, roots))
    for (const [second, root] of roots.entries()) await s.fire(root, second, inRun(second))
    const runs = await claimRuns(s)
    assert.deepEqual(
      roots.map(({ jobId }) => runs.get(jobId)),
      [inRun(0).runId, inRun(1).runId],
    )
  })

  test(`${name}: a job without a graph starts none`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.trigger(job)
    assert.deepEqual(await s.runSteps.findNoted(10, true), [])
  })

  test(`${name}: a retry of a root's execution runs alone`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createPair(s)
    const failed = await s.fire(root, 1, inRun(1))
    const workerId = await s.addWorker()
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    await stepRuns(s)
    const executionId = s.ids.next()
    const order = {
      tenantId: root.tenantId,
      executionId: failed,
      newExecutionId: executionId,
      lane: sharedLane,
    }
    assert.equal((await s.control.retry(order)).kind, 'retried')
    await s.release(root)
    assert.equal((await s.claimLive(workerId)).runId, null)
    assert.deepEqual(await statusesOf(s, child), ['SKIPPED'])
  })
}

function testOwed(name: string, setup: Setup): void {
  for (const overlapPolicy of ['SKIP', 'BUFFER_ALL'] as const) {
    test(`${name}: ${overlapPolicy}: missed slots of a root are one run after the other`, async (t) => {
      const s = await setup(t)
      const { root, child, inRun } = await createPair(s, { overlapPolicy, misfirePolicy: 'FIRE_ALL' })
      const move = { slotAt: s.at(4), dueAt: s.at(4), decidedTo: s.at(3) }
      await s.fire(root, 1, inRun(1, { late: true, owedTo: s.at(3), move }))
      for (const second of [1, 2, 3]) {
        if (second > 1) assert.equal((await s.release(root)).ready, 1)
        const ofRoot = await claimRoot(s)
        assert.deepEqual([ofRoot.slot, ofRoot.runId], [s.at(second), inRun(second).runId])
        assert.equal((await s.release(root)).ready, 0, 'the root has ended, its run has not')
        await runOn(s)
        assert.deepEqual((await s.look(root)).runsUnderWay, 0)
      }
      // The last run has ended, and with it the catch-up.
      await s.release(root)
      assert.equal(await s.owedBy(root), null)
      assert.deepEqual(await statusesOf(s, child), ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])
    })
  }

  test(`${name}: where overlap is allowed missed slots of a root are runs beside each other`, async (t) => {
    const s = await setup(t)
    const { root, inRun } = await createPair(s, { overlapPolicy: 'ALLOW', misfirePolicy: 'FIRE_ALL' })
    const move = { slotAt: s.at(4), dueAt: s.at(4), decidedTo: s.at(3) }
    await s.fire(root, 1, inRun(1, { late: true, owedTo: s.at(3), move }))
    assert.equal((await s.release(root)).ready, 2)
    const { live } = await s.claim(await s.addWorker())
    const runs = [1, 2, 3].map((second) => inRun(second).runId)
    assert.deepEqual(new Set(live.map(({ runId }) => runId)), new Set(runs))
  })
}

/** Runs the root's execution, and lets its run see it. */
async function claimRoot(s: StoreScenario) {
  const workerId = await s.addWorker()
  const claimed = await s.claimLive(workerId)
  await s.finishLive(workerId, claimed, s.succeeded())
  await stepRuns(s)
  return claimed
}

function testChangedGraph(name: string, setup: Setup): void {
  test(`${name}: a slot planned before others came to depend on its job is planned anew, in their graph`, async (t) => {
    const s = await setup(t)
    const root = await s.createJob()
    assert.equal((await s.slots.takeChanges(partitionIds, 10))[0]!.graphId, null)
    const inRun = inRunOf(s, root, await createAfter(s, [root]))
    await s.slots.takeChanges(partitionIds, 10)
    assert.equal(await s.tryFire(root, 0), 'stale')
    assert.deepEqual(await s.list(root).then(({ total }) => total), 0, 'nothing is decided')
    const [noted, ...more] = await s.slots.takeChanges(partitionIds, 10)
    assert.deepEqual([noted!.jobId, noted!.slotAt, noted!.graphId], [root.jobId, s.at(0), inRun(0).graphId])
    assert.deepEqual(more, [])
    assert.equal(await s.tryFire(root, 0, inRun(0)), 'fired')
  })

  test(`${name}: a slot planned before its job left its graph is planned anew`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createPair(s)
    const { tenantId, jobId } = child
    await s.jobs.change({ tenantId, jobId, dependsOn: [] }, remove)
    assert.equal(await s.tryFire(root, 0, inRun(0)), 'stale')
    assert.equal(await s.tryFire(root, 0), 'fired')
    assert.deepEqual(await s.runSteps.findNoted(10, true), [])
  })

  test(`${name}: a job that runs after others has no slot, even if one is planned`, async (t) => {
    const s = await setup(t)
    const { child, inRun } = await createPair(s)
    assert.equal(await s.tryFire(child, 0, inRun(0)), 'stale')
    assert.equal((await s.list(child)).total, 0)
  })
}

function testByHand(name: string, setup: Setup): void {
  test(`${name}: a trigger of a root starts a run that has its id`, async (t) => {
    const s = await setup(t)
    const { root, child } = await createPair(s)
    const { tenantId, jobId } = root
    const executionId = s.ids.next()
    const outcome = await s.jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
    assert(outcome.kind === 'triggered')
    assert.equal(outcome.runId, executionId)
    assert.deepEqual(await s.runSteps.findNoted(10, false), [executionId])
    await runOn(s)
    await stepRuns(s)
    assert.deepEqual(await claimRuns(s), new Map([[child.jobId, executionId]]))
  })

  test(`${name}: a trigger of a job that runs after others runs it alone`, async (t) => {
    const s = await setup(t)
    const { child } = await createPair(s)
    const { tenantId, jobId } = child
    const order = { tenantId, jobId, executionId: s.ids.next(), lane: sharedLane }
    const outcome = await s.jobs.trigger(order)
    assert(outcome.kind === 'triggered')
    assert.equal(outcome.runId, null)
    assert.deepEqual(await claimRuns(s), new Map([[jobId, null]]))
    assert.deepEqual(await s.runSteps.findNoted(10, true), [])
  })

  test(`${name}: an execution that waits for others of its run is in nobody's way`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createPair(s)
    await s.fire(root, 0, inRun(0))
    await stepRuns(s)
    const triggered = await s.trigger(child)
    const { live } = await s.claim(await s.addWorker())
    assert(live.some(({ executionId }) => executionId === triggered))
    assert.equal((await s.look(child)).underWay, 1)
  })

  test(`${name}: an execution that waits for others of its run is skipped in its turn when its job is deleted`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createPair(s)
    await s.fire(root, 0, inRun(0))
    await stepRuns(s)
    const { tenantId, jobId } = child
    await s.jobs.change({ tenantId, jobId, dependsOn: [] }, remove)
    assert.deepEqual(await statusesOf(s, child), ['WAITING_DEPENDENCIES'])
    await runOn(s)
    const { executions } = await s.list(child)
    assert.deepEqual(
      executions.map(({ status, skipped }) => [status, skipped?.reason]),
      [['SKIPPED', 'deleted']],
    )
  })
}

function testBackfill(name: string, setup: Setup): void {
  for (const overlapPolicy of ['SKIP', 'ALLOW'] as const) {
    test(`${name}: ${overlapPolicy}: a backfill of a root has no more runs under way than it may have`, async (t) => {
      const s = await setup(t)
      const { root, child } = await createPair(s, { overlapPolicy })
      const { tenantId, jobId } = root
      const operationId = await createOperation(s, root)
      const enqueue = async (...seconds: number[]) => {
        const executions = seconds.map((second) => {
          return { executionId: s.ids.next(), slot: s.at(second), lane: sharedLane }
        })
        const order = { tenantId, jobId, operationId, unendedMax: 2, executions }
        return { executions, answer: await s.jobs.enqueueBackfill(order) }
      }
      const first = await enqueue(0, 1, 2)
      assert.deepEqual(first.answer, { enqueued: 2, unended: 2 })
      assert.deepEqual((await enqueue(2)).answer, { enqueued: 0, unended: 2 }, 'each counts once')
      if (overlapPolicy === 'SKIP') for (const _ of [1, 2]) assert.equal((await s.release(root)).ready, 1)
      const workerId = await s.addWorker()
      const { live } = await s.claim(workerId)
      const ids = first.executions.slice(0, 2).map(({ executionId }) => executionId)
      assert.deepEqual(
        live.map(({ executionId, runId }) => [executionId, runId]),
        ids.map((id) => [id, id]),
      )
      for (const one of live) await s.finishLive(workerId, one, s.succeeded())
      await stepRuns(s)
      assert.deepEqual((await enqueue(2)).answer, { enqueued: 0, unended: 2 }, 'their runs go on')
      const children = (await s.claim(workerId)).live.filter((one) => one.jobId === child.jobId)
      await s.finishLive(workerId, children[0]!, s.succeeded())
      await stepRuns(s)
      const third = await enqueue(2, 3)
      assert.deepEqual(third.answer, { enqueued: 1, unended: 2 })
      assert.equal((await s.release(root)).ready, overlapPolicy === 'SKIP' ? 1 : 0)
      assert.equal((await s.claimLive(workerId)).runId, third.executions[0]!.executionId)
    })
  }

  test(`${name}: a backfill of a root waits for the run under way`, async (t) => {
    const s = await setup(t)
    const { root, inRun } = await createPair(s)
    await s.fire(root, 5, inRun(5))
    await runOn(s)
    const operationId = await createOperation(s, root)
    const executions = [{ executionId: s.ids.next(), slot: s.at(0), lane: sharedLane }]
    const { tenantId, jobId } = root
    await s.jobs.enqueueBackfill({ tenantId, jobId, operationId, unendedMax: 2, executions })
    assert.equal((await s.release(root)).ready, 0)
    await runOn(s)
    assert.equal((await s.release(root)).ready, 1)
  })

  test(`${name}: with a cancelled backfill of a root end the runs of it that have not begun`, async (t) => {
    const s = await setup(t)
    const { root, child } = await createPair(s)
    const operationId = await createOperation(s, root)
    const executions = [{ executionId: s.ids.next(), slot: s.at(0), lane: sharedLane }]
    const { tenantId, jobId } = root
    await s.jobs.enqueueBackfill({ tenantId, jobId, operationId, unendedMax: 2, executions })
    await stepRuns(s)
    assert.deepEqual(await statusesOf(s, child), ['WAITING_DEPENDENCIES'])
    await s.operations.cancel(tenantId, operationId)
    await stepRuns(s)
    assert.deepEqual([await statusesOf(s, root), await statusesOf(s, child)], [['CANCELLED'], ['CANCELLED']])
    assert.equal(await s.tryFire(root, 5, inRunOf(s, root, child)(5)), 'fired', 'nothing is in its way')
  })
}
