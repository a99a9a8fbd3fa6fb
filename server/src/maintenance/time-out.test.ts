import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import type { NewJob } from '../ports/jobs.ts'
import type { ClaimedLive } from '../ports/queue.ts'
import { type AttemptFinished, attemptFinished } from '../telemetry/events.ts'
import { type AfterTimeOut, StoreUptime, timeOutOverdue } from './time-out.ts'

async function setup(t: TestContext) {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const told: AttemptFinished[] = []
  const subscription = attemptFinished.subscribe((facts) => void told.push(facts))
  t.after(() => subscription[Symbol.dispose]())
  const after: AfterTimeOut[] = []
  const deps = {
    clock: world.clock,
    // The middle of the range: delays are exactly the ones of the policy.
    random: { ...world.random, next: () => 0.5 },
    maintenance: ports.maintenance,
    onTimedOut: (one: AfterTimeOut) => void after.push(one),
  }
  const worker = await scenario.addWorker()
  /** Triggers a job with these limits and claims it. */
  async function start(execution: object, changes: Partial<NewJob> = {}): Promise<ClaimedLive> {
    const job = await scenario.createJob()
    const limited = await scenario.createJob({ execution: { ...job.execution, ...execution }, ...changes })
    await scenario.trigger(limited)
    return scenario.claimLive(worker)
  }
  /** Its target has answered 202. */
  async function await202(one: ClaimedLive, timeoutMs = 30_000): Promise<void> {
    const startedAt = world.clock.databaseNow()
    const deadline = (startedAt + timeoutMs) as typeof startedAt
    await scenario.finishLive(worker, one, { kind: 'awaiting', startedAt, deadline })
  }
  const last = async (executionId: string) => {
    const { status, deadLetter, attempts } = await scenario.view(executionId)
    const { outcome, error, httpStatus, durationMs } = attempts.at(-1)!
    return { status, deadLetter, outcome, type: error?.type, message: error?.message, httpStatus, durationMs }
  }
  // Nothing has disturbed the store for long enough.
  const storeUptime = { look: () => Number.POSITIVE_INFINITY, reset() {} }
  const beat = () => ports.leases.beat(worker, { status: 'ACTIVE', currentLoad: 1 })
  const step = async () => {
    await beat()
    return timeOutOverdue(deps, storeUptime)
  }
  return {
    ...scenario,
    world,
    store,
    ports,
    told,
    after,
    worker,
    beat,
    start,
    await202,
    last,
    step,
    deps,
    storeUptime,
  }
}

test('nothing overdue: nothing happens', async (t) => {
  const { start, step, after, told } = await setup(t)
  await start({})
  assert.equal(await step(), 'idle')
  assert.deepEqual([after, told], [[], []])
})

test('an attempt that awaits its target is over when its time is, and is retried', async (t) => {
  const s = await setup(t)
  const one = await s.start({})
  await s.await202(one)
  await s.world.advance(29_999)
  await s.step()
  assert.equal(await s.statusOf(one.executionId), 'RUNNING')
  await s.world.advance(1)
  assert.equal(await s.step(), 'idle')
  assert.deepEqual(await s.last(one.executionId), {
    ...{ status: 'RETRYING', deadLetter: false, outcome: 'timed_out', type: 'TIMEOUT' },
    ...{ message: 'took longer than 30 s', httpStatus: 202, durationMs: 30_000 },
  })
  assert.deepEqual(s.after, [{ retries: true, running: false }])
  const [facts] = s.told
  assert.deepEqual(
    [facts!.executionId, facts!.attempt, facts!.kind, facts!.executor, facts!.outcome],
    [one.executionId, 1, 'trigger', 'http', 'timed_out'],
  )
  assert.deepEqual(
    [facts!.retryAt, facts!.durationMs, facts!.endToEndMs, facts!.delayMs],
    [s.world.clock.databaseNow() + 1_000, 30_000, 30_000, null],
  )
})

test('an attempt is ended a minute later if its worker does not keep the time, and the worker is told to check', async (t) => {
  const s = await setup(t)
  const one = await s.start({ timeout_seconds: 10 })
  await s.world.advance(69_999)
  await s.step()
  assert.equal(await s.statusOf(one.executionId), 'RUNNING')
  await s.world.advance(1)
  await s.step()
  const { status, outcome, message, httpStatus } = await s.last(one.executionId)
  assert.deepEqual([status, outcome, message], ['RETRYING', 'timed_out', 'took longer than 10 s'])
  assert.equal(httpStatus, null)
  assert.deepEqual(s.after, [{ retries: true, running: true }])
})

test('one that nothing is heard of is over though its worker lives; a sign of life puts it off', async (t) => {
  const s = await setup(t)
  const one = await s.start({ heartbeat_timeout_seconds: 20, timeout_seconds: 600 })
  await s.world.advance(15_000)
  const mark = { executionId: one.executionId, jobId: one.jobId, attempt: 1, fence: 1, workerId: s.worker }
  await s.ports.attempts.update([{ ...mark, alive: true }])
  await s.world.advance(19_999)
  await s.step()
  assert.equal(await s.statusOf(one.executionId), 'RUNNING')
  await s.world.advance(1)
  await s.step()
  const { status, outcome, type, message } = await s.last(one.executionId)
  assert.deepEqual([status, outcome, type], ['RETRYING', 'timed_out', 'HEARTBEAT_TIMEOUT'])
  assert.equal(message, 'nothing was heard of it for 20 s')
})

test('a sign of life between looking and writing wins', async (t) => {
  const s = await setup(t)
  const one = await s.start({ heartbeat_timeout_seconds: 20, timeout_seconds: 600 })
  await s.world.advance(20_000)
  const { maintenance, attempts } = s.ports
  const mark = { executionId: one.executionId, jobId: one.jobId, attempt: 1, fence: 1, workerId: s.worker }
  const between = {
    findOverdue: (limit: number) => maintenance.findOverdue(limit),
    async timeOut(ends: Parameters<typeof maintenance.timeOut>[0]) {
      assert.equal(ends.length, 1)
      await attempts.update([{ ...mark, alive: true }])
      return maintenance.timeOut(ends)
    },
  }
  await timeOutOverdue({ ...s.deps, maintenance: between }, s.storeUptime)
  assert.equal(await s.statusOf(one.executionId), 'RUNNING')
  assert.deepEqual([s.told, s.after], [[], []])
})

test('when the time of all attempts is over the execution is, and waits for a person', async (t) => {
  const s = await setup(t)
  const one = await s.start({ total_timeout_seconds: 50, timeout_seconds: 600 })
  await s.world.advance(50_000)
  await s.step()
  const { status, deadLetter, type, message } = await s.last(one.executionId)
  assert.deepEqual([status, deadLetter, type], ['TIMED_OUT', true, 'TIMEOUT'])
  assert.equal(message, 'all attempts together took longer than 50 s')
  assert.equal((await s.deadLetters.get(defaultTenantId, one.executionId))!.reason, 'TOTAL_TIMEOUT')
  assert.deepEqual([s.told[0]!.deadReason, s.after], ['TOTAL_TIMEOUT', [{ retries: false, running: true }]])
})

test('the time of all attempts also ends an execution between two attempts', async (t) => {
  const s = await setup(t)
  const one = await s.start({ total_timeout_seconds: 50 })
  const retryAt = s.at(600 + 40)
  await s.finishLive(s.worker, one, s.failed({ retryAt }))
  await s.world.advance(45_000)
  await s.ports.maintenance.wake(10)
  await s.world.advance(5_000)
  await s.step()
  const { status, deadLetter, attempts } = await s.view(one.executionId)
  assert.deepEqual([status, deadLetter, attempts.length], ['TIMED_OUT', true, 1])
  assert.deepEqual([s.told[0]!.durationMs, s.after[0]!.running], [null, false])
})

test('an attempt that is over too late for another one before the total is the last', async (t) => {
  const s = await setup(t)
  const one = await s.start({ total_timeout_seconds: 31 })
  await s.await202(one)
  await s.world.advance(30_000)
  await s.step()
  const { status, message } = await s.last(one.executionId)
  assert.deepEqual([status, message], ['TIMED_OUT', 'took longer than 30 s'])
  assert.equal(s.told[0]!.deadReason, 'TOTAL_TIMEOUT')
})

test('a cancelled execution that does not stop ends cancelled', async (t) => {
  const s = await setup(t)
  const one = await s.start({ timeout_seconds: 600 })
  await s.await202(one, 600_000)
  const cancelled = {
    tenantId: defaultTenantId,
    executionId: one.executionId,
    message: 'Cancelled by a person.',
  }
  await s.control.cancel(cancelled)
  assert.equal(await s.statusOf(one.executionId), 'CANCELLING')
  await s.world.advance(30_000)
  await s.step()
  assert.equal(await s.statusOf(one.executionId), 'CANCELLED')
  assert.deepEqual([s.told[0]!.outcome, s.told[0]!.retryAt], ['cancelled', null])
})

test('when the retries are used up it is a dead letter', async (t) => {
  const s = await setup(t)
  const policy = { max_retries: 0, backoff: 'FIXED', initial_delay_ms: 1, max_delay_ms: 1 } as const
  const one = await s.start({}, { retryPolicy: policy })
  await s.await202(one)
  await s.world.advance(30_000)
  await s.step()
  assert.equal((await s.deadLetters.get(defaultTenantId, one.executionId))!.reason, 'MAX_RETRIES_EXCEEDED')
  assert.deepEqual(s.after, [{ retries: false, running: false }])
})

test('many are ended in bounded steps', async (t) => {
  const s = await setup(t)
  const job = await s.createJob({ overlapPolicy: 'ALLOW' })
  for (let i = 0; i < 501; i++) await s.trigger(job)
  const { live } = await s.claim(s.worker, 1_000)
  assert.equal(live.length, 501)
  await s.world.advance(90_000)
  assert.equal(await s.step(), 'more')
  assert.equal(s.told.length, 500)
  assert.equal(await s.step(), 'idle')
  assert.equal(s.told.length, 501)
  assert.equal(await s.step(), 'idle')
  assert.equal(s.after.length, 2)
})

test('after an outage workers and targets have their say first', async (t) => {
  const s = await setup(t)
  const held = await s.start({ timeout_seconds: 1 })
  const awaited = await s.start({ timeout_seconds: 1 })
  await s.await202(awaited, 1_000)
  await s.world.advance(300_000)
  const storeUptime = new StoreUptime()
  async function lookFor(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await s.beat()
      await timeOutOverdue(s.deps, storeUptime)
      await s.world.advance(1_000)
    }
  }
  const statuses = async () => [await s.statusOf(held.executionId), await s.statusOf(awaited.executionId)]
  await lookFor(5_000)
  assert.deepEqual(await statuses(), ['RUNNING', 'RUNNING'])
  await s.world.advance(5_000) // a break, as of a process that was paused
  await lookFor(5_000)
  assert.deepEqual(await statuses(), ['RUNNING', 'RUNNING'])
  const away = { timeOut: s.ports.maintenance.timeOut, findOverdue: () => Promise.reject(new Error('away')) }
  await assert.rejects(timeOutOverdue({ ...s.deps, maintenance: away }, storeUptime))
  await lookFor(6_000)
  assert.deepEqual(await statuses(), ['RUNNING', 'RETRYING'])
  await lookFor(14_000)
  assert.deepEqual(await statuses(), ['RUNNING', 'RETRYING'])
  await lookFor(1_000)
  assert.deepEqual(await statuses(), ['RETRYING', 'RETRYING'])
})
