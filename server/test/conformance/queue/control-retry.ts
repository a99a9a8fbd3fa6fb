// Conformance when an ended execution is repeated.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { idempotencyKeyOf } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { rankOf } from '../../../src/domain/queue/rank.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Ending } from '../../../src/ports/queue.ts'
import { makeGraph } from '../graphs/graph-scenario.ts'
import { change, edit, pause, remove } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { UNDER_WAY } from './under-way.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>
type End = Extract<Ending, { kind: 'ended' }>

async function retry(s: StoreScenario, executionId: string, changes: { payloadOverride?: unknown } = {}) {
  const newExecutionId = s.ids.next()
  const order = { tenantId: defaultTenantId, executionId, newExecutionId, lane: sharedLane, ...changes }
  return { newExecutionId, outcome: await s.control.retry(order) }
}

/** Ends every waiting execution so. */
async function endAll(s: StoreScenario, ending: End): Promise<void> {
  const workerId = await s.addWorker()
  const { batches, live } = await s.claim(workerId)
  for (const batch of batches) await s.finishBatch(workerId, batch, ending)
  for (const one of live) await s.finishLive(workerId, one, ending)
}

async function triggerAndEnd(
  s: StoreScenario,
  job: NewJob,
  ending: End,
  changes: { payloadOverride?: unknown } = {},
): Promise<string> {
  const executionId = await s.trigger(job, changes)
  await endAll(s, ending)
  return executionId
}

async function cancelled(s: StoreScenario, job: NewJob): Promise<string> {
  const executionId = await s.fire(job, 3)
  await s.control.cancel({ tenantId: defaultTenantId, executionId, message: 'no' })
  return executionId
}

export function testRetry(name: string, setup: Setup): void {
  testOutcomes(name, setup)
  testPayloads(name, setup)
  testRefusals(name, setup)
}

function testOutcomes(name: string, setup: Setup): void {
  const tooSlow = { type: 'TIMEOUT', message: 'too slow' } as const
  const ends: { title: string; end: (s: StoreScenario) => End | 'cancelled'; keepsKey: boolean }[] = [
    { title: 'succeeded', end: (s) => s.succeeded(), keepsKey: false },
    { title: 'failed', end: (s) => s.failed(), keepsKey: true },
    { title: 'failed and is a dead letter', end: (s) => s.died(), keepsKey: true },
    {
      title: 'timed out',
      end: (s) => s.failed({ outcome: 'timed_out', error: tooSlow, httpStatus: null }),
      keepsKey: true,
    },
    { title: 'was cancelled', end: () => 'cancelled', keepsKey: false },
  ]
  for (const { title, end, keepsKey } of ends) {
    const key = keepsKey ? 'its key' : 'a key of its own'
    test(`${name}: an execution that ${title} is repeated with ${key}`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ priority: 6, overlapPolicy: 'ALLOW' })
      const { jobId } = job
      const ending = end(s)
      let executionId: string
      if (ending === 'cancelled') executionId = await cancelled(s, job)
      else {
        executionId = await s.fire(job, 3)
        await endAll(s, ending)
      }
      const before = await s.view(executionId)
      const { newExecutionId, outcome } = await retry(s, executionId)
      assert(outcome.kind === 'retried')
      const { enqueuedAt } = outcome
      assert.deepEqual(outcome, { kind: 'retried', jobId, enqueuedAt, slot: s.at(3) })
      const claimed = await s.claimLive(await s.addWorker())
      assert.deepEqual(claimed, {
        executionId: newExecutionId,
        fence: 1,
        lane: sharedLane,
        rank: rankOf(enqueuedAt, 4),
        enqueuedAt,
        jobId,
        version: 1,
        kind: 'retry',
        slot: s.at(3),
        attempt: 1,
        losses: 0,
        idempotencyKey: keepsKey ? idempotencyKeyOf('slot', { jobId, executionId, slot: s.at(3) }) : null,
        totalDeadline: null,
        suspect: false,
        runId: null,
      })
      const view = await s.view(newExecutionId)
      assert.deepEqual([view.kind, view.retryOf, view.status], ['retry', executionId, 'RUNNING'])
      // An ended execution stays as it ended.
      assert.deepEqual(await s.view(executionId), before)
      assert.equal(await s.deadLetters.get(defaultTenantId, executionId), null)
    })
  }

  test(`${name}: an execution that lost all its workers is repeated with its key`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const executionId = await s.fire(job, 3)
    for (let losses = 0; losses < 5; losses++) {
      const workerId = await s.addWorker()
      await s.claim(workerId)
      assert.notEqual(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
    }
    assert.equal(await s.statusOf(executionId), 'FAILED')
    const { newExecutionId } = await retry(s, executionId)
    const key = idempotencyKeyOf('slot', { jobId: job.jobId, executionId, slot: s.at(3) })
    assert.equal((await s.view(newExecutionId)).idempotencyKey, key)
  })

  test(`${name}: an execution skipped because of another of its run is repeated, alone, with a key of its own`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a', 'failed')
    const executionId = await g.executionOf(runId, 'b')
    assert.equal(await s.statusOf(executionId), 'SKIPPED')
    const { newExecutionId, outcome } = await retry(s, executionId)
    assert.equal(outcome.kind, 'retried')
    const { kind, retryOf, idempotencyKey, runId: of } = await s.view(newExecutionId)
    assert.deepEqual([kind, retryOf, idempotencyKey, of], ['retry', executionId, null, null])
  })

  test(`${name}: a repeated retry carries the first key for as long as it fails`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const first = await triggerAndEnd(s, job, s.died())
    const { slot } = await s.view(first)
    const key = idempotencyKeyOf('trigger', { jobId: job.jobId, executionId: first, slot })
    const second = (await retry(s, first)).newExecutionId
    await endAll(s, s.failed())
    const third = (await retry(s, second)).newExecutionId
    await endAll(s, s.succeeded())
    const fourth = (await retry(s, third)).newExecutionId
    const views = await Promise.all([second, third, fourth].map((id) => s.view(id)))
    assert.deepEqual(
      views.map(({ idempotencyKey }) => idempotencyKey),
      [key, key, null],
    )
    assert.deepEqual(
      views.map(({ retryOf }) => retryOf),
      [first, second, third],
    )
  })

  test(`${name}: a retry runs the job's current version, and waits its turn unless overlap is allowed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await triggerAndEnd(s, job, s.succeeded())
    await change(s, job, edit({ name: 'second', priority: 2 }))
    await change(s, job, pause())
    const { newExecutionId } = await retry(s, executionId)
    assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
    assert.equal(await s.statusOf(newExecutionId), 'PENDING')
    assert.equal((await s.release(job)).ready, 1)
    const { version, rank, enqueuedAt } = await s.claimLive(await s.addWorker())
    assert.deepEqual([version, rank], [2, rankOf(enqueuedAt, 1)])
  })
}

function testPayloads(name: string, setup: Setup): void {
  const cases: {
    title: string
    job?: unknown
    own?: unknown
    dead?: true
    edited?: unknown
    given?: unknown
    expected?: unknown
  }[] = [
    { title: 'none at all', job: 'job' },
    { title: 'the one it had of its own', job: 'job', own: { own: true }, expected: { own: true } },
    { title: 'the null it had of its own', job: 'job', own: null, expected: null },
    { title: 'the one given with the retry', job: 'job', own: 'own', given: 'given', expected: 'given' },
    { title: 'the null given with the retry', job: 'job', own: 'own', given: null, expected: null },
    { title: 'the one of its dead letter', job: 'job', dead: true, expected: 'job' },
    { title: 'none when its dead letter has none', dead: true },
    { title: 'what a person put into its dead letter', own: 'own', dead: true, edited: [1], expected: [1] },
    { title: 'the one given, whatever its letter says', dead: true, edited: [1], given: 2, expected: 2 },
  ]
  for (const { title, dead, ...one } of cases) {
    test(`${name}: a retry carries the payload: ${title}`, async (t) => {
      const s = await setup(t)
      const { execution } = await s.createJob()
      const withPayload = 'job' in one ? { ...execution, payload: one.job } : execution
      const job = await s.createJob({ execution: withPayload, overlapPolicy: 'ALLOW' })
      const own = 'own' in one ? { payloadOverride: one.own } : {}
      const executionId = await triggerAndEnd(s, job, dead ? s.died() : s.failed(), own)
      if ('edited' in one) await s.deadLetters.edit(defaultTenantId, executionId, one.edited)
      const given = 'given' in one ? { payloadOverride: one.given } : {}
      const { newExecutionId } = await retry(s, executionId, given)
      const claimed = await s.claimLive(await s.addWorker())
      const expected = 'expected' in one ? { payloadOverride: one.expected } : {}
      const found = 'payloadOverride' in claimed ? { payloadOverride: claimed.payloadOverride } : {}
      assert.deepEqual(found, expected)
      assert.equal('payloadOverride' in (await s.view(newExecutionId)), 'expected' in one)
      assert.equal(await s.deadLetters.get(defaultTenantId, executionId), null)
    })
  }
}

function testRefusals(name: string, setup: Setup): void {
  for (const { how, begin } of UNDER_WAY) {
    test(`${name}: an execution that ${how} is not repeated`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      const { executionId, status } = (await s.list(job)).executions[0]!
      assert.deepEqual((await retry(s, executionId)).outcome, { kind: 'not_finished', status })
      assert.equal((await s.list(job)).total, 1)
    })
  }

  test(`${name}: nothing of a deleted job is repeated, and its dead letters stay`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await triggerAndEnd(s, job, s.died())
    await change(s, job, remove)
    assert.deepEqual((await retry(s, executionId)).outcome, { kind: 'job_deleted' })
    assert.equal((await s.list(job)).total, 1)
    assert((await s.deadLetters.get(defaultTenantId, executionId)) !== null)
  })

  test(`${name}: nobody repeats an execution that is of another tenant, missing or no longer kept`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId })
    const executionId = await s.fire(job, 0)
    assert.deepEqual((await retry(s, executionId)).outcome, { kind: 'not_found' })
    await endAll(s, s.died())
    assert.deepEqual((await retry(s, executionId)).outcome, { kind: 'not_found' })
    assert.deepEqual((await retry(s, s.ids.next())).outcome, { kind: 'not_found' })
    assert((await s.deadLetters.get(tenantId, executionId)) !== null)
    const own = await s.createJob()
    const ended = await triggerAndEnd(s, own, s.succeeded())
    await s.ageHistory(366)
    assert.deepEqual((await retry(s, ended)).outcome, { kind: 'not_found' })
  })

  test(`${name}: of two concurrent retries of the same dead letter only one gets its payload`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const executionId = await triggerAndEnd(s, job, s.died(), { payloadOverride: 'own' })
    await s.deadLetters.edit(defaultTenantId, executionId, 'edited')
    const both = await Promise.all([retry(s, executionId), retry(s, executionId)])
    assert.deepEqual(
      both.map(({ outcome }) => outcome.kind),
      ['retried', 'retried'],
    )
    const views = await Promise.all(both.map(({ newExecutionId }) => s.view(newExecutionId)))
    assert.deepEqual(views.map(({ payloadOverride }) => payloadOverride).toSorted(), ['edited', 'own'])
  })
}
