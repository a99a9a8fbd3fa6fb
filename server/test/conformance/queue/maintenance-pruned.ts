// Conformance: an execution that nobody has mentioned since its batch was claimed leaves the batch, so that it has a
// deadline.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { allHeld, notHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { allTaken, cancelHeld, findHeld, holdBatch, markOf, report } from './held.ts'
import { findOverdue, long, timeOut } from './maintenance-overdue.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testPruned(name: string, setup: Setup): void {
  test(`${name}: an execution that its worker has forgotten in a batch is timed out and tried again`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId } = await holdBatch(s, 2)
    await s.ageDeadlines(61_000)
    const { startedAt } = await findHeld(s, executionIds[0]!)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    for (const executionId of executionIds) {
      const held = await findHeld(s, executionId)
      assert.deepEqual([held.workerId, held.fence, held.attempt], [workerId, 1, 1])
    }
    // Its time and the minute of the net count from the claim.
    await s.ageDeadlines(30_000)
    const found = await s.maintenance.findOverdue(10)
    assert.deepEqual(found.map(({ executionId }) => executionId).toSorted(), executionIds)
    assert(startedAt !== null)
    for (const one of found) {
      assert.deepEqual([one.cause, one.state, one.startedAt], ['attempt', 'running', startedAt])
      assert.deepEqual(await timeOut(s, one), [one.executionId])
      const { status, attempts } = await s.view(one.executionId)
      assert.deepEqual([status, attempts[0]!.workerId], ['RETRYING', workerId])
    }
  })

  test(`${name}: a cancelled one that was forgotten has half a minute to stop`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId } = await holdBatch(s, 2, { execution: long })
    await cancelHeld(s, executionIds[1]!)
    await s.ageDeadlines(61_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    assert.deepEqual(await s.queue.findCancelled(workerId), [executionIds[1]])
    assert.equal(await s.statusOf(executionIds[1]!), 'CANCELLING')
    await s.ageDeadlines(31_000)
    const { executionId, cause } = await findOverdue(s)
    assert.deepEqual([executionId, cause], [executionIds[1], 'cancelled'])
  })

  test(`${name}: a worker that still knows the execution finds it as one that has left its batch`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, batchId, workerId, finish } = await holdBatch(s, 2)
    await s.ageDeadlines(61_000)
    await s.maintenance.findOverdue(10)
    assert.deepEqual(await finish([s.succeeded(), s.succeeded()]), notHeld(batchId))
    const end = { executionId: executionIds[0]!, fence: 1, attempt: 1, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), allHeld)
    assert.deepEqual(markOf(await findHeld(s, executionIds[1]!)), marks[1])
    assert.deepEqual(await report(s, [marks[1]!], s.succeeded()), allTaken)
    for (const executionId of executionIds) assert.equal(await s.statusOf(executionId), 'SUCCEEDED')
  })

  test(`${name}: a batch that was claimed less than a minute ago is left alone, and so is one that waits`, async (t) => {
    const s = await setup(t)
    const { finish } = await holdBatch(s, 2)
    await s.fire(await s.createJob(), 0)
    await s.ageDeadlines(55_000)
    await s.maintenance.findOverdue(10)
    assert.deepEqual(await finish([s.succeeded(), s.succeeded()]), allHeld)
    await s.ageDeadlines(61_000)
    await s.maintenance.findOverdue(10)
    await s.claimBatch(await s.addWorker())
  })
}
