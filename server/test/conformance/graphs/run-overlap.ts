// Conformance: the overlap policy of a root concerns its runs: one is under way until all of it has ended.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { OVERLAP_POLICIES } from '@carillon/contract/constants.ts'
import { supersededMessage } from '../../../src/domain/queue/release.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change, edit } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { createPair, runOn, stepRuns } from './run-scene.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const byPolicy = {
  ALLOW: 'fired',
  SKIP: 'overlap',
  BUFFER_ONE: 'buffered',
  BUFFER_ALL: 'buffered',
  CANCEL_RUNNING: 'buffered',
} as const

export function testRunOverlap(name: string, setup: Setup): void {
  testPolicies(name, setup)
  testWaiting(name, setup)
  testCancelRunning(name, setup)
  testAfterCompletion(name, setup)
}

/** A pair of which the root has ended for second 0, and the other is to run. */
async function createGoing(s: StoreScenario, changes: Partial<NewJob> = {}) {
  const pair = await createPair(s, changes)
  await s.fire(pair.root, 0, pair.inRun(0))
  await runOn(s)
  await stepRuns(s)
  return pair
}

function testPolicies(name: string, setup: Setup): void {
  for (const overlapPolicy of OVERLAP_POLICIES) {
    test(`${name}: ${overlapPolicy}: a slot of a root that comes while its run goes on`, async (t) => {
      const s = await setup(t)
      const { root, inRun } = await createGoing(s, { overlapPolicy })
      assert.equal(await s.tryFire(root, 1, inRun(1)), byPolicy[overlapPolicy])
      await s.runAll()
      assert.equal(await s.tryFire(root, 2, inRun(2)), secondOf(overlapPolicy), 'nobody has seen the end yet')
    })

    test(`${name}: ${overlapPolicy}: a slot of a root that comes when its run has ended fires`, async (t) => {
      const s = await setup(t)
      const { root, inRun } = await createGoing(s, { overlapPolicy })
      await runOn(s)
      assert.equal(await s.tryFire(root, 1, inRun(1)), 'fired')
    })

    test(`${name}: ${overlapPolicy}: a late slot of a root is owed while its run goes on, unless overlap is allowed`, async (t) => {
      const s = await setup(t)
      const { root, inRun } = await createGoing(s, { overlapPolicy })
      const expected = overlapPolicy === 'ALLOW' ? 'fired' : 'deferred'
      assert.equal(await s.tryFire(root, 1, inRun(1, { late: true })), expected)
    })

    test(`${name}: ${overlapPolicy}: a trigger of a root waits for the end of its run, unless overlap is allowed`, async (t) => {
      const s = await setup(t)
      const { root, child } = await createGoing(s, { overlapPolicy })
      const triggered = await s.trigger(root)
      await s.release(root)
      const workerId = await s.addWorker()
      const { live } = await s.claim(workerId)
      assert.deepEqual(
        live.map(({ jobId }) => jobId).toSorted(),
        (overlapPolicy === 'ALLOW' ? [child, root] : [child]).map(({ jobId }) => jobId).toSorted(),
      )
      if (overlapPolicy === 'ALLOW') return
      await s.finishLive(workerId, live[0]!, s.succeeded())
      assert.equal((await s.release(root)).ready, 0, 'nobody has seen the end yet')
      await stepRuns(s)
      assert.equal((await s.release(root)).ready, 1)
      assert.equal((await s.claimLive(workerId)).executionId, triggered)
    })
  }

  test(`${name}: a job that left its graph waits for the runs that it started`, async (t) => {
    const s = await setup(t)
    const { root, child } = await createGoing(s)
    const { tenantId, jobId } = child
    const alone = edit({ dependsOn: [], schedule: root.schedule })
    await s.jobs.change({ tenantId, jobId, dependsOn: [] }, alone)
    assert.equal(await s.tryFire(root, 1), 'overlap')
    await runOn(s)
    assert.equal(await s.tryFire(root, 2), 'fired')
  })
}

/** Of a slot behind one that came while the run went on. */
function secondOf(overlapPolicy: keyof typeof byPolicy) {
  return overlapPolicy === 'BUFFER_ONE' ? 'overlap' : byPolicy[overlapPolicy]
}

function testWaiting(name: string, setup: Setup): void {
  test(`${name}: a buffered slot of a root goes when the run before it has ended, and is a run itself`, async (t) => {
    const s = await setup(t)
    const { root, inRun } = await createGoing(s, { overlapPolicy: 'BUFFER_ALL' })
    for (const second of [1, 2]) assert.equal(await s.tryFire(root, second, inRun(second)), 'buffered')
    assert.equal((await s.release(root)).ready, 0)
    for (const second of [1, 2]) {
      await runOn(s)
      assert.equal((await s.release(root)).ready, 1)
      assert.equal((await s.release(root)).ready, 0)
      const workerId = await s.addWorker()
      const claimed = await s.claimLive(workerId)
      assert.deepEqual([claimed.slot, claimed.runId], [s.at(second), inRun(second).runId])
      await s.finishLive(workerId, claimed, s.succeeded())
      await stepRuns(s)
      assert.equal((await s.release(root)).ready, 0, 'its run goes on')
    }
  })

  test(`${name}: a run is under way from when its root is let go to when all of it has ended`, async (t) => {
    const s = await setup(t)
    const { root, inRun } = await createPair(s, { overlapPolicy: 'BUFFER_ALL' })
    const seen = async () => {
      const { underWay, uncancelled, runsUnderWay, graphId } = await s.look(root)
      assert.equal(graphId, inRun(0).graphId)
      return [underWay, uncancelled, runsUnderWay]
    }
    assert.deepEqual(await seen(), [0, 0, 0])
    await s.fire(root, 0, inRun(0))
    assert.deepEqual(await seen(), [1, 2, 1])
    assert.equal(await s.tryFire(root, 1, inRun(1)), 'buffered')
    assert.deepEqual(await seen(), [1, 2, 1], 'what waits is not under way')
    await runOn(s)
    assert.deepEqual(await seen(), [0, 1, 1])
    await runOn(s)
    assert.deepEqual(await seen(), [0, 0, 0])
  })

  test(`${name}: a late slot waits for the run of a trigger, also while the run of a younger slot is open`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createPair(s, { overlapPolicy: 'BUFFER_ALL' })
    await s.trigger(root)
    await s.release(root)
    await runOn(s)
    assert.equal(await s.tryFire(root, 1, inRun(1, { late: true })), 'deferred')
    const younger = s.slotOf(root, 2, inRun(2))
    assert.deepEqual(
      (await s.slots.fire([younger])).map(({ answer }) => answer),
      ['buffered'],
    )
    await stepRuns(s)
    const { tenantId } = root
    const [node] = (await s.graphRuns.get(tenantId, younger.runId!))!.plan
    await s.control.cancel({ tenantId, executionId: node!.executionId!, message: 'no' })
    const { runsUnderWay, runsFrom } = await s.look(root)
    assert.deepEqual([runsUnderWay, runsFrom], [2, null], 'no step has ended the cancelled run yet')
    assert.equal((await s.release(root)).ready, 0)
    await runOn(s)
    assert.equal((await s.list(child)).executions.length, 2, 'both runs have ended')
    assert.equal((await s.release(root)).ready, 1)
    assert.equal((await s.claimLive(await s.addWorker())).slot, s.at(1))
  })

  test(`${name}: where overlap is allowed runs count against no limit`, async (t) => {
    const s = await setup(t)
    const { root, inRun } = await createPair(s, { overlapPolicy: 'ALLOW', concurrencyLimit: 1 })
    for (const second of [0, 1]) assert.equal(await s.tryFire(root, second, inRun(second)), 'buffered')
    assert.equal((await s.release(root)).ready, 1)
    await runOn(s)
    assert.equal((await s.look(root)).runsUnderWay, 0)
    assert.equal((await s.release(root)).ready, 1, 'the first run goes on')
  })

  test(`${name}: a node of a run of an edited graph starts beside runs that its job has started`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createPair(s)
    await s.fire(root, 0, inRun(0))
    await stepRuns(s)
    // Reversed: the job that ran first now runs after the other, while the run is under way.
    const schedule = { type: 'CRON', cron_expression: '* * * * * *' } as const
    const { tenantId } = root
    const free = edit({ dependsOn: [], schedule })
    await s.jobs.change({ tenantId, jobId: child.jobId, dependsOn: [] }, free)
    const dependsOn = [{ jobId: child.jobId, on: 'success' }] as const
    await s.jobs.change({ tenantId, jobId: root.jobId, dependsOn }, edit({ dependsOn }))
    await s.trigger(child)
    for (let rounds = 0; rounds < 5; rounds++) {
      await runOn(s)
      await s.release(root, child)
    }
    const statuses = []
    for (const job of [root, child]) statuses.push((await s.list(job)).executions.map(({ status }) => status))
    const twice = ['SUCCEEDED', 'SUCCEEDED']
    assert.deepEqual(statuses, [twice, twice], 'both runs came to their end')
  })
}

function testCancelRunning(name: string, setup: Setup): void {
  const overlapPolicy = 'CANCEL_RUNNING'

  test(`${name}: CANCEL_RUNNING: a slot of a root cancels the run before it, also after its root has ended`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createGoing(s, { overlapPolicy })
    assert.equal(await s.tryFire(root, 1, inRun(1)), 'buffered')
    await s.release(root)
    const { uncancelled, runsUnderWay } = await s.look(root)
    assert.deepEqual([uncancelled, runsUnderWay], [0, 1], 'it is waited for, and not cancelled again')
    assert.equal((await s.release(root)).ready, 0)
    await stepRuns(s)
    const [cancelled] = (await s.list(child)).executions.slice(-1)
    assert.equal(cancelled!.status, 'CANCELLED')
    assert.equal(cancelled!.error?.message, supersededMessage(s.at(1)))
    const run = await s.graphRuns.get(root.tenantId, inRun(0).runId!)
    assert.deepEqual([run!.status, run!.cancelMessage], ['CANCELLED', supersededMessage(s.at(1))])
    assert.equal((await s.release(root)).ready, 1)
    const claimed = await s.claimLive(await s.addWorker())
    assert.deepEqual([claimed.slot, claimed.runId], [s.at(1), inRun(1).runId])
  })

  test(`${name}: CANCEL_RUNNING: a new run waits for the running executions of the run before it`, async (t) => {
    const s = await setup(t)
    const { root, inRun } = await createGoing(s, { overlapPolicy })
    const workerId = await s.addWorker()
    const running = await s.claimLive(workerId)
    for (const second of [1, 2]) assert.equal(await s.tryFire(root, second, inRun(second)), 'buffered')
    await s.release(root)
    await stepRuns(s)
    assert.equal(await s.statusOf(running.executionId), 'CANCELLING')
    const { uncancelled, runsUnderWay } = await s.look(root)
    assert.deepEqual([uncancelled, runsUnderWay], [0, 1])
    assert.equal((await s.release(root)).ready, 0)
    const { executionId, fence, attempt } = running
    const ending = s.succeeded()
    await s.queue.finishLive(workerId, [{ executionId, fence, attempt, ending }])
    await stepRuns(s)
    assert.equal((await s.release(root)).ready, 1)
    assert.equal((await s.claimLive(workerId)).runId, inRun(2).runId, 'only the latest of those that wait')
    const superseded = await s.graphRuns.get(root.tenantId, inRun(1).runId!)
    assert.equal(superseded!.status, 'CANCELLED')
  })

  test(`${name}: CANCEL_RUNNING: a root that runs is cancelled with its run`, async (t) => {
    const s = await setup(t)
    const { root, child, inRun } = await createPair(s, { overlapPolicy })
    await s.fire(root, 0, inRun(0))
    await stepRuns(s)
    assert.equal(await s.tryFire(root, 1, inRun(1)), 'buffered')
    await s.release(root)
    await stepRuns(s)
    const { status } = (await s.graphRuns.get(root.tenantId, inRun(0).runId!))!
    assert.equal(status, 'CANCELLED')
    const statuses = (await s.list(child)).executions.map((one) => one.status)
    assert.deepEqual(statuses.toSorted(), ['CANCELLED', 'WAITING_DEPENDENCIES'])
    assert.equal((await s.release(root)).ready, 1)
  })

  test(`${name}: CANCEL_RUNNING: a policy that came later cancels the run under way too`, async (t) => {
    const s = await setup(t)
    const { root, inRun } = await createGoing(s)
    await change(s, root, edit({ overlapPolicy }))
    const later = inRun(1, { overlapPolicy, version: 2 })
    assert.equal(await s.tryFire(root, 1, later), 'buffered')
    await s.release(root)
    await stepRuns(s)
    assert.equal((await s.release(root)).ready, 1)
  })
}

function testAfterCompletion(name: string, setup: Setup): void {
  const schedule = { type: 'INTERVAL', every_seconds: 60, after_completion: true } as const

  test(`${name}: a root that counts from its end counts from the end of its run`, async (t) => {
    const s = await setup(t)
    const { root, inRun } = await createPair(s, { schedule })
    const move = { slotAt: null, dueAt: null, decidedTo: s.at(0), awaits: true }
    await s.fire(root, 0, inRun(0, { move }))
    await runOn(s)
    await stepRuns(s)
    assert.deepEqual((await s.look(root)).awaits, { endedAt: null })
    assert.equal((await s.release(root)).planned, false)
    await runOn(s)
    const { finishedAt } = (await s.graphRuns.get(root.tenantId, inRun(0).runId!))!
    assert.deepEqual((await s.look(root)).awaits, { endedAt: finishedAt })
    assert.equal((await s.release(root)).planned, true)
    const { slotAt } = (await s.jobs.get(root.tenantId, root.jobId))!
    assert.equal(slotAt, Math.ceil(finishedAt! / 1_000) * 1_000 + 60_000)
  })

  test(`${name}: a job that runs after others awaits nothing`, async (t) => {
    const s = await setup(t)
    const { child } = await createPair(s)
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
    assert.equal((await s.look(child)).awaits, null)
    assert.equal((await s.release(child)).planned, false)
    const { status, slotAt } = (await s.jobs.get(child.tenantId, child.jobId))!
    assert.deepEqual([status, slotAt], ['ACTIVE', null])
  })
}
