// Conformance: every execution that a store ends by itself, before it ran, is in the answer of the call that ended it,
// so that events and metrics count it once.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { deleteJob } from '../../../src/domain/jobs/job-change.ts'
import type { SettledAttempt } from '../../../src/domain/queue/attempt.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { makeGraph } from '../graphs/graph-scenario.ts'
import { change, pause } from '../jobs/changes.ts'
import { createOperation } from '../jobs/jobs-backfill.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Execution, kind and outcome of each. Every record is final, of an http job, and not recorded before it was enqueued. */
function ended(settled: readonly SettledAttempt[] = []): unknown[] {
  for (const { executor, isFinal, recordedAt, enqueuedAt } of settled)
    assert.deepEqual([executor, isFinal, recordedAt >= enqueuedAt], ['http', true, true])
  return settled.map(({ executionId, kind, outcome }) => [executionId, kind, outcome]).toSorted()
}

/** Deletes the job; the answer. */
async function remove(s: StoreScenario, { tenantId, jobId }: NewJob, cancelRunning = false) {
  const outcome = await s.jobs.change({ tenantId, jobId }, (state) =>
    deleteJob(state, { by: 'tester', cancelRunning }),
  )
  assert(typeof outcome === 'object' && 'status' in outcome)
  return outcome
}

export function testSettled(name: string, setup: Setup): void {
  test(`${name}: a deleted job answers with the executions that ended with it, and with none the second time`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const running = await s.trigger(job)
    await s.claimLive(await s.addWorker())
    const [batched, alone] = [await s.fire(job, 0), await s.trigger(job)]
    const waiting = await s.createJob()
    const first = await s.fire(waiting, 0)
    const second = await s.trigger(waiting)
    const expected = [
      [batched, 'slot', 'cancelled'],
      [alone, 'trigger', 'cancelled'],
    ]
    assert.deepEqual(ended((await remove(s, job)).cancelled), expected.toSorted())
    assert.equal('cancelled' in (await remove(s, job)), false)
    assert.equal('cancelled' in (await remove(s, job, true)), false, 'it runs, and ends later')
    assert.equal(await s.statusOf(running), 'CANCELLING')
    const others = [
      [first, 'slot', 'cancelled'],
      [second, 'trigger', 'cancelled'],
    ]
    assert.deepEqual(ended((await remove(s, waiting)).cancelled), others.toSorted())
  })

  test(`${name}: a release answers with the executions that made way for a newer slot`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'CANCEL_RUNNING' })
    const old = await s.fire(job, 0)
    for (const second of [1, 2]) assert.equal(await s.tryFire(job, second), 'buffered')
    const { executions } = await s.list(job)
    const older = executions.find(({ slot }) => slot === s.at(1))!.executionId
    const expected = [old, older].map((executionId) => [executionId, 'slot', 'cancelled'])
    assert.deepEqual(ended((await s.release(job)).settled), expected.toSorted())
    const { settled, ready } = await s.release(job)
    assert.deepEqual([settled, ready], [undefined, 1])
  })

  test(`${name}: a release that only asks a running execution to stop answers with none`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'CANCEL_RUNNING' })
    await s.fire(job, 0)
    await s.claimLive(await s.addWorker())
    assert.equal(await s.tryFire(job, 1), 'buffered')
    const { settled, cancelled } = await s.release(job)
    assert.deepEqual([settled, cancelled], [undefined, true])
  })

  test(`${name}: a cancelled backfill answers with its executions that did not run, once`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const { tenantId, jobId } = job
    const operationId = await createOperation(s, job)
    const executions = [1, 2, 3].map((second) => {
      return { executionId: s.ids.next(), slot: s.at(second), lane: sharedLane }
    })
    await s.jobs.enqueueBackfill({ tenantId, jobId, operationId, unendedMax: 3, executions })
    const [running] = (await s.claim(await s.addWorker(), 1)).live
    const { cancelled } = (await s.operations.cancel(tenantId, operationId))!
    const expected = executions
      .filter(({ executionId }) => executionId !== running!.executionId)
      .map(({ executionId }) => [executionId, 'backfill', 'cancelled'])
    assert.deepEqual(ended(cancelled), expected.toSorted())
    assert.equal('cancelled' in (await s.operations.cancel(tenantId, operationId))!, false)
  })

  test(`${name}: a resumed graph run that ends at once answers with its end and the skipped executions`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'b', 'failed')
    for (const name of ['b', 'c']) await change(s, g.jobOf(name), pause())
    const outcome = await g.resume(runId)
    assert(outcome.kind === 'resumed')
    const { status } = await g.get(runId)
    assert.deepEqual(outcome.over, [status])
    const expected = outcome.executionIds.map((executionId) => [executionId, 'dependency', 'skipped'])
    assert.deepEqual(ended(outcome.settled), expected.toSorted())
    assert.equal(expected.length, 2)
  })
}
