// Conformance of the dead letters port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { LetterFilter } from '../../../src/domain/jobs/operation.ts'
import { idempotencyKeyOf } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { rankOf } from '../../../src/domain/queue/rank.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { DeadLetterQuery } from '../../../src/ports/dead-letters.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Scenario } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

/** Runs every waiting execution and lets it fail for good. */
export async function dieAll(s: Scenario): Promise<void> {
  const workerId = await s.addWorker()
  const { batches, live } = await s.claim(workerId)
  for (const batch of batches) await s.finishBatch(workerId, batch, s.died())
  for (const one of live) await s.finishLive(workerId, one, s.died())
}

/** Fires a slot and lets its execution die. */
export async function die(s: Scenario, job: NewJob, second = 0): Promise<string> {
  const executionId = await s.fire(job, second)
  await dieAll(s)
  return executionId
}

async function redrive(s: Scenario, executionId: string, lane: string = sharedLane): Promise<string> {
  const newExecutionId = s.ids.next()
  const letters = [{ executionId, newExecutionId, lane }]
  const redriven = await s.deadLetters.redrive({ tenantId: defaultTenantId, letters })
  assert.deepEqual(redriven, { redriven: [{ executionId, newExecutionId }], jobDeleted: [] })
  return newExecutionId
}

export const anyLetter: LetterFilter = { jobId: null, reason: null, errorType: null, from: null, to: null }
export const everyLetter: DeadLetterQuery = {
  tenantId: defaultTenantId,
  filter: anyLetter,
  before: null,
  limit: 10,
  payloads: true,
  bytesMax: 1_000_000,
}

export function testDeadLetters(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testReading(name, setup)
  testRedrive(name, setup)
}

function testReading(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: dead letters are listed newest first, page by page, for all jobs or for a single job`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await s.createJob(), await s.createJob()]
    const died = [await die(s, one, 0), await die(s, two, 0), await die(s, one, 1), await die(s, one, 2)]
    const expected = died.toReversed()
    const list = async (changes: Partial<DeadLetterQuery>) => {
      const { deadLetters, more, total } = await s.deadLetters.list({ ...everyLetter, ...changes })
      return [deadLetters.map(({ executionId }) => executionId), more, total]
    }
    assert.deepEqual(await list({}), [expected, false, 4])
    assert.deepEqual(await list({ limit: 3 }), [expected.slice(0, 3), true, 4])
    assert.deepEqual(await list({ limit: 3, before: expected[2]! }), [expected.slice(3), false, 4])
    assert.deepEqual(await list({ filter: { ...anyLetter, jobId: two.jobId } }), [[died[1]], false, 1])
    assert.deepEqual(await list({ filter: { ...anyLetter, jobId: one.jobId }, limit: 2 }), [
      [died[3], died[2]],
      true,
      3,
    ])
  })

  test(`${name}: a dead letter is the same in the list and by its id`, async (t) => {
    const s = await setup(t)
    const executionId = await die(s, await s.createJob({ name: 'invoice' }))
    const letter = await s.deadLetters.get(defaultTenantId, executionId)
    assert.equal(letter!.jobName, 'invoice')
    assert.deepEqual((await s.deadLetters.list(everyLetter)).deadLetters, [letter])
    assert.equal(await s.deadLetters.get(defaultTenantId, s.ids.next()), null)
  })

  for (const { title, payload, payloadOverride, expected } of [
    { title: 'of its job', payload: { a: [1] }, expected: { a: [1] } },
    { title: 'of its own', payload: { a: [1] }, payloadOverride: 'mine', expected: 'mine' },
    { title: 'of its own, though it is null', payload: { a: [1] }, payloadOverride: null, expected: null },
    { title: 'of its job, though it is null', payload: null, expected: null },
  ]) {
    test(`${name}: a dead letter keeps the payload ${title}`, async (t) => {
      const s = await setup(t)
      const { execution } = await s.createJob()
      const job = await s.createJob({ execution: { ...execution, payload } })
      const executionId = await s.trigger(job, payloadOverride === undefined ? {} : { payloadOverride })
      await dieAll(s)
      const letter = (await s.deadLetters.get(defaultTenantId, executionId))!
      assert.deepEqual(JSON.parse(letter.payload!), expected)
      await redriveAndRelease(s, job, executionId)
      const claimed = await s.claimLive(await s.addWorker())
      assert('payloadOverride' in claimed)
      assert.deepEqual(claimed.payloadOverride, expected)
    })
  }

  test(`${name}: nobody reads, edits, redrives or discards the dead letters of another tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const executionId = await die(s, await s.createJob({ tenantId }))
    const none = { deadLetters: [], more: false, total: 0, oldestAt: null }
    assert.deepEqual(await s.deadLetters.list(everyLetter), none)
    assert.equal(await s.deadLetters.get(defaultTenantId, executionId), null)
    assert.equal(await s.deadLetters.discard(defaultTenantId, executionId), 'not_found')
    const letters = [{ executionId, newExecutionId: s.ids.next(), lane: sharedLane }]
    const redriven = await s.deadLetters.redrive({ tenantId: defaultTenantId, letters })
    assert.deepEqual(redriven, { redriven: [], jobDeleted: [] })
    assert.equal(await s.deadLetters.edit(defaultTenantId, executionId, 'mine'), null)
    assert.equal((await s.deadLetters.get(tenantId, executionId))!.executionId, executionId)
  })

  test(`${name}: a discarded letter is gone for good, its execution stays in history`, async (t) => {
    const s = await setup(t)
    const executionId = await die(s, await s.createJob())
    const kept = await die(s, await s.createJob())
    assert.equal(await s.deadLetters.discard(defaultTenantId, executionId), 'discarded')
    assert.equal(await s.deadLetters.discard(defaultTenantId, executionId), 'not_found')
    const { deadLetters } = await s.deadLetters.list(everyLetter)
    assert.deepEqual(
      deadLetters.map((one) => one.executionId),
      [kept],
    )
    assert.equal(await s.statusOf(executionId), 'FAILED')
  })

  test(`${name}: how many there are and since when is counted over all tenants`, async (t) => {
    const s = await setup(t)
    assert.deepEqual(await s.deadLetters.depth(), { count: 0, oldestAt: null })
    const tenantId = await s.addTenant(1)
    const oldest = await die(s, await s.createJob({ tenantId }))
    const next = await die(s, await s.createJob())
    const { diedAt } = (await s.deadLetters.get(tenantId, oldest))!
    assert.deepEqual(await s.deadLetters.depth(), { count: 2, oldestAt: diedAt })
    await s.deadLetters.discard(tenantId, oldest)
    const { diedAt: later } = (await s.deadLetters.get(defaultTenantId, next))!
    assert.deepEqual(await s.deadLetters.depth(), { count: 1, oldestAt: later })
  })
}

async function redriveAndRelease(s: Scenario, job: NewJob, executionId: string): Promise<string> {
  const newExecutionId = await redrive(s, executionId)
  assert.equal((await s.release(job)).ready, 1)
  return newExecutionId
}

function testRedrive(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a redriven letter is a new execution with the original's key, two levels above its job`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ priority: 7, overlapPolicy: 'ALLOW' })
    const executionId = await die(s, job, 3)
    const newExecutionId = await redrive(s, executionId)
    assert.equal(await s.deadLetters.get(defaultTenantId, executionId), null)
    const { jobId } = job
    const { enqueuedAt, fence: _fence, ...claimed } = await s.claimLive(await s.addWorker())
    assert(enqueuedAt >= s.at(600) && enqueuedAt <= (await s.now()))
    assert.deepEqual(claimed, {
      executionId: newExecutionId,
      lane: sharedLane,
      rank: rankOf(enqueuedAt, 5),
      jobId,
      version: 1,
      kind: 'redrive',
      slot: s.at(3),
      attempt: 1,
      losses: 0,
      idempotencyKey: idempotencyKeyOf('slot', { jobId, executionId, slot: s.at(3) }),
      totalDeadline: null,
      suspect: false,
      runId: null,
    })
    assert.equal(await s.statusOf(executionId), 'FAILED')
  })

  test(`${name}: a letter redriven again still carries the first key`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const first = await s.trigger(job)
    const { slot } = await s.view(first)
    await dieAll(s)
    const second = await redrive(s, first)
    await dieAll(s)
    await redrive(s, second)
    const { idempotencyKey, slot: sameSlot } = await s.claimLive(await s.addWorker())
    const expected = idempotencyKeyOf('trigger', { jobId: job.jobId, executionId: first, slot })
    assert.deepEqual([idempotencyKey, sameSlot], [expected, slot])
  })

  test(`${name}: a redriven execution waits its turn unless overlap is allowed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await die(s, job)
    const newExecutionId = await redrive(s, executionId)
    assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
    assert.equal(await s.statusOf(newExecutionId), 'PENDING')
    assert.equal(await s.tryFire(job, 1), 'overlap')
    assert.equal((await s.release(job)).ready, 1)
    assert.equal((await s.claimLive(await s.addWorker())).executionId, newExecutionId)
  })

  test(`${name}: letters are redriven in the given order, and missing letters are left out`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const [one, two, three] = [await die(s, job, 0), await die(s, job, 1), await die(s, job, 2)]
    const asked = [three, s.ids.next(), one].map((executionId) => ({
      executionId,
      newExecutionId: s.ids.next(),
      lane: sharedLane,
    }))
    const redriven = await s.deadLetters.redrive({ tenantId: defaultTenantId, letters: asked })
    const named = ({ executionId, newExecutionId }: (typeof asked)[0]) => ({ executionId, newExecutionId })
    assert.deepEqual(redriven, { redriven: [named(asked[0]!), named(asked[2]!)], jobDeleted: [] })
    assert.equal((await s.claim(await s.addWorker())).live.length, 2)
    const { deadLetters } = await s.deadLetters.list(everyLetter)
    assert.deepEqual(
      deadLetters.map(({ executionId }) => executionId),
      [two],
    )
    const none = await s.deadLetters.redrive({ tenantId: defaultTenantId, letters: [] })
    assert.deepEqual(none, { redriven: [], jobDeleted: [] })
  })

  test(`${name}: a letter is redriven once, also when it is named twice or by two people`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const executionId = await die(s, job)
    const other = await die(s, job, 1)
    const order = (id: string, times: number) => ({
      tenantId: defaultTenantId,
      letters: Array.from({ length: times }, () => ({
        executionId: id,
        newExecutionId: s.ids.next(),
        lane: sharedLane,
      })),
    })
    const both = await Promise.all([1, 2].map(() => s.deadLetters.redrive(order(other, 1))))
    assert.equal(both.flatMap(({ redriven }) => redriven).length, 1)
    assert.equal((await s.deadLetters.redrive(order(executionId, 2))).redriven.length, 1)
    assert.equal((await s.claim(await s.addWorker())).live.length, 2)
  })

  test(`${name}: a redriven execution goes to the lane it is given`, async (t) => {
    const s = await setup(t)
    const executionId = await die(s, await s.createJob({ overlapPolicy: 'ALLOW' }))
    const lane = await s.addTenant(3)
    await redrive(s, executionId, lane)
    assert.deepEqual((await s.queue.waiting(['server'], 10)).lanes, [{ lane, weight: 3 }])
  })
}
