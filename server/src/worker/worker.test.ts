import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld, type ScriptedAnswer } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { batchIdOf } from '../domain/queue/execution.ts'
import { hostKeyOf } from '../domain/queue/host-gate.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import type { NewJob } from '../ports/jobs.ts'
import { attemptFinished, attemptRefused } from '../telemetry/events.ts'
import { Worker } from './worker.ts'

const outageMs = 60_000

/** Workers on one store. `run` calls the steps of their loops. */
async function setup({ capacity = 800 } = {}) {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const { queue } = ports
  /** The next write of a batch is carried out, and its answer does not arrive. */
  function loseFinish(): void {
    const finishBatches = queue.finishBatches.bind(queue)
    queue.finishBatches = async (...args) => {
      queue.finishBatches = finishBatches
      await finishBatches(...args)
      throw new Error('the answer was lost')
    }
  }
  async function logLines(executionId: string): Promise<string[]> {
    const query = { tenantId: defaultTenantId, executionId, attempt: null, after: null, limit: 10 }
    return (await ports.logs.read(query)).lines.map(
      ({ attempt, level, message }) => `${attempt} ${level} ${message}`,
    )
  }
  async function start(): Promise<Worker> {
    const worker = new Worker(
      {
        ...{ ...world, version: '1.2.3', queue, peers: ports.peers, leases: ports.leases },
        ...{ graphRuns: ports.graphRuns, tenants: ports.tenants },
        ...{ attempts: ports.attempts, logs: ports.logs, secrets: ports.secrets, publicUrl: () => null },
        ...{ onEnded() {}, onClaimed() {}, onFinished() {} },
      },
      { labels: [], capacity, outageMs },
    )
    await worker.lease.beat()
    return worker
  }
  async function run(workers: readonly Worker[], ms: number): Promise<void> {
    const untilMs = world.clock.monotonicMs() + ms
    while (true) {
      for (const worker of workers) {
        if (world.clock.monotonicMs() % 3_000 === 0) while ((await worker.lease.beat()) === 'more');
        while ((await worker.claim()) === 'more');
        await worker.expireBatches()
        while ((await worker.finish()) === 'more');
      }
      await ports.maintenance.wake(1_000)
      if (world.clock.monotonicMs() >= untilMs) return
      await world.advance(50)
    }
  }
  function createJob(answer: Partial<ScriptedAnswer> = {}, changes: Partial<NewJob> = {}): Promise<NewJob> {
    const url = `https://host-${world.ids.next()}.example`
    world.http.answer(url, () => ({ status: 200, ...answer }))
    return scenario.createJob({
      execution: { type: 'http', callback_url: `${url}/`, method: 'POST', headers: {}, timeout_seconds: 300 },
      ...changes,
    })
  }
  const policy = (max_retries: number): Partial<NewJob> => ({
    retryPolicy: { max_retries, backoff: 'FIXED', initial_delay_ms: 1_000, max_delay_ms: 60_000 },
  })
  async function reclaim(worker: Worker): Promise<void> {
    const beats = await ports.maintenance.watch()
    await ports.maintenance.reclaim(beats.find(({ holderId }) => holderId === worker.lease.workerId)!)
  }
  const sentFor = (executionId: string) =>
    world.http.sent.filter(({ request }) => request.headers['x-execution-id'] === executionId)
  const outcomes = async (executionId: string) =>
    (await scenario.view(executionId)).attempts.map(({ outcome }) => outcome)
  return {
    ...scenario,
    ...{
      world,
      store,
      start,
      run,
      createJob,
      policy,
      reclaim,
      sentFor,
      outcomes,
      logLines,
      loseFinish,
      queue,
    },
  }
}

test('fired executions are called and recorded', async () => {
  const { start, run, createJob, fire, view, sentFor } = await setup()
  const worker = await start()
  const executionId = await fire(await createJob({ body: 'done' }), 0)
  await run([worker], 100)
  const { status, attempts } = await view(executionId)
  assert.deepEqual([status, attempts.length, attempts[0]!.preview], ['SUCCEEDED', 1, 'done'])
  assert.equal(attempts[0]!.workerId, worker.lease.workerId)
  assert.equal(sentFor(executionId).length, 1)
  assert.equal(worker.isIdle, true)
})

test('a failing target is tried again with the same key, its number growing, until the retries are used up', async () => {
  const { start, run, createJob, policy, fire, view, sentFor, deadLetters } = await setup()
  const worker = await start()
  const executionId = await fire(await createJob({ status: 500 }, policy(2)), 0)
  await run([worker], 10_000)
  const sent = sentFor(executionId).map(({ request }) => request.headers)
  assert.deepEqual(
    sent.map((headers) => headers['x-attempt-number']),
    ['1', '2', '3'],
  )
  assert.equal(new Set(sent.map((headers) => headers['x-idempotency-key'])).size, 1)
  assert.equal(new Set(sent.map((headers) => headers['traceparent'])).size, 3, 'each attempt is a span')
  assert.equal((await view(executionId)).status, 'FAILED')
  assert.equal((await deadLetters.depth()).count, 1)
})

test('a trigger is sent with the payload it was given', async () => {
  const { start, run, createJob, trigger, sentFor } = await setup()
  const worker = await start()
  const executionId = await trigger(await createJob(), { payloadOverride: { a: [1] } })
  await run([worker], 100)
  assert.equal(sentFor(executionId)[0]!.request.body, '{"a":[1]}')
})

test('a lost lease aborts the calls, and no result of them is recorded', async () => {
  const { start, run, createJob, fire, reclaim, outcomes, store } = await setup()
  const worker = await start()
  const alone = await fire(await createJob({ afterMs: 5_000 }), 0)
  await run([worker], 250) // it has left its batch
  const inBatch = await fire(await createJob({ afterMs: 5_000 }), 0)
  await worker.claim()
  const old = worker.lease.workerId
  await reclaim(worker)
  assert.equal(await worker.lease.beat(), 'more')
  assert.equal(worker.inFlight.size, 0)
  assert.equal(worker.isIdle, true)
  assert.notEqual(worker.lease.workerId, old)
  for (const executionId of [alone, inBatch]) assert.deepEqual(await outcomes(executionId), ['lost'])
  // As a new worker it claims and runs them again.
  await run([worker], 12_000)
  for (const executionId of [alone, inBatch])
    assert.deepEqual(await outcomes(executionId), ['lost', 'succeeded'])
  assert.equal(store.log.counts.succeeded, 2)
})

test('attempts lost with their workers spend no retry', async () => {
  const { start, run, createJob, policy, fire, reclaim, view, sentFor, outcomes } = await setup()
  const job = await createJob({ status: 500, afterMs: 400 }, policy(1))
  const executionId = await fire(job, 0)
  for (let loss = 0; loss < 2; loss++) {
    const dying = await start()
    await run([dying], 300)
    await reclaim(dying)
  }
  await run([await start()], 10_000)
  assert.deepEqual(await outcomes(executionId), ['lost', 'lost', 'failed', 'failed'])
  assert.equal((await view(executionId)).status, 'FAILED')
  assert.deepEqual(
    sentFor(executionId).map(({ request }) => request.headers['x-attempt-number']),
    ['1', '2', '3', '4'],
  )
})

test('without a beat for eight seconds nothing is claimed or started, and after a beat the worker goes on', async () => {
  const { start, createJob, fire, world, sentFor } = await setup()
  const worker = await start()
  await world.advance(8_000)
  const executionId = await fire(await createJob(), 0)
  assert.equal(await worker.claim(), 'idle')
  assert.equal(sentFor(executionId).length, 0)
  await worker.lease.beat()
  assert.equal(await worker.claim(), 'more')
  assert.equal(sentFor(executionId).length, 1)
})

test('results wait out an outage; calls are given up when it lasts longer than allowed', async () => {
  const { start, run, createJob, fire, fireBatch, world, statusOf, view, store, sentFor } = await setup()
  const worker = await start()
  const ended = await fire(await createJob({ afterMs: 10_000 }), 0)
  await run([worker], 250)
  const running = await fire(await createJob({ afterMs: 250_000 }), 1)
  await run([worker], 250)
  // In one batch: the first execution ends after the database is gone, the second does not end.
  const { executionIds } = await fireBatch([await createJob(), await createJob({ afterMs: 250_000 })], 2)
  while ((await worker.claim()) === 'more');
  // No beat is answered, nothing is written.
  await world.advance(outageMs - worker.lease.silentMs())
  await worker.expireBatches()
  assert.equal(worker.inFlight.size, 4, 'ended executions are kept, running ones go on')
  assert.equal(world.timers.pending, 2)
  await world.advance(1)
  await worker.expireBatches()
  assert.equal(world.timers.pending, 0, 'calls are aborted')
  await world.advance(10 * outageMs)
  await worker.expireBatches()
  // The lease held after all.
  await worker.lease.beat()
  while ((await worker.finish()) === 'more');
  for (const executionId of [ended, executionIds[0]!]) {
    assert.equal(await statusOf(executionId), 'SUCCEEDED')
    assert.equal(sentFor(executionId).length, 1, 'a result is not thrown away, however long it takes')
  }
  assert.equal(worker.inFlight.size, 0)
  for (const executionId of [running, executionIds[1]!]) {
    const { status, attempts } = await view(executionId)
    assert.deepEqual([status, attempts.map(({ outcome }) => outcome)], ['RETRYING', ['lost']])
    const { attempt, losses } = store.live.get(executionId)!
    assert.deepEqual([attempt, losses], [1, 1], 'its target was called, so the number is used; no retry is')
  }
})

test('a result that was not written when the lease was found lost is refused, and the log of the execution says so', async (t) => {
  const { start, run, reclaim, createJob, fire, fireBatch, world, statusOf, logLines, outcomes } =
    await setup()
  const refused: string[] = []
  const subscription = attemptRefused.subscribe(({ executionId }) => void refused.push(executionId))
  t.after(() => subscription[Symbol.dispose]())
  const paused = await start()
  const { workerId } = paused.lease
  const alone = await fire(await createJob({ afterMs: 1_000 }), 0)
  await run([paused], 250)
  const { executionIds } = await fireBatch([await createJob(), await createJob({ status: 500 })], 1)
  const running = await fire(await createJob({ afterMs: 250_000 }), 1)
  while ((await paused.claim()) === 'more');
  await world.advance(1_000)
  await reclaim(paused)
  assert.equal(await paused.lease.beat(), 'more')
  await paused.finish()
  assert.equal(paused.isIdle, true)
  assert.deepEqual(refused.toSorted(), [alone, ...executionIds].toSorted())
  const [ok, failed] = executionIds
  const textOf = (said: string) =>
    `A late result of attempt 1 (${said}) from worker ${workerId} was refused: the execution had been taken from it.`
  assert.deepEqual(await logLines(alone), [`1 warn ${textOf('SUCCEEDED, HTTP 200')}`])
  assert.deepEqual(await logLines(ok!), [`1 warn ${textOf('SUCCEEDED, HTTP 200')}`])
  assert.deepEqual(await logLines(failed!), [`1 warn ${textOf('FAILED, HTTP 500')}`])
  assert.deepEqual(await logLines(running), [], 'it had no result')
  // Another takes over, and its result is the one on record.
  await run([await start()], 1_500)
  assert.equal(await statusOf(alone), 'SUCCEEDED')
  assert.deepEqual(await outcomes(alone), ['lost', 'succeeded'])
})

test('a result is not refused if its write was carried out before the lease was lost', async (t) => {
  const { start, reclaim, createJob, fire, world, logLines, outcomes, loseFinish } = await setup()
  const refused: string[] = []
  const finished: string[] = []
  for (const subscription of [
    attemptRefused.subscribe(({ executionId }) => void refused.push(executionId)),
    attemptFinished.subscribe(({ executionId }) => void finished.push(executionId)),
  ])
    t.after(() => subscription[Symbol.dispose]())
  const worker = await start()
  const executionId = await fire(await createJob(), 0)
  await worker.claim()
  await world.advance(1)
  loseFinish()
  await assert.rejects(worker.finish(), /the answer was lost/)
  await reclaim(worker)
  await worker.lease.beat()
  await worker.finish()
  assert.deepEqual([refused, finished], [[], [executionId]])
  assert.deepEqual(await logLines(executionId), [])
  assert.deepEqual(await outcomes(executionId), ['succeeded'])
})

test('a draining worker claims nothing more and ends its executions', async () => {
  const { start, run, createJob, fire, statusOf, workers } = await setup()
  const worker = await start()
  const taken = await fire(await createJob({ afterMs: 2_000 }), 0)
  await run([worker], 50)
  await worker.drain()
  assert.equal((await workers.page({ tenantId: null })).workers[0]!.status, 'DRAINING')
  const later = await fire(await createJob(), 0)
  assert.equal(worker.isIdle, false)
  await run([worker], 3_000)
  assert.equal(worker.isIdle, true)
  assert.deepEqual([await statusOf(taken), await statusOf(later)], ['SUCCEEDED', 'PENDING'])
})

test('executions of a claim that is answered after the drain has begun go back at once, while other calls go on', async () => {
  const { start, run, createJob, fire, statusOf, queue } = await setup()
  const worker = await start()
  const taken = await fire(await createJob({ afterMs: 60_000 }), 0)
  await run([worker], 250)
  const late = await fire(await createJob(), 1)
  const claim = queue.claim.bind(queue)
  queue.claim = async (order) => {
    const claimed = await claim(order)
    await worker.drain()
    return claimed
  }
  while ((await worker.claim()) === 'more');
  assert.deepEqual([await statusOf(taken), await statusOf(late)], ['RUNNING', 'PENDING'])
  assert.equal(worker.inFlight.size, 1)
})

test('a worker that stops records ended executions, and running ones as lost, without a retry spent', async () => {
  const { start, run, createJob, fire, fireBatch, view, statusOf, workers, world, store } = await setup()
  const worker = await start()
  const alone = await fire(await createJob({ afterMs: 60_000 }), 0)
  await run([worker], 250)
  const jobs = [await createJob(), await createJob({ afterMs: 60_000 })]
  const { executionIds } = await fireBatch(jobs, 0)
  const ended = await fire(await createJob(), 0)
  await worker.claim()
  await world.advance(10)
  await worker.drain()
  await worker.release()
  assert.equal((await workers.page({ tenantId: null })).workers[0]!.status, 'LEFT')
  assert.equal(await statusOf(ended), 'SUCCEEDED')
  for (const executionId of [alone, executionIds[1]!]) {
    const { status, attempts } = await view(executionId)
    assert.deepEqual([status, attempts.map(({ outcome }) => outcome)], ['RETRYING', ['lost']])
    assert.equal(store.live.get(executionId)!.losses, 1)
  }
  assert.equal(worker.isIdle, true)
})

test('a worker that stops and cannot write is left to be reclaimed: its calls are not handed back as unstarted', async () => {
  const { start, createJob, fire, view, queue, reclaim } = await setup()
  const worker = await start()
  const executionId = await fire(await createJob({ afterMs: 60_000 }), 0)
  await worker.claim()
  await worker.drain()
  queue.finishBatches = async () => {
    throw new Error('the connection is gone')
  }
  await worker.release()
  assert.deepEqual((await view(executionId)).status, 'RUNNING')
  await reclaim(worker)
  assert.deepEqual(
    (await view(executionId)).attempts.map(({ outcome }) => outcome),
    ['lost'],
  )
})

test('a single execution that waits 200 ms for its host goes back and waits there', async () => {
  const { start, run, trigger, createJob, world, store, sentFor, statusOf } = await setup({ capacity: 8 })
  const worker = await start()
  const job = await createJob({ afterMs: 5_000 }, { overlapPolicy: 'ALLOW' })
  const first = await trigger(job)
  await world.advance(1)
  const second = await trigger(job)
  await run([worker], 400)
  assert.equal(worker.inFlight.size, 1)
  const { state, host, attempt } = store.live.get(second)!
  assert(job.execution.type === 'http')
  const { hostname } = new URL(job.execution.callback_url)
  assert.deepEqual([state, host, attempt], ['ready', hostKeyOf(hostname, defaultTenantId), 0])
  await run([worker], 12_000)
  assert.deepEqual([await statusOf(first), await statusOf(second)], ['SUCCEEDED', 'SUCCEEDED'])
  assert.equal(sentFor(second).length, 1)
})

test('a slow host delays its own executions only, and each of them runs in the end', async () => {
  const { start, run, fireBatch, createJob, statusOf, world, sentFor, store } = await setup({ capacity: 16 })
  const worker = await start()
  let inFlight = 0
  let most = 0
  world.http.answer('https://slow.example', () => {
    most = Math.max(most, ++inFlight)
    world.timers.schedule(1_000, () => void --inFlight)
    return { status: 200, afterMs: 1_000 }
  })
  const slow: NewJob[] = []
  const quick: NewJob[] = []
  for (let i = 0; i < 8; i++) {
    const { execution } = await createJob()
    assert(execution.type === 'http')
    slow.push(await createJob({}, { execution: { ...execution, callback_url: 'https://slow.example/' } }))
    quick.push(await createJob())
  }
  const slowIds = (await fireBatch(slow, 0)).executionIds
  const quickIds = (await fireBatch(quick, 0)).executionIds
  await run([worker], 500)
  for (const executionId of quickIds) assert.equal(await statusOf(executionId), 'SUCCEEDED')
  assert.equal(store.batches.get(batchIdOf(slowIds[0]!)), undefined, 'the waiting ones left their batch')
  await run([worker], 10_000)
  for (const executionId of slowIds) {
    assert.equal(await statusOf(executionId), 'SUCCEEDED')
    assert.equal(sentFor(executionId).length, 1)
    assert.equal(store.log.of(executionId)[0]!.attempt, 1)
  }
  assert.equal(most, 2, 'an eighth of the capacity')
})
