import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { hostKeyOf } from '../domain/queue/host-gate.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import { madeAtOf, UuidV7 } from '../lib/id.ts'
import type { NewJob } from '../ports/jobs.ts'
import type { Queue } from '../ports/queue.ts'
import { attemptFinished, attemptRefused, historyWriteFailed } from '../telemetry/events.ts'
import { Worker } from './worker.ts'

type Method = 'finishBatches' | 'finishLive'
const methods: readonly Method[] = ['finishBatches', 'finishLive']

/** A worker with its lease, on a store that can lose its answers. */
async function setup(t: TestContext, { capacity = 800 }: { capacity?: number } = {}) {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const real = ports.queue
  const writes: { method: Method; executions: number }[] = []
  /** The fates of the next writes, in turn. */
  const faults: ('before' | 'after')[] = []
  async function call<T>(method: Method, executions: number, write: () => Promise<T>): Promise<T> {
    const fault = faults.shift()
    if (fault === 'before') throw new Error('the database is away')
    const answer = await write()
    if (fault === 'after') throw new Error('the answer was lost')
    writes.push({ method, executions })
    return answer
  }
  const queue: Queue = {
    waiting: (...args) => real.waiting(...args),
    claim: (...args) => real.claim(...args),
    definitions: (...args) => real.definitions(...args),
    findCancelled: (...args) => real.findCancelled(...args),
    findOwn: (...args) => real.findOwn(...args),
    releaseUnknown: (...args) => real.releaseUnknown(...args),
    finishBatches(workerId, batches) {
      const executions = batches.reduce((sum, { endings }) => sum + endings.length, 0)
      return call('finishBatches', executions, () => real.finishBatches(workerId, batches))
    },
    finishLive: (workerId, ends) => call('finishLive', ends.length, () => real.finishLive(workerId, ends)),
  }
  const finished: { retries: boolean; handedBack: boolean }[] = []
  const worker = new Worker(
    {
      ...{
        ...world,
        version: '1.2.3',
        queue,
        peers: ports.peers,
        tenants: ports.tenants,
        leases: ports.leases,
        onEnded() {},
        onClaimed() {},
      },
      ...{ attempts: ports.attempts, logs: ports.logs, secrets: ports.secrets, publicUrl: () => null },
      graphRuns: ports.graphRuns,
      onFinished: (after) => void finished.push(after),
    },
    { labels: [], capacity, outageMs: 300_000 },
  )
  await worker.lease.beat()
  const emitted: string[] = []
  const refused: string[] = []
  for (const subscription of [
    attemptFinished.subscribe(({ executionId }) => void emitted.push(executionId)),
    attemptRefused.subscribe(({ executionId }) => void refused.push(executionId)),
  ])
    t.after(() => subscription[Symbol.dispose]())
  /** A job with its own host, which answers after a time. */
  function createJob(
    afterMs = 0,
    { status = 200, host = '', jobId = world.ids.next() } = {},
  ): Promise<NewJob> {
    const name = host === '' ? `host-${world.ids.next()}` : host
    const url = `https://${name}.example`
    world.http.answer(url, () => ({ status, afterMs }))
    return scenario.createJob({
      jobId,
      execution: { type: 'http', callback_url: `${url}/`, method: 'POST', headers: {}, timeout_seconds: 30 },
    })
  }
  /** Fires one slot of each job into one batch and claims it. */
  async function addBatch(jobs: readonly NewJob[]): Promise<string[]> {
    const { executionIds } = await scenario.fireBatch(jobs, 0)
    await worker.claim()
    return executionIds
  }
  const attemptsOf = (executionId: string) => store.log.of(executionId)
  return {
    ...scenario,
    ...{ world, store, worker, writes, faults, finished, emitted, refused, attemptsOf, addBatch },
    createJob,
    /** Time goes on and batches expire; nothing is written. */
    async pass(ms: number) {
      await world.advance(ms)
      await worker.expireBatches()
    },
    /** Writes until all is written, as the loop does; a failed write is tried again. */
    async finishAll() {
      let failures = 0
      for (let more = true; more; ) {
        more = await worker.finish().then(
          (one) => one === 'more',
          () => ++failures < 20,
        )
      }
      return failures
    },
  }
}

test('a batch that ends within 200 ms is one write', async (t) => {
  const { createJob, addBatch, pass, finishAll, writes, statusOf, emitted, finished, worker } = await setup(t)
  const executionIds = await addBatch([await createJob(10), await createJob(150), await createJob(199)])
  await pass(199)
  await finishAll()
  assert.deepEqual(writes, [{ method: 'finishBatches', executions: 3 }])
  for (const executionId of executionIds) assert.equal(await statusOf(executionId), 'SUCCEEDED')
  assert.deepEqual(emitted.toSorted(), executionIds.toSorted())
  assert.deepEqual(finished, [{ retries: false, handedBack: false }])
  assert.equal(worker.isIdle, true)
})

test('nothing of a batch is written before it has ended or is 200 ms old', async (t) => {
  const { createJob, addBatch, pass, finishAll, writes } = await setup(t)
  await addBatch([await createJob(0), await createJob(5_000)])
  await pass(199)
  await finishAll()
  assert.deepEqual(writes, [])
  await pass(1)
  await finishAll()
  assert.deepEqual(writes, [{ method: 'finishBatches', executions: 2 }])
})

test('after 200 ms ended executions are recorded, running ones go on alone, queued ones go back', async (t) => {
  const s = await setup(t, { capacity: 8 })
  const { createJob, addBatch, pass, finishAll, view, writes, store, emitted, finished } = s
  // One call at a time to one host.
  const jobs = [
    await createJob(0),
    await createJob(5_000, { host: 'slow' }),
    await createJob(0, { host: 'slow' }),
  ]
  s.world.http.answer('https://slow.example', () => ({ status: 200, afterMs: 5_000 }))
  const [ended, running, unstarted] = await addBatch(jobs)
  await pass(200)
  await finishAll()
  assert.equal((await view(ended!)).status, 'SUCCEEDED')
  assert.equal((await view(running!)).status, 'RUNNING')
  const { status, attempt } = await view(unstarted!)
  assert.deepEqual({ status, attempt }, { status: 'PENDING', attempt: 0 })
  assert.equal(
    store.live.get(unstarted!)!.host,
    hostKeyOf('slow.example', defaultTenantId),
    'it waits for its host',
  )
  assert.deepEqual(finished, [{ retries: false, handedBack: true }])
  assert.deepEqual(emitted, [ended])
  await pass(5_000)
  await finishAll()
  const { attempts } = await view(running!)
  assert.deepEqual(
    attempts.map(({ attempt, outcome, durationMs }) => [attempt, outcome, durationMs]),
    [[1, 'succeeded', 5_000]],
  )
  assert.deepEqual(writes.at(-1), { method: 'finishLive', executions: 1 })
  assert.equal(s.worker.isIdle, true)
})

test('the result of an execution that left its batch waits for the batch to be written', async (t) => {
  const { createJob, addBatch, pass, finishAll, faults, writes, refused, statusOf } = await setup(t)
  const [quick, slow] = await addBatch([await createJob(0), await createJob(300)])
  await pass(200)
  faults.push('before', 'before', 'before')
  await pass(100) // it ends while its batch is still to be written
  assert.equal(await finishAll(), 3)
  assert.deepEqual(
    writes.map(({ method }) => method),
    ['finishBatches', 'finishLive'],
  )
  assert.deepEqual(refused, [])
  assert.deepEqual([await statusOf(quick!), await statusOf(slow!)], ['SUCCEEDED', 'SUCCEEDED'])
})

test('the result of an execution that left its batch waits also when there are more batches than go into one write', async (t) => {
  const { createJob, fireBatch, worker, pass, finishAll, writes, refused, attemptsOf, emitted } = await setup(
    t,
    {
      capacity: 20_000,
    },
  )
  const executionIds: string[] = []
  for (let batch = 0; batch < 21; batch++) {
    // The executions of the last batch end first: their results come before the others'.
    const afterMs = batch === 20 ? 250 : 300
    const members: NewJob[] = []
    for (let i = 0; i < 100; i++) members.push(await createJob(afterMs, { host: `host-${afterMs}` }))
    executionIds.push(...(await fireBatch(members, 0)).executionIds)
  }
  // Only 500 are claimed ahead of their start; here all start at once.
  while ((await worker.claim()) === 'more');
  assert.equal(worker.inFlight.size, 2_100)
  await pass(200)
  await pass(100)
  await finishAll()
  assert.deepEqual(refused, [])
  for (const executionId of executionIds) assert.equal(attemptsOf(executionId).length, 1)
  assert.equal(emitted.length, 2_100)
  assert.equal(writes[0]!.executions, 2_000, 'a write is bounded')
  assert.equal(worker.isIdle, true)
})

for (const method of methods) {
  for (const when of ['before', 'after'] as const) {
    test(`results are kept while the store is away and recorded once: ${method} fails ${when} its commit`, async (t) => {
      const s = await setup(t)
      const failures: number[] = []
      const subscription = historyWriteFailed.subscribe(({ executions }) => void failures.push(executions))
      t.after(() => subscription[Symbol.dispose]())
      const afterMs = method === 'finishBatches' ? 0 : 300
      const ok = await s.createJob(afterMs)
      const retried = await s.createJob(afterMs, { status: 500 })
      const dead = await s.createJob(afterMs, { status: 404 })
      const executionIds = await s.addBatch([ok, retried, dead])
      await s.pass(200)
      if (method === 'finishLive') await s.finishAll()
      await s.pass(100)
      s.faults.push(when, 'before', 'before')
      assert.equal(s.worker.isIdle, false)
      assert.equal(await s.finishAll(), 3)
      assert.equal(failures.length, 3)
      assert(failures.every((executions) => executions > 0))
      const statuses = await Promise.all(executionIds.map((executionId) => s.statusOf(executionId)))
      assert.deepEqual(statuses, ['SUCCEEDED', 'RETRYING', 'FAILED'])
      for (const executionId of executionIds) assert.equal(s.attemptsOf(executionId).length, 1)
      assert.deepEqual(s.emitted.toSorted(), executionIds.toSorted(), 'each end is emitted once')
      assert.deepEqual(s.refused, [])
      assert.equal(s.finished.at(-1)!.retries, true)
      assert.equal(s.worker.isIdle, true)
      assert.equal((await s.deadLetters.depth()).count, 1)
    })
  }
}

test('an execution that left its batch by a write with a lost answer goes on, and its result is recorded', async (t) => {
  const { createJob, addBatch, pass, finishAll, faults, refused, view } = await setup(t)
  const [slow] = await addBatch([await createJob(5_000), await createJob(0)])
  await pass(200)
  faults.push('after')
  await finishAll()
  assert.equal((await view(slow!)).status, 'RUNNING')
  await pass(5_000)
  await finishAll()
  const { status, attempts } = await view(slow!)
  assert.deepEqual([status, attempts.length, refused], ['SUCCEEDED', 1, []])
})

test('an execution that is returned to the queue by a write with a lost answer is returned once', async (t) => {
  const { createJob, addBatch, pass, finishAll, faults, refused, view, worker } = await setup(t, {
    capacity: 8,
  })
  await addBatch([await createJob(60_000, { host: 'slow' })])
  const unstarted = await addBatch([await createJob(0, { host: 'slow' })])
  await pass(200)
  faults.push('after')
  await finishAll()
  const { status, attempt } = await view(unstarted[0]!)
  assert.deepEqual({ status, attempt, refused }, { status: 'PENDING', attempt: 0, refused: [] })
  assert.equal(worker.inFlight.size, 1)
})

test('results of reclaimed executions are refused, in a batch and alone', async (t) => {
  const s = await setup(t)
  const { createJob, addBatch, pass, finishAll, maintenance, refused, emitted, attemptsOf } = s
  const [alone] = await addBatch([await createJob(300)])
  await pass(200)
  await finishAll()
  const [ended, running] = await addBatch([await createJob(0), await createJob(60_000)])
  const [lease] = await maintenance.watch()
  await maintenance.reclaim(lease!)
  await pass(200)
  await finishAll()
  assert.deepEqual(refused.toSorted(), [alone!, ended!, running!].toSorted())
  assert.deepEqual(emitted, [])
  for (const executionId of [alone!, ended!, running!])
    assert.deepEqual(
      attemptsOf(executionId).map(({ outcome }) => outcome),
      ['lost'],
    )
  assert.equal(s.worker.isIdle, true)
  assert.equal(s.world.timers.pending, 0, 'the call that still ran was aborted')
})

test('when the lease is found lost while a write is under way, each result is emitted or refused, once', async (t) => {
  for (const isReclaimed of [true, false]) {
    const { createJob, addBatch, pass, worker, maintenance, refused, emitted } = await setup(t)
    const [executionId] = await addBatch([await createJob()])
    await pass(1)
    const [lease] = await maintenance.watch()
    if (isReclaimed) await maintenance.reclaim(lease!)
    const written = worker.finish()
    // The result is recorded by now, though its answer has not come.
    if (!isReclaimed) await maintenance.reclaim(lease!)
    await worker.lease.beat()
    await written
    await worker.finish()
    assert.deepEqual([refused, emitted], isReclaimed ? [[executionId], []] : [[], [executionId]])
    assert.equal(worker.isIdle, true)
  }
})

test('a job that was created for a time in the past is due at its creation', async (t) => {
  const { createJob, addBatch, pass, finishAll, world } = await setup(t)
  const event = attemptFinished.next()
  const startedAt = world.clock.databaseNow()
  const job = await createJob(120)
  await addBatch([job])
  await pass(120)
  await finishAll()
  const { delayMs, endToEndMs } = await event
  const lateMs = startedAt - madeAtOf(job.jobId)
  assert.deepEqual([delayMs, endToEndMs], [lateMs, lateMs + 120])
})

test('the delay of a first attempt is from due to started, and its end-to-end time from due to finished', async (t) => {
  const { createJob, addBatch, pass, finishAll, at, world } = await setup(t)
  const event = attemptFinished.next()
  const startedAt = world.clock.databaseNow()
  // Made before its slot, as every job with a schedule is.
  const jobId = new UuidV7(() => at(-60), world.random).next()
  const [executionId] = await addBatch([await createJob(120, { status: 500, jobId })])
  await pass(120)
  await finishAll()
  assert.deepEqual(await event, {
    ...{ executionId, attempt: 1, kind: 'slot', executor: 'http', outcome: 'failed', deadReason: null },
    retryAt: (await event).retryAt,
    delayMs: startedAt - at(0),
    endToEndMs: startedAt + 120 - at(0),
    durationMs: 120,
  })
  assert((await event).retryAt !== null)
})
