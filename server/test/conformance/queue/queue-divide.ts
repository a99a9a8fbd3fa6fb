// Conformance: how a claim handles a batch that does not fit behind others.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { serverRoute } from '../../../src/domain/queue/route.ts'
import type { StoreScenario } from '../stores.ts'

export function testQueueDivide(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a batch that does not fit behind others is divided only for claims that ask for it`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const jobs = await Promise.all(Array.from({ length: 3 }, () => s.createJob({ overlapPolicy: 'ALLOW' })))
    for (let second = 0; second < 3; second++) await s.fireBatch(jobs, second)
    const take = async (count: number, divides: boolean) => {
      const place = { workerId, routes: [serverRoute], hosts: [], batchesMax: 20 }
      const claimed = await s.queue.claim({ ...place, lanes: [{ lane: sharedLane, count }], divides })
      return [claimed.batches.length, claimed.live.length]
    }
    assert.deepEqual(await take(4, false), [1, 0])
    assert.deepEqual(await take(2, false), [0, 2], 'the first of a lane is divided all the same')
    assert.deepEqual(await take(3, true), [1, 2])
  })
}
