// Conformance of the queue port when executions leave a worker.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Ending } from '../../../src/ports/queue.ts'
import { allHeld, notHeld, type Scenario } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

/** Fires a batch of `count` jobs and claims it. */
export async function claimFired(s: Scenario, count: number) {
  const jobs = []
  for (let i = 0; i < count; i++) jobs.push(await s.createJob({ name: `job ${i}` }))
  const { executionIds } = await s.fireBatch(jobs, 0)
  const workerId = await s.addWorker()
  return { jobs, executionIds, workerId, batch: await s.claimBatch(workerId) }
}

/** Triggers a job and claims it. */
export async function claimTriggered(s: Scenario, changes: { payloadOverride?: unknown } = {}) {
  const job = await s.createJob()
  const executionId = await s.trigger(job, changes)
  const workerId = await s.addWorker()
  return { job, executionId, workerId, live: await s.claimLive(workerId) }
}

export function testFinish(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testBatches(name, setup)
  testLive(name, setup)
  testOwn(name, setup)
}

function testBatches(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: an attempt is recorded as it ended`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch, jobs } = await claimFired(s, 1)
    await s.finishBatch(
      workerId,
      batch,
      s.succeeded({ durationMs: 1_234, httpStatus: 204, preview: 'ok "ä"' }),
    )
    const ended = {
      attempt: 1,
      enqueuedAt: batch.enqueuedAt,
      startedAt: s.at(300),
      finishedAt: s.at(301),
      durationMs: 1_234,
      workerId,
      httpStatus: 204,
      error: null,
    }
    const { attempts, ...view } = await s.view(executionIds[0]!)
    assert.deepEqual(attempts, [{ ...ended, outcome: 'succeeded', preview: 'ok "ä"', usage: null }])
    assert.deepEqual(view, {
      ...ended,
      executionId: executionIds[0],
      jobId: jobs[0]!.jobId,
      jobName: 'job 0',
      version: 1,
      kind: 'slot',
      status: 'SUCCEEDED',
      slot: s.at(0),
      deadLetter: false,
      retryAt: null,
      runId: null,
      skipped: null,
      idempotencyKey: null,
      retryOf: null,
      execution: jobs[0]!.execution,
      progress: null,
      metadata: {},
    })
    assert.equal((await s.deadLetters.depth()).count, 0)
  })

  test(`${name}: every execution of a batch ends in its own way`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 6)
    const ways: Ending[] = [
      s.succeeded(),
      s.failed({ outcome: 'timed_out', httpStatus: null, error: { type: 'TIMEOUT', message: 'too slow' } }),
      s.failedForNow(),
      s.running(s.at(299)),
      { kind: 'unstarted', host: null },
    ]
    const endings = ways.map((ending, position) => ({ position, ending }))
    const { batchId, fence } = batch
    assert.deepEqual(await s.queue.finishBatches(workerId, [{ batchId, fence, endings }]), allHeld)
    const statuses = await Promise.all(executionIds.map((id) => s.statusOf(id)))
    assert.deepEqual(statuses, ['SUCCEEDED', 'TIMED_OUT', 'RETRYING', 'RUNNING', 'PENDING', 'PENDING'])
  })

  test(`${name}: an execution that still runs stays with its worker under fence 1`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 1)
    await s.finishBatch(workerId, batch, s.running(s.at(299)))
    const executionId = executionIds[0]!
    const { status, attempt, startedAt, workerId: holder } = await s.view(executionId)
    assert.deepEqual([status, attempt, startedAt, holder], ['RUNNING', 1, s.at(299), workerId])
    assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
    const end = { executionId, fence: 1, attempt: 1, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), allHeld)
    assert.equal(await s.statusOf(executionId), 'SUCCEEDED')
  })

  test(`${name}: an unstarted execution is released without an attempt spent and with its rank`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 2)
    const { batchId, fence } = batch
    const endings = [{ position: 0, ending: { kind: 'unstarted', host: null } as const }]
    assert.deepEqual(await s.queue.finishBatches(workerId, [{ batchId, fence, endings }]), allHeld)
    const { live } = await s.claim(workerId)
    assert.deepEqual(live.map(({ executionId }) => executionId).toSorted(), executionIds)
    for (const { attempt, rank, enqueuedAt, kind } of live) {
      assert.deepEqual([attempt, rank, enqueuedAt, kind], [1, batch.rank, batch.enqueuedAt, 'slot'])
    }
    assert.deepEqual((await s.view(executionIds[0]!)).attempts, [])
  })

  test(`${name}: a first attempt that fails is tried again when its time has come`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 1)
    await s.finishBatch(workerId, batch, s.failedForNow())
    const view = await s.view(executionIds[0]!)
    assert.deepEqual([view.status, view.attempt, view.retryAt], ['RETRYING', 1, s.at(302)])
    assert.deepEqual([view.httpStatus, view.error?.type, view.deadLetter], [500, 'HTTP_ERROR', false])
    assert.deepEqual(await s.claim(workerId), { batches: [], live: [] })
    assert.equal(await s.maintenance.wake(10), 1)
    const { attempt, losses } = await s.claimLive(workerId)
    assert.deepEqual([attempt, losses], [2, 0])
  })

  test(`${name}: an execution that failed for good is a dead letter`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch, jobs } = await claimFired(s, 1)
    await s.finishBatch(workerId, batch, s.died({ deadReason: 'NOT_RETRYABLE' }))
    const [executionId, job] = [executionIds[0]!, jobs[0]!]
    const { status, deadLetter } = await s.view(executionId)
    assert.deepEqual([status, deadLetter], ['FAILED', true])
    const { diedAt, ...letter } = (await s.deadLetters.get(job.tenantId, executionId))!
    assert(diedAt >= s.at(600) && diedAt <= (await s.now()))
    const { error, httpStatus, finishedAt } = s.failed().end
    assert.deepEqual(letter, {
      executionId,
      jobId: job.jobId,
      jobName: 'job 0',
      reason: 'NOT_RETRYABLE',
      attempts: 1,
      errors: [{ attempt: 1, at: finishedAt, ...error, httpStatus }],
      payload: null,
      editedAt: null,
      redriveAt: null,
      runId: null,
    })
  })

  test(`${name}: a failure without a reason for the dead letters is only recorded`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 1)
    await s.finishBatch(workerId, batch, s.failed())
    assert.deepEqual([await s.statusOf(executionIds[0]!), (await s.deadLetters.depth()).count], ['FAILED', 0])
  })

  test(`${name}: a batch is finished once; a repeat changes nothing`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 1)
    await s.finishBatch(workerId, batch, s.succeeded())
    const { batchId, fence } = batch
    const again = { batchId, fence, endings: [{ position: 0, ending: s.died() }] }
    assert.deepEqual(await s.queue.finishBatches(workerId, [again]), notHeld(batchId))
    const { status, attempts } = await s.view(executionIds[0]!)
    assert.deepEqual([status, attempts.length, (await s.deadLetters.depth()).count], ['SUCCEEDED', 1, 0])
  })

  test(`${name}: nobody finishes a batch of another worker, another fence, or nobody's`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 1)
    const unclaimed = await s.fire(await s.createJob(), 0)
    const endings = [{ position: 0, ending: s.succeeded() }]
    const { batchId, fence } = batch
    const other = await s.addWorker()
    assert.deepEqual(await s.queue.finishBatches(other, [{ batchId, fence, endings }]), notHeld(batchId))
    const report = [
      { batchId, fence: fence + 1, endings },
      { batchId: unclaimed, fence: 0, endings },
    ]
    assert.deepEqual(
      (await s.queue.finishBatches(workerId, report)).missing.toSorted(),
      [batchId, unclaimed].toSorted(),
    )
    assert.deepEqual(
      [await s.statusOf(executionIds[0]!), await s.statusOf(unclaimed)],
      ['RUNNING', 'PENDING'],
    )
  })

  test(`${name}: only the held batches of several are finished`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 1)
    const missing = s.ids.nextBatch()
    const endings = [{ position: 0, ending: s.succeeded() }]
    const report = [
      { batchId: missing, fence: 1, endings },
      { batchId: batch.batchId, fence: batch.fence, endings },
    ]
    assert.deepEqual(await s.queue.finishBatches(workerId, report), notHeld(missing))
    assert.equal(await s.statusOf(executionIds[0]!), 'SUCCEEDED')
  })
}

function testLive(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: attempts of the same execution are recorded one after the other`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live } = await claimTriggered(s, { payloadOverride: { a: 1 } })
    await s.finishLive(workerId, live, s.failedForNow())
    assert.equal(await s.statusOf(executionId), 'RETRYING')
    await s.maintenance.wake(1)
    const second = await s.claimLive(workerId)
    assert.deepEqual(second.payloadOverride, { a: 1 })
    await s.finishLive(workerId, second, s.succeeded())
    const view = await s.view(executionId)
    assert.deepEqual(
      view.attempts.map(({ attempt, outcome }) => [attempt, outcome]),
      [
        [1, 'failed'],
        [2, 'succeeded'],
      ],
    )
    assert.deepEqual([view.status, view.attempt, view.kind], ['SUCCEEDED', 2, 'trigger'])
    assert.deepEqual(view.payloadOverride, { a: 1 })
    assert.deepEqual(await s.claim(workerId), { batches: [], live: [] })
  })

  test(`${name}: a dead letter has all errors, and the payload of the execution`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live, job } = await claimTriggered(s, { payloadOverride: ['mine'] })
    const first = s.failedForNow()
    await s.finishLive(workerId, live, first)
    await s.maintenance.wake(1)
    const error = { type: 'CONNECTION_REFUSED', message: 'nobody listens' } as const
    const last = s.died({ httpStatus: null, error, finishedAt: s.at(310) })
    await s.finishLive(workerId, await s.claimLive(workerId), last)
    const letter = (await s.deadLetters.get(job.tenantId, executionId))!
    assert.deepEqual(letter.errors, [
      { attempt: 1, at: s.at(301), ...first.end.error, httpStatus: 500 },
      { attempt: 2, at: s.at(310), ...error, httpStatus: null },
    ])
    assert.deepEqual(
      [letter.attempts, letter.payload, letter.reason],
      [2, '["mine"]', 'MAX_RETRIES_EXCEEDED'],
    )
    assert.equal((await s.view(executionId)).deadLetter, true)
  })

  test(`${name}: a single execution handed back spends no attempt and keeps its rank`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live } = await claimTriggered(s)
    await s.finishLive(workerId, live, { kind: 'unstarted', host: 'api.example.com' })
    assert.deepEqual(await s.queue.waiting(['server'], 10), { lanes: [], hosts: ['api.example.com'] })
    const { status, startedAt } = await s.view(executionId)
    assert.deepEqual([status, startedAt], ['PENDING', null])
    const hosts = [{ host: 'api.example.com', count: 5 }]
    const order = { workerId, routes: ['server'], lanes: [], hosts, batchesMax: 1 }
    const [again] = (await s.queue.claim(order)).live
    assert.deepEqual([again!.attempt, again!.rank, again!.enqueuedAt], [1, live.rank, live.enqueuedAt])
    assert(again!.fence > live.fence)
    await s.finishLive(workerId, again!, { kind: 'unstarted', host: null })
    assert.equal((await s.claimLive(workerId)).attempt, 1)
    assert.deepEqual((await s.view(executionId)).attempts, [])
  })

  test(`${name}: an attempt that its worker gave up is on record as lost, and costs no retry`, async (t) => {
    const s = await setup(t)
    const error = { type: 'WORKER_LOST', message: 'given up' } as const
    const lost = s.failed({ outcome: 'lost', httpStatus: null, error, retryAt: s.at(302) })
    const { executionId, workerId, live } = await claimTriggered(s)
    await s.fireBatch([await s.createJob({ name: 'of a batch' })], 0)
    const batch = await s.claimBatch(workerId)
    await s.finishBatch(workerId, batch, lost)
    await s.finishLive(workerId, live, lost)
    await s.maintenance.wake(10)
    for (const again of (await s.claim(workerId)).live) {
      assert.deepEqual([again.attempt, again.losses], [2, 1])
      await s.finishLive(workerId, again, lost)
    }
    await s.maintenance.wake(10)
    const third = (await s.claim(workerId)).live
    assert.deepEqual(
      third.map(({ attempt, losses }) => [attempt, losses]),
      [
        [3, 2],
        [3, 2],
      ],
    )
    const { attempts } = await s.view(executionId)
    assert.deepEqual(
      attempts.map((one) => [one.outcome, one.error?.type]),
      [
        ['lost', 'WORKER_LOST'],
        ['lost', 'WORKER_LOST'],
      ],
    )
  })

  test(`${name}: a retry does not wait for the host that was full before`, async (t) => {
    const s = await setup(t)
    const { workerId, live } = await claimTriggered(s)
    await s.finishLive(workerId, live, { kind: 'unstarted', host: 'api.example.com' })
    const hosts = [{ host: 'api.example.com', count: 5 }]
    const order = { workerId, routes: ['server'], lanes: [], hosts, batchesMax: 1 }
    const [again] = (await s.queue.claim(order)).live
    await s.finishLive(workerId, again!, s.failedForNow())
    await s.maintenance.wake(1)
    assert.equal((await s.claimLive(workerId)).attempt, 2)
  })

  test(`${name}: nobody finishes an execution of another worker, another claim, or one that ended`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live } = await claimTriggered(s)
    const { fence, attempt } = live
    const end = { executionId, fence, attempt, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(await s.addWorker(), [end]), notHeld(executionId))
    assert.deepEqual(await s.queue.finishLive(workerId, [{ ...end, fence: fence + 1 }]), notHeld(executionId))
    assert.equal(await s.statusOf(executionId), 'RUNNING')
    const unknown = { ...end, executionId: s.ids.next() }
    assert.deepEqual(await s.queue.finishLive(workerId, [unknown, end]), notHeld(unknown.executionId))
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), notHeld(executionId))
    assert.equal((await s.view(executionId)).attempts.length, 1)
  })

  test(`${name}: a result of an earlier claim is refused after the execution was handed back`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live } = await claimTriggered(s)
    const { fence, attempt } = live
    await s.finishLive(workerId, live, { kind: 'unstarted', host: null })
    const end = { executionId, fence, attempt, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), notHeld(executionId))
    await s.claimLive(workerId)
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), notHeld(executionId))
    assert.equal(await s.statusOf(executionId), 'RUNNING')
  })
}

function testOwn(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a worker learns which of its attempts are recorded or still held`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, batch } = await claimFired(s, 3)
    const endings = [
      { position: 0, ending: s.succeeded() },
      { position: 1, ending: s.running(s.at(299)) },
      { position: 2, ending: s.failedForNow() },
    ]
    const { batchId, fence } = batch
    assert.deepEqual(await s.queue.finishBatches(workerId, [{ batchId, fence, endings }]), allHeld)
    const { jobIds } = batch
    const asked = [...executionIds, s.ids.next()].map((executionId, i) => ({
      executionId,
      attempt: 1,
      jobId: jobIds[i] ?? s.ids.next(),
    }))
    const own = await s.queue.findOwn(workerId, asked)
    assert.deepEqual(
      own.toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1)),
      [
        { executionId: executionIds[0], status: 'recorded' },
        { executionId: executionIds[1], status: 'held' },
        { executionId: executionIds[2], status: 'recorded' },
      ],
    )
    const others = asked.map((one) => ({ ...one, attempt: 2 }))
    assert.deepEqual(await s.queue.findOwn(workerId, others), [
      { executionId: executionIds[1], status: 'held' },
    ])
    assert.deepEqual(await s.queue.findOwn(await s.addWorker(), asked), [])
    assert.deepEqual(await s.queue.findOwn(workerId, []), [])
  })

  test(`${name}: executions that a worker does not know it holds are released, and known ones stay`, async (t) => {
    const s = await setup(t)
    const { workerId, executionIds, batch } = await claimFired(s, 2)
    const [known, unknown] = [await s.trigger(await s.createJob()), await s.trigger(await s.createJob())]
    assert.equal((await s.claim(workerId)).live.length, 2)
    const bystander = await claimFired(s, 1)
    const all = [...executionIds, known, unknown]
    assert.equal(await s.queue.releaseUnknown(workerId, all), 0)
    assert.equal(await s.queue.releaseUnknown(workerId, [known]), 3)
    assert.equal(await s.queue.releaseUnknown(workerId, [known]), 0)
    assert.equal(await s.statusOf(bystander.executionIds[0]!), 'RUNNING')
    const { live, batches } = await s.claim(await s.addWorker())
    assert.deepEqual(batches, [])
    assert.deepEqual(
      live.map(({ executionId, attempt }) => [executionId, attempt]).toSorted(),
      [...executionIds, unknown].map((executionId) => [executionId, 1]).toSorted(),
    )
    for (const one of live) if (one.kind === 'slot') assert.equal(one.rank, batch.rank)
    assert.equal(await s.statusOf(known), 'RUNNING')
  })
}
