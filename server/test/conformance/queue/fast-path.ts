// Batches that mix fast-path and other executions: PostgreSQL has statements of its own for the fast path.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { executionIdAt } from '../../../src/domain/queue/execution.ts'
import type { FinishedBatch } from '../../../src/ports/queue.ts'
import { allHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

export function testFastPath(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a batch has exactly its slots that fire, regardless of the checks that each slot needs`, async (t) => {
    const s = await setup(t)
    const [free, busy, counted, other] = [
      await s.createJob(),
      await s.createJob(),
      await s.createJob(),
      await s.createJob({ overlapPolicy: 'ALLOW' }),
    ]
    await s.trigger(busy!)
    const batchId = s.ids.nextBatch()
    const place = (n: number) => ({ executionId: executionIdAt(batchId, n) })
    // Counted runs are counted in the cursor, which moves with each.
    const move = { slotAt: s.at(60), dueAt: s.at(60), decidedTo: s.at(0) }
    const items = [
      s.slotOf(free!, 0, place(0)),
      s.slotOf(busy!, 0, place(1)),
      s.slotOf(counted!, 0, { ...place(2), runs: { max: 5, count: 1 }, move }),
      s.slotOf(other!, 0, place(3)),
    ]
    assert.deepEqual(await s.slots.fire(items), [{ jobId: busy!.jobId, slot: s.at(0), answer: 'overlap' }])
    const { batches } = await s.claim(await s.addWorker())
    assert.equal(batches.length, 1)
    const { positions, jobIds } = batches[0]!
    const found = positions.map((position, index) => [position, jobIds[index]]).toSorted()
    assert.deepEqual(found, [
      [0, free!.jobId],
      [2, counted!.jobId],
      [3, other!.jobId],
    ])
  })

  test(`${name}: each of several batches has its own results, regardless of their text`, async (t) => {
    const s = await setup(t)
    const texts = [
      [null, 'NULL', ''],
      ['"a","b"', '{\\', "it's\n,", 'ok'],
      ['\\"é✓\\', null],
    ]
    const report: FinishedBatch[] = []
    const expected = new Map<string, string | null>()
    const workerId = await s.addWorker()
    for (const previews of texts) {
      const jobs = await Promise.all(previews.map(() => s.createJob()))
      const { executionIds } = await s.fireBatch(jobs, 0)
      const { batchId, fence } = await s.claimBatch(workerId)
      const endings = previews.map((preview, position) => {
        expected.set(executionIds[position]!, preview)
        return {
          position,
          ending: s.succeeded({ preview, httpStatus: position === 0 ? null : 200 + position }),
        }
      })
      report.push({ batchId, fence, endings })
    }
    assert.deepEqual(await s.queue.finishBatches(workerId, report), allHeld)
    for (const [executionId, preview] of expected) {
      const { attempts } = await s.view(executionId)
      const position = Number.parseInt(executionId.slice(34), 16)
      assert.deepEqual(
        attempts.map((one) => [one.preview, one.httpStatus]),
        [[preview, position === 0 ? null : 200 + position]],
      )
    }
  })
}
