// Conformance: slots that a worker claims as they fire. Only executions that it could have claimed at once, and with
// the same result.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { executionIdAt } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { serverRoute } from '../../../src/domain/queue/route.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { SlotToFire } from '../../../src/ports/slots.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Fires one slot of each job in one batch, for this worker. */
async function take(
  s: StoreScenario,
  workerId: string,
  members: readonly NewJob[],
  changes: Partial<SlotToFire> = {},
) {
  const batchId = s.ids.nextBatch()
  const slots = members.map((job, position) =>
    s.slotOf(job, 0, { executionId: executionIdAt(batchId, position), ...changes }),
  )
  return { batchId, slots, ...(await s.slots.fireAndClaim(slots, { workerId, route: serverRoute })) }
}

export function testSlotsClaimed(name: string, setup: Setup): void {
  test(`${name}: a batch that is fired for a worker is held by the worker as if it had claimed it`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const jobs = [await s.createJob(), await s.createJob()]
    const { answers, batches, batchId, slots } = await take(s, workerId, jobs)
    assert.deepEqual(answers, [])
    const { enqueuedAt, rank } = batches[0]!
    const facts = { batchId, fence: 1, lane: sharedLane, priority: 5, kind: 'slot', payloads: null }
    assert.deepEqual(batches, [
      {
        ...{ ...facts, enqueuedAt, rank, positions: [0, 1], versions: [1, 1] },
        ...{ jobIds: jobs.map(({ jobId }) => jobId), slots: [s.at(0), s.at(0)] },
      },
    ])
    assert.equal(rank, enqueuedAt + 5 * 60_000)
    assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
    assert.equal(await s.statusOf(slots[0]!.executionId), 'RUNNING')
    await s.finishBatch(workerId, batches[0]!, s.succeeded())
    assert.equal(await s.statusOf(slots[1]!.executionId), 'SUCCEEDED')
  })

  test(`${name}: a slot that does not fire is not claimed, and is answered as usual`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const [free, busy] = [await s.createJob(), await s.createJob()]
    await s.trigger(busy)
    await s.claim(workerId)
    const { answers, batches } = await take(s, workerId, [free, busy])
    assert.deepEqual(answers, [{ jobId: busy.jobId, slot: s.at(0), answer: 'overlap' }])
    assert.deepEqual(
      batches.map(({ positions, jobIds }) => [positions, jobIds]),
      [[[0], [free.jobId]]],
    )
  })

  test(`${name}: a slot is not claimed if it waits, is in another lane or route, or has others ahead`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const limited = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 3 })
    const job = () => s.createJob()
    for (const { batches } of [
      await take(s, workerId, [limited]),
      await take(s, workerId, [await job()], { lane: 'a lane of its own' }),
      await take(s, workerId, [await job()], { route: 'shell' }),
      await take(s, s.ids.next(), [await job()]),
      // That one waits in the shared lane now.
      await take(s, workerId, [await job()]),
    ])
      assert.deepEqual(batches, [])
    assert.equal((await s.claim(await s.addWorker())).batches.length, 2)
  })

  test(`${name}: several batches of the same fire do not block each other`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const slots = [s.slotOf(await s.createJob(), 0), s.slotOf(await s.createJob({ priority: 2 }), 0)]
    const { batches } = await s.slots.fireAndClaim(slots, { workerId, route: serverRoute })
    assert.equal(batches.length, 2)
  })

  test(`${name}: a fire that is repeated because its answer was lost takes nothing again`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const job = await s.createJob()
    await take(s, workerId, [job])
    const { answers, batches } = await take(s, workerId, [job])
    assert.deepEqual([answers.map(({ answer }) => answer), batches], [['already_recorded'], []])
    assert.equal(await s.queue.releaseUnknown(workerId, []), 1)
    const [again] = (await s.claim(await s.addWorker())).live
    assert.deepEqual([again!.jobId, again!.attempt], [job.jobId, 1])
  })
}
