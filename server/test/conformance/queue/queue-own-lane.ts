// Conformance of the queue port when an execution moves to the lane of its tenant.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { serverRoute } from '../../../src/domain/queue/route.ts'
import { allHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

export function testOwnLane(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: an unstarted execution may move from the shared lane to the lane of its tenant`, async (t) => {
    const s = await setup(t)
    const jobs = [await s.createJob(), await s.createJob()]
    const { tenantId } = jobs[0]!
    const { executionIds } = await s.fireBatch(jobs, 0)
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    const ending = { kind: 'unstarted', host: null } as const
    const endings = [
      { position: 0, ending },
      { position: 1, ending: { ...ending, toOwnLane: true } },
    ]
    const { batchId, fence } = batch
    assert.deepEqual(await s.queue.finishBatches(workerId, [{ batchId, fence, endings }]), allHeld)
    const lanes = async () => (await s.queue.waiting([serverRoute], 10)).lanes.map(({ lane }) => lane)
    assert.deepEqual((await lanes()).toSorted(), [sharedLane, tenantId].toSorted())
    const live = await s.claimLive(workerId)
    assert.deepEqual([live.executionId, live.lane], [executionIds[0], sharedLane])
    await s.finishLive(workerId, live, { ...ending, toOwnLane: true })
    assert.deepEqual(await lanes(), [tenantId])
    const order = { workerId, routes: [serverRoute], hosts: [], batchesMax: 10 }
    const claimed = await s.queue.claim({ ...order, lanes: [{ lane: tenantId, count: 10 }] })
    const ids = claimed.live.map(({ executionId }) => executionId)
    assert.deepEqual(ids.toSorted(), executionIds.toSorted())
    assert.deepEqual(
      claimed.live.map(({ attempt }) => attempt),
      [1, 1],
    )
  })
}
