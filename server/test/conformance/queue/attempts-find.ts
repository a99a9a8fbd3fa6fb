// Conformance: finding attempts that are under way, wherever they are held.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { StoreScenario } from '../stores.ts'
import { assertWithin, cancelHeld, findHeld, holdAwaiting, holdBatch, holdLive, http, note } from './held.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testAttemptsFind(name: string, setup: Setup): void {
  test(`${name}: an attempt in a claimed batch is found`, async (t) => {
    const s = await setup(t)
    const { jobs, executionIds, workerId, claimed } = await holdBatch(s, 2)
    const { tenantId, jobId } = jobs[1]!
    const { startedAt, ...held } = await findHeld(s, executionIds[1]!)
    assertWithin(startedAt, claimed)
    assert.deepEqual(held, {
      executionId: executionIds[1],
      tenantId,
      jobId,
      version: 1,
      kind: 'slot',
      slot: s.at(0),
      attempt: 1,
      losses: 0,
      fence: 1,
      workerId,
      totalDeadline: null,
      cancelled: false,
    })
  })

  test(`${name}: an attempt of its own is found with all that bears on its end`, async (t) => {
    const s = await setup(t)
    const execution = { ...http, total_timeout_seconds: 600 }
    const { executionId, live, job, workerId, claimed, mark } = await holdLive(s, { execution })
    await note(s, mark, { startedAt: s.at(300), checkpoint: { row: 4 } })
    const { totalDeadline, slot } = live
    const { startedAt, ...held } = await findHeld(s, executionId)
    assertWithin(startedAt, claimed)
    assert.deepEqual(held, {
      executionId,
      tenantId: job.tenantId,
      jobId: job.jobId,
      version: 1,
      kind: 'trigger',
      slot,
      attempt: 1,
      losses: 0,
      fence: live.fence,
      workerId,
      totalDeadline,
      cancelled: false,
      checkpoint: { row: 4 },
    })
  })

  test(`${name}: an attempt that awaits its end is found, and held by nobody`, async (t) => {
    const s = await setup(t)
    const { executionId, live } = await holdAwaiting(s)
    const held = await findHeld(s, executionId)
    assert.deepEqual(
      [held.workerId, held.fence, held.attempt, held.startedAt],
      [null, live.fence, 1, s.at(299)],
    )
  })

  test(`${name}: a cancelled attempt is found as cancelled`, async (t) => {
    const s = await setup(t)
    const { executionIds } = await holdBatch(s, 2)
    const { executionId } = await holdLive(s)
    const awaiting = await holdAwaiting(s)
    for (const id of [executionIds[0]!, executionId, awaiting.executionId]) await cancelHeld(s, id)
    const all = [...executionIds, executionId, awaiting.executionId]
    const found = await s.attempts.find(all)
    const cancelled = new Map(found.map((one) => [one.executionId, one.cancelled]))
    assert.deepEqual(
      all.map((id) => cancelled.get(id)),
      [true, false, true, true],
    )
  })

  test(`${name}: an execution that waits, is between attempts, has ended or is unknown is not found`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const ended = await s.fire(job, 0)
    await s.runAll()
    const retrying = await s.fire(await s.createJob(), 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failed({ retryAt: s.at(4_200) }))
    const ready = await s.trigger(await s.createJob())
    const batched = await s.fire(job, 1)
    const waiting = await s.trigger(job)
    const all = [ended, retrying, ready, batched, waiting, s.ids.next(), s.ids.nextBatch()]
    assert.deepEqual(await s.attempts.find(all), [])
    assert.deepEqual(await s.attempts.find([]), [])
  })
}
