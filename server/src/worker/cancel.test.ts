import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld, type ScriptedAnswer } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import type { Http, HttpOutcome } from '../ports/http.ts'
import type { NewJob } from '../ports/jobs.ts'
import type { FinishAnswer, Queue } from '../ports/queue.ts'
import { type AttemptFinished, attemptFinished, attemptRefused } from '../telemetry/events.ts'
import { Worker, type WorkerOptions } from './worker.ts'

const message = 'Cancelled by a person.'

interface Given extends Partial<WorkerOptions> {
  http?: Http
}

/** Workers on a store that can lose its answers; a test decides when a worker polls cancellations. */
async function setup(t: TestContext) {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const real = ports.queue
  const asked: string[] = []
  /** This many answers to writes are lost, after their commit. */
  const lost = { answers: 0 }
  async function write(answer: Promise<FinishAnswer>): Promise<FinishAnswer> {
    const written = await answer
    if (lost.answers-- > 0) throw new Error('the answer was lost')
    return written
  }
  const queue: Queue = {
    waiting: (...args) => real.waiting(...args),
    claim: (...args) => real.claim(...args),
    definitions: (...args) => real.definitions(...args),
    finishBatches: (...args) => write(real.finishBatches(...args)),
    finishLive: (...args) => write(real.finishLive(...args)),
    findCancelled(workerId) {
      asked.push(workerId)
      return real.findCancelled(workerId)
    },
    findOwn: (...args) => real.findOwn(...args),
    releaseUnknown: (...args) => real.releaseUnknown(...args),
  }
  const after: { retries: boolean; handedBack: boolean }[] = []
  const emitted: AttemptFinished[] = []
  const refused: string[] = []
  for (const subscription of [
    attemptFinished.subscribe((facts) => void emitted.push(facts)),
    attemptRefused.subscribe(({ executionId }) => void refused.push(executionId)),
  ])
    t.after(() => subscription[Symbol.dispose]())
  async function start({ http = world.http, ...options }: Given = {}): Promise<Worker> {
    const onFinished = (one: (typeof after)[number]) => void after.push(one)
    const worker = new Worker(
      {
        ...{ ...world, http, version: '1.2.3', queue, peers: ports.peers, leases: ports.leases },
        ...{ attempts: ports.attempts, logs: ports.logs, secrets: ports.secrets, publicUrl: () => null },
        ...{ graphRuns: ports.graphRuns, tenants: ports.tenants, onEnded() {}, onClaimed() {}, onFinished },
      },
      { labels: [], capacity: 800, outageMs: 300_000, ...options },
    )
    await worker.lease.beat()
    return worker
  }
  /** A job with its own host unless one is named. */
  function createJob(
    answer: Partial<ScriptedAnswer> = {},
    host?: string,
    changes: Partial<NewJob> = {},
  ): Promise<NewJob> {
    const url = `https://${host ?? `host-${world.ids.next()}`}.example`
    world.http.answer(url, () => ({ status: 200, ...answer }))
    return scenario.createJob({
      execution: { type: 'http', callback_url: `${url}/`, method: 'POST', headers: {}, timeout_seconds: 300 },
      ...changes,
    })
  }
  /** Fires one slot of each job into one batch and claims it. */
  async function addBatch(worker: Worker, jobs: readonly NewJob[]): Promise<string[]> {
    const { executionIds } = await scenario.fireBatch(jobs, 0)
    await worker.claim()
    return executionIds
  }
  async function cancel(executionId: string): Promise<string> {
    const outcome = await ports.control.cancel({ tenantId: defaultTenantId, executionId, message })
    return outcome.kind
  }
  /** Time goes on, batches expire, and results are written, as the loops do it. */
  async function pass(worker: Worker, ms: number): Promise<void> {
    await world.advance(ms)
    await worker.expireBatches()
    for (let more = true; more; ) {
      more = await worker.finish().then(
        (one) => one === 'more',
        () => true,
      )
    }
  }
  const view = async (executionId: string) => {
    const { status, attempts, deadLetter } = await scenario.view(executionId)
    assert.equal(attempts.length, 1)
    const { outcome, httpStatus, preview, error, workerId } = attempts[0]!
    return { status, outcome, httpStatus, preview, error, workerId, deadLetter }
  }
  const cancelledBy = (worker: Worker) => ({
    ...{ status: 'CANCELLED', outcome: 'cancelled', error: { type: 'CANCELLED', message } },
    ...{ workerId: worker.lease.workerId, deadLetter: false, httpStatus: null, preview: null },
  })
  const outcomes = () => emitted.map(({ executionId, outcome }) => [executionId, outcome])
  /** The worker is empty: no execution in flight, no call at a host, no result to write. A failed host is remembered. */
  function assertNothingLeft(worker: Worker, hostsRemembered = 0): void {
    assert.deepEqual([worker.isIdle, worker.inFlight.size, worker.inFlight.queued], [true, 0, 0])
    assert.deepEqual(worker.inFlight.executionIds(), [])
    assert.equal(worker.inFlight.gate.size, hostsRemembered)
    assert.equal(world.timers.pending, 0)
  }
  return {
    ...{ ...scenario, world, start, createJob, addBatch, cancel, pass, view, outcomes, cancelledBy },
    ...{ assertNothingLeft, asked, lost, after, emitted, refused },
  }
}

test('a cancelled call under way is aborted at once, and the other calls of its batch are not', async (t) => {
  const s = await setup(t)
  const worker = await s.start()
  const jobs = [await s.createJob({ afterMs: 100_000 }), await s.createJob({ afterMs: 150 })]
  const [cancelled, mate] = await s.addBatch(worker, jobs)
  await s.pass(worker, 100)
  assert.equal(await s.cancel(cancelled!), 'cancelling')
  assert.equal(await s.statusOf(cancelled!), 'CANCELLING')
  await worker.pollCancellations()
  await s.pass(worker, 50)
  assert.deepEqual(await s.view(cancelled!), s.cancelledBy(worker))
  assert.equal(await s.statusOf(mate!), 'SUCCEEDED')
  assert.deepEqual(s.outcomes(), [
    [cancelled, 'cancelled'],
    [mate, 'succeeded'],
  ])
  assert.deepEqual(
    [s.emitted[0]!.durationMs, s.emitted[0]!.retryAt, s.emitted[0]!.deadReason],
    [100, null, null],
  )
  s.assertNothingLeft(worker)
  assert.equal(await s.cancel(cancelled!), 'cancelled', 'it has ended since')
})

test('a cancelled call that has left its batch is aborted at once', async (t) => {
  const s = await setup(t)
  const worker = await s.start()
  const [cancelled] = await s.addBatch(worker, [await s.createJob({ afterMs: 100_000 })])
  await s.pass(worker, 200)
  assert.equal(await s.cancel(cancelled!), 'cancelling')
  await worker.pollCancellations()
  await s.pass(worker, 0)
  assert.deepEqual(await s.view(cancelled!), s.cancelledBy(worker))
  s.assertNothingLeft(worker)
})

test('an execution that is cancelled while it leaves its batch stays cancelled', async (t) => {
  const s = await setup(t)
  const worker = await s.start()
  const [cancelled] = await s.addBatch(worker, [await s.createJob({ afterMs: 100_000 })])
  await s.cancel(cancelled!)
  await s.pass(worker, 200) // It leaves its batch before the worker has heard of it.
  assert.equal(await s.statusOf(cancelled!), 'CANCELLING')
  await worker.pollCancellations()
  await s.pass(worker, 0)
  assert.deepEqual(await s.view(cancelled!), s.cancelledBy(worker))
  s.assertNothingLeft(worker)
})

test('a cancelled execution that waits for its host in its batch does not start, and is not handed back', async (t) => {
  const s = await setup(t)
  const worker = await s.start({ capacity: 8 }) // One call at a time to one host.
  const jobs = [await s.createJob({ afterMs: 300 }, 'slow'), await s.createJob({ afterMs: 300 }, 'slow')]
  const [running, cancelled] = await s.addBatch(worker, jobs)
  assert.equal(await s.cancel(cancelled!), 'cancelling')
  await worker.pollCancellations()
  assert.equal(worker.inFlight.queued, 0)
  await s.pass(worker, 200)
  assert.equal(await s.statusOf(cancelled!), 'CANCELLED')
  assert.deepEqual(worker.inFlight.executionIds(), [running])
  const [event] = s.emitted
  assert.deepEqual([event!.executionId, event!.outcome], [cancelled, 'cancelled'])
  assert.deepEqual([event!.delayMs, event!.durationMs], [null, null], 'the execution did not run')
  await s.pass(worker, 100)
  assert.deepEqual(s.after, [
    { retries: false, handedBack: false },
    { retries: false, handedBack: false },
  ])
  assert.equal(s.world.http.sent.length, 1)
  s.assertNothingLeft(worker)
})

test('a cancelled execution that waits for its host alone does not start, and is not handed back', async (t) => {
  const s = await setup(t)
  const worker = await s.start({ capacity: 8 })
  const job = await s.createJob({ afterMs: 300 }, 'slow', { overlapPolicy: 'ALLOW' })
  await s.trigger(job)
  await s.world.advance(1)
  const cancelled = await s.trigger(job)
  await worker.claim()
  assert.equal(worker.inFlight.queued, 1)
  assert.equal(await s.cancel(cancelled), 'cancelling')
  await worker.pollCancellations()
  await s.pass(worker, 0)
  assert.equal(await s.statusOf(cancelled), 'CANCELLED')
  assert.deepEqual(s.outcomes(), [[cancelled, 'cancelled']])
  assert.deepEqual(s.after, [{ retries: false, handedBack: false }])
  await s.pass(worker, 300)
  assert.equal(s.world.http.sent.length, 1)
  s.assertNothingLeft(worker)
})

for (const { status, leftBatch } of [200, 404, 500].flatMap((status) => [
  { status, leftBatch: false },
  { status, leftBatch: true },
])) {
  const where = leftBatch ? 'alone' : 'in its batch'
  test(`a call that ends with ${status} ${where} before its worker hears of the cancel is cancelled, and keeps its answer`, async (t) => {
    const s = await setup(t)
    const worker = await s.start()
    const answer = { status, body: 'its answer', afterMs: leftBatch ? 300 : 100 }
    const [executionId] = await s.addBatch(worker, [await s.createJob(answer)])
    if (leftBatch) await s.pass(worker, 200)
    assert.equal(await s.cancel(executionId!), 'cancelling')
    await s.pass(worker, 100)
    assert.deepEqual(await s.view(executionId!), {
      ...s.cancelledBy(worker),
      ...{ httpStatus: status, preview: 'its answer' },
    })
    assert.deepEqual(s.outcomes(), [[executionId, 'cancelled']])
    assert.deepEqual([s.emitted[0]!.retryAt, s.emitted[0]!.deadReason], [null, null])
    assert(s.after.every(({ retries }) => !retries))
    assert.equal((await s.deadLetters.depth()).count, 0)
    s.assertNothingLeft(worker, status === 500 ? 1 : 0)
  })
}

test('an execution that has ended can be cancelled until its end is recorded', async (t) => {
  const s = await setup(t)
  const worker = await s.start()
  const [executionId] = await s.addBatch(worker, [await s.createJob({ body: 'done' })])
  const [recorded] = await s.addBatch(worker, [await s.createJob()])
  await s.world.advance(10)
  assert.equal(await s.cancel(executionId!), 'cancelling')
  await worker.pollCancellations()
  await s.pass(worker, 0)
  const { status, httpStatus, preview } = await s.view(executionId!)
  assert.deepEqual([status, httpStatus, preview], ['CANCELLED', 200, 'done'])
  assert.equal(await s.cancel(recorded!), 'finished')
  assert.equal(await s.statusOf(recorded!), 'SUCCEEDED')
  s.assertNothingLeft(worker)
})

for (const { where, afterMs } of [
  { where: 'in its batch', afterMs: 100 },
  { where: 'alone', afterMs: 300 },
]) {
  test(`a cancelled end is recorded and emitted once though the answer was lost, ${where}`, async (t) => {
    const s = await setup(t)
    const worker = await s.start()
    const [executionId] = await s.addBatch(worker, [await s.createJob({ afterMs, status: 404 })])
    if (afterMs > 200) await s.pass(worker, 200)
    await s.world.advance(afterMs % 200)
    await s.cancel(executionId!)
    await worker.pollCancellations()
    s.lost.answers = 1
    await s.pass(worker, 0)
    assert.deepEqual(await s.view(executionId!), { ...s.cancelledBy(worker), httpStatus: 404 })
    assert.deepEqual([s.outcomes(), s.refused], [[[executionId, 'cancelled']], []])
    assert.equal(s.emitted[0]!.deadReason, null)
    s.assertNothingLeft(worker)
  })

  test(`a cancelled execution that was not started is recorded and emitted once though the answer was lost, ${where}`, async (t) => {
    const s = await setup(t)
    const worker = await s.start({ capacity: 8 })
    const job = await s.createJob({ afterMs: 300 }, 'slow', { overlapPolicy: 'ALLOW' })
    const jobs = [job, await s.createJob({ afterMs: 300 }, 'slow')]
    if (where === 'in its batch') await s.addBatch(worker, jobs)
    else {
      for (let i = 0; i < 2; i++) await s.trigger(job)
      await worker.claim()
    }
    const [queued] = [...worker.inFlight.executions()].filter(({ status }) => status === 'queued')
    const { executionId } = queued!
    await s.cancel(executionId)
    await worker.pollCancellations()
    s.lost.answers = 1
    await s.pass(worker, 200)
    assert.equal(await s.statusOf(executionId), 'CANCELLED')
    assert.deepEqual([s.outcomes(), s.refused], [[[executionId, 'cancelled']], []])
    assert(s.after.every(({ handedBack }) => !handedBack))
    await s.pass(worker, 100)
    s.assertNothingLeft(worker)
  })
}

test('a cancelled call that does not stop is ended by force after 30 s, and its later end is ignored', async (t) => {
  const s = await setup(t)
  const deaf: Http = { send: (request) => s.world.http.send(request) }
  const worker = await s.start({ http: deaf })
  const [executionId] = await s.addBatch(worker, [await s.createJob({ afterMs: 60_000, body: 'too late' })])
  await s.pass(worker, 1_000)
  await s.cancel(executionId!)
  await worker.pollCancellations()
  await s.pass(worker, 29_999)
  await worker.pollCancellations()
  assert.equal(await s.statusOf(executionId!), 'CANCELLING')
  assert.equal(worker.inFlight.size, 1)
  await s.pass(worker, 1)
  assert.deepEqual(await s.view(executionId!), s.cancelledBy(worker))
  assert.deepEqual([worker.inFlight.size, worker.inFlight.gate.size], [0, 0])
  await s.pass(worker, 29_000)
  assert.deepEqual(await s.view(executionId!), s.cancelledBy(worker))
  assert.deepEqual(s.outcomes(), [[executionId, 'cancelled']])
  assert.equal(s.emitted[0]!.durationMs, 31_000)
  s.assertNothingLeft(worker)
})

test('a cancelled execution of another worker is left to that worker', async (t) => {
  const s = await setup(t)
  const [ours, theirs] = [await s.start(), await s.start()]
  const [cancelled] = await s.addBatch(theirs, [await s.createJob({ afterMs: 300 })])
  const [kept] = await s.addBatch(ours, [await s.createJob({ afterMs: 300 })])
  await s.cancel(cancelled!)
  await ours.pollCancellations()
  await s.pass(ours, 300)
  assert.equal(await s.statusOf(kept!), 'SUCCEEDED')
  assert.equal(await s.statusOf(cancelled!), 'CANCELLING')
  await s.pass(theirs, 0)
  assert.equal(await s.statusOf(cancelled!), 'CANCELLED')
})

test('a worker with nothing in flight does not poll, and hearing of a cancel again changes nothing', async (t) => {
  const s = await setup(t)
  const worker = await s.start()
  await worker.pollCancellations()
  assert.deepEqual(s.asked, [])
  const [executionId] = await s.addBatch(worker, [await s.createJob({ afterMs: 100_000 })])
  await s.cancel(executionId!)
  for (let times = 0; times < 3; times++) await worker.pollCancellations()
  assert.equal(s.asked.length, 3)
  await s.pass(worker, 0)
  await worker.pollCancellations()
  assert.deepEqual(s.outcomes(), [[executionId, 'cancelled']])
  assert.equal(s.asked.length, 3)
  s.assertNothingLeft(worker)
})

test('a cancelled call ends cancelled also when its worker stops or dies', async (t) => {
  const s = await setup(t)
  const deaf: Http = { send: () => new Promise<HttpOutcome>(() => {}) }
  const [going, dying] = [await s.start({ http: deaf }), await s.start({ http: deaf })]
  const [first] = await s.addBatch(going, [await s.createJob()])
  const [second] = await s.addBatch(dying, [await s.createJob()])
  for (const executionId of [first!, second!]) assert.equal(await s.cancel(executionId), 'cancelling')
  await going.pollCancellations()
  await going.release()
  assert.equal(await s.statusOf(first!), 'CANCELLED')
  const beats = await s.maintenance.watch()
  await s.maintenance.reclaim(beats.find(({ holderId }) => holderId === dying.lease.workerId)!)
  assert.equal(await s.statusOf(second!), 'CANCELLED')
})
