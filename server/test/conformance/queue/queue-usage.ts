// Conformance of the queue port on the use of attempts.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { allHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { claimFired, claimTriggered } from './queue-finish.ts'

export function testUsage(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: the use of an attempt is recorded however it ended, and parts that are not known stay unknown`, async (t) => {
    const s = await setup(t)
    const usageOf = async (executionId: string) => (await s.view(executionId)).attempts.at(-1)!.usage
    const command = { usage: { cpuMs: 3_000_000_000 } }
    const call = { usage: { bytesSent: 321, bytesReceived: 1_048_576 } }
    const fast = await claimFired(s, 3)
    const ways = [s.succeeded(call), s.succeeded(), s.succeeded(command)]
    const endings = ways.map((ending, position) => ({ position, ending }))
    const { batchId, fence } = fast.batch
    assert.deepEqual(await s.queue.finishBatches(fast.workerId, [{ batchId, fence, endings }]), allHeld)
    const called = { cpuMs: null, bytesSent: 321, bytesReceived: 1_048_576 }
    const computed = { cpuMs: 3_000_000_000, bytesSent: null, bytesReceived: null }
    const [first, second, third] = fast.executionIds as [string, string, string]
    assert.deepEqual(
      [await usageOf(first), await usageOf(second), await usageOf(third)],
      [called, null, computed],
    )
    const slow = await claimFired(s, 1)
    await s.finishBatch(slow.workerId, slow.batch, s.failed(call))
    assert.deepEqual(await usageOf(slow.executionIds[0]!), called)
    const alone = await claimTriggered(s)
    const { executionId, fence: ownFence } = alone.live
    const end = { executionId, fence: ownFence, attempt: 1, ending: s.failed(command) }
    assert.deepEqual(await s.queue.finishLive(alone.workerId, [end]), allHeld)
    assert.deepEqual(await usageOf(executionId), computed)
  })
}
