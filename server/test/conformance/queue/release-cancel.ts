// Conformance: CANCEL_RUNNING. Executions under way make way for a newer slot, which starts once all of them have
// ended.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { supersededMessage } from '../../../src/domain/queue/release.ts'
import { allHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testReleaseCancel(name: string, setup: Setup): void {
  const overlapPolicy = 'CANCEL_RUNNING'

  test(`${name}: CANCEL_RUNNING: a running execution is cancelled, and the new slot starts once it has ended`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy })
    const old = await s.fire(job, 0)
    const workerId = await s.addWorker()
    const { executionId, fence, attempt } = await s.claimLive(workerId)
    assert.equal(await s.tryFire(job, 1), 'buffered')
    assert.deepEqual(await s.release(job), { ready: 0, cancelled: true, planned: false, more: false })
    assert.equal(await s.statusOf(old), 'CANCELLING')
    assert.deepEqual(await s.queue.findCancelled(workerId), [old])
    const { underWay, uncancelled } = await s.look(job)
    assert.deepEqual([underWay, uncancelled], [1, 0])
    assert.deepEqual(await s.release(job), { ready: 0, cancelled: false, planned: false, more: false })
    const finished = { executionId, fence, attempt, ending: s.succeeded() }
    const answer = await s.queue.finishLive(workerId, [finished])
    assert.deepEqual(answer, { ...allHeld, cancelled: [old] })
    const { status, error } = await s.view(old)
    assert.deepEqual(
      [status, error],
      ['CANCELLED', { type: 'CANCELLED', message: supersededMessage(s.at(1)) }],
    )
    assert.equal((await s.release(job)).ready, 1)
    assert.equal((await s.claimLive(workerId)).slot, s.at(1))
  })

  test(`${name}: CANCEL_RUNNING: of several slots that wait only the latest runs`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy })
    await s.fire(job, 0)
    await s.claimLive(await s.addWorker())
    for (const second of [1, 2, 3]) assert.equal(await s.tryFire(job, second), 'buffered')
    assert.equal((await s.release(job)).cancelled, true)
    const { executions } = await s.list(job)
    assert.deepEqual(
      executions.map(({ slot, status }) => [slot, status]),
      [
        [s.at(3), 'PENDING'],
        [s.at(2), 'CANCELLED'],
        [s.at(1), 'CANCELLED'],
        [s.at(0), 'CANCELLING'],
      ],
    )
    const byThird = supersededMessage(s.at(3))
    assert.deepEqual(executions[1]!.error, { type: 'CANCELLED', message: byThird })
    assert.equal(executions[1]!.workerId, null)
  })

  test(`${name}: CANCEL_RUNNING: executions waiting ahead of owed slots make way, running ones do not`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy })
    await s.fire(job, 0)
    await s.claimLive(await s.addWorker())
    for (const second of [1, 2, 3]) assert.equal(await s.tryFire(job, second), 'buffered')
    assert.equal(await s.tryFire(job, 4, { late: true, owedTo: s.at(5) }), 'deferred')
    assert.equal(await s.tryFire(job, 6), 'buffered')
    const { settled, ...released } = await s.release(job)
    assert.deepEqual(released, { ready: 0, cancelled: false, planned: false, more: false })
    assert.equal(settled?.length, 2)
    const { executions } = await s.list(job)
    assert.deepEqual(
      executions.map(({ slot, status }) => [slot, status]),
      [
        [s.at(6), 'PENDING'],
        [s.at(3), 'PENDING'],
        [s.at(2), 'CANCELLED'],
        [s.at(1), 'CANCELLED'],
        [s.at(0), 'RUNNING'],
      ],
    )
    assert.deepEqual(executions[2]!.error, { type: 'CANCELLED', message: supersededMessage(s.at(3)) })
  })

  for (const how of ['waits in the queue', 'is between two attempts'] as const) {
    test(`${name}: CANCEL_RUNNING: an execution that ${how} ends at once`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy })
      const old = await s.fire(job, 0)
      if (how === 'is between two attempts') {
        const workerId = await s.addWorker()
        await s.finishLive(workerId, await s.claimLive(workerId), s.failedForNow())
      }
      assert.equal(await s.tryFire(job, 1), 'buffered')
      const { settled, ...released } = await s.release(job)
      assert.deepEqual(released, { ready: 0, cancelled: false, planned: false, more: true })
      assert.deepEqual(
        settled?.map(({ executionId }) => executionId),
        [old],
      )
      assert.equal(await s.statusOf(old), 'CANCELLED')
      assert.equal((await s.release(job)).ready, 1)
      assert.equal((await s.claimLive(await s.addWorker())).slot, s.at(1))
    })
  }

  test(`${name}: CANCEL_RUNNING: a trigger makes nothing give way, and waits`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy })
    const running = await s.fire(job, 0)
    await s.claimLive(await s.addWorker())
    const triggered = await s.trigger(job)
    assert.deepEqual(await s.release(job), { ready: 0, cancelled: false, planned: false, more: false })
    assert.equal(await s.statusOf(running), 'RUNNING')
    assert.equal(await s.tryFire(job, 1), 'buffered')
    assert.equal((await s.release(job)).cancelled, true)
    assert.equal(await s.statusOf(triggered), 'PENDING', 'a trigger is never skipped')
  })
}
