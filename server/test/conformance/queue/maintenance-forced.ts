// Conformance: executions that maintenance ends for good: they took too long in total, or did not stop when they were
// cancelled.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { endAttempt } from '../../../src/domain/queue/attempt.ts'
import type { RetryPolicy } from '../../../src/domain/queue/retry.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import type { StoreScenario } from '../stores.ts'
import {
  allTaken,
  cancelHeld,
  findHeld,
  holdAwaiting,
  holdBatch,
  holdLive,
  lose,
  markOf,
  note,
  report,
} from './held.ts'
import { endOf, findOverdue, long, timeOut } from './maintenance-overdue.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const total = { ...long, total_timeout_seconds: 100 }

const inVain = { retryAt: null, deadReason: 'TOTAL_TIMEOUT' } as const

export function testForced(name: string, setup: Setup): void {
  testTotal(name, setup)
  testCancelled(name, setup)
}

function testTotal(name: string, setup: Setup): void {
  async function assertTimedOut(s: StoreScenario, executionId: string, attempts: number): Promise<void> {
    const view = await s.view(executionId)
    assert.deepEqual(
      [view.status, view.deadLetter, view.attempt, view.attempts.length],
      ['TIMED_OUT', true, attempts, attempts],
    )
    const letter = (await s.deadLetters.get(defaultTenantId, executionId))!
    assert.deepEqual([letter.reason, letter.attempts], ['TOTAL_TIMEOUT', attempts])
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    await s.maintenance.wake(10)
    assert.deepEqual(await s.claim(await s.addWorker()), { batches: [], live: [] })
  }

  test(`${name}: the time of all attempts ends the attempt that runs`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live } = await holdLive(s, { execution: total })
    await s.ageDeadlines(60_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    await s.ageDeadlines(41_000)
    const overdue = await findOverdue(s)
    const { cause, state, totalTimeoutSeconds, totalDeadline } = overdue
    assert.deepEqual([cause, state, totalTimeoutSeconds], ['total', 'running', 100])
    assert(totalDeadline! <= live.totalDeadline!)
    assert.deepEqual(await timeOut(s, overdue, endOf(s, inVain)), [executionId])
    assert.equal((await s.view(executionId)).attempts[0]!.workerId, workerId)
    await assertTimedOut(s, executionId, 1)
  })

  test(`${name}: the time of all attempts ends an execution between two of them`, async (t) => {
    const s = await setup(t)
    const { executionId, mark } = await holdLive(s, { execution: total })
    await report(s, [mark], s.failed({ retryAt: s.at(99_999) }))
    await s.ageDeadlines(101_000)
    const overdue = await findOverdue(s)
    assert.deepEqual([overdue.cause, overdue.state, overdue.attempt], ['total', 'retrying', 1])
    assert.deepEqual(await timeOut(s, overdue, endOf(s, inVain)), [executionId])
    const { attempts, error } = await s.view(executionId)
    assert.deepEqual([attempts[0]!.outcome, error!.type], ['failed', 'TIMEOUT'])
    await assertTimedOut(s, executionId, 1)
  })

  test(`${name}: the time of all attempts ends an execution that is ready for the next`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId } = await holdLive(s, { execution: total })
    await lose(s, workerId)
    await s.ageDeadlines(101_000)
    const overdue = await findOverdue(s)
    assert.deepEqual([overdue.cause, overdue.state, overdue.losses], ['total', 'ready', 1])
    assert.deepEqual(await timeOut(s, overdue, endOf(s, inVain)), [executionId])
    assert.equal((await s.view(executionId)).attempts[0]!.outcome, 'lost')
    await assertTimedOut(s, executionId, 1)
  })

  test(`${name}: an execution that was never claimed has no total deadline`, async (t) => {
    const s = await setup(t)
    await s.trigger(await s.createJob({ execution: total }))
    await s.ageDeadlines(9_000_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
  })

  test(`${name}: an execution that was claimed since it was found is left alone`, async (t) => {
    const s = await setup(t)
    const { mark } = await holdLive(s, { execution: total })
    await report(s, [mark], s.failedForNow())
    await s.ageDeadlines(101_000)
    const overdue = await findOverdue(s)
    await s.maintenance.wake(1)
    await s.claimLive(await s.addWorker())
    assert.deepEqual(await timeOut(s, overdue, endOf(s, inVain)), [])
    assert.equal((await findOverdue(s)).attempt, 2)
  })

  test(`${name}: an attempt that was found silent and was lost since is not recorded twice`, async (t) => {
    const s = await setup(t)
    const execution = { ...long, heartbeat_timeout_seconds: 100, total_timeout_seconds: 200 }
    const { executionId, workerId } = await holdLive(s, { execution })
    await s.ageDeadlines(101_000)
    const overdue = await findOverdue(s)
    assert.equal(overdue.cause, 'silent')
    await lose(s, workerId)
    await s.ageDeadlines(100_000)
    assert.deepEqual(await timeOut(s, overdue), [])
    const { cause, state } = await findOverdue(s)
    assert.deepEqual([cause, state], ['total', 'ready'])
    assert.deepEqual(await timeOut(s, overdue, endOf(s, inVain)), [executionId])
    await assertTimedOut(s, executionId, 1)
  })

  test(`${name}: without time for another attempt the one that fails is the last`, async (t) => {
    const s = await setup(t)
    const patient: RetryPolicy = {
      max_retries: 3,
      backoff: 'FIXED',
      initial_delay_ms: 600_000,
      max_delay_ms: 600_000,
    }
    const { executionId, job } = await holdLive(s, { execution: total, retryPolicy: patient })
    const held = await findHeld(s, executionId)
    const said = { ...s.failed().end, preview: null }
    const now = await s.now()
    const end = endAttempt(said, { ...held, retryPolicy: job.retryPolicy, now, random: 0.5 })
    assert.deepEqual(await report(s, [markOf(held)], { kind: 'ended', end }), allTaken)
    assert.equal((await s.view(executionId)).error!.type, 'HTTP_ERROR')
    await assertTimedOut(s, executionId, 1)
  })
}

function testCancelled(name: string, setup: Setup): void {
  for (const { what, hold } of [
    { what: 'runs', hold: async (s: StoreScenario) => (await holdLive(s, { execution: long })).executionId },
    { what: 'awaits its end', hold: async (s: StoreScenario) => (await holdAwaiting(s)).executionId },
  ]) {
    test(`${name}: an execution that ${what} and does not stop in time after a cancel is forced to end`, async (t) => {
      const s = await setup(t)
      const executionId = await hold(s)
      await cancelHeld(s, executionId)
      assert.deepEqual(await s.maintenance.findOverdue(10), [])
      await s.ageDeadlines(31_000)
      const overdue = await findOverdue(s)
      assert.equal(overdue.cause, 'cancelled')
      assert.deepEqual(await timeOut(s, overdue), [executionId])
      const { status, attempts, error } = await s.view(executionId)
      assert.deepEqual([status, attempts.length, error!.type], ['CANCELLED', 1, 'CANCELLED'])
      assert.equal((await s.deadLetters.depth()).count, 0)
    })
  }

  test(`${name}: a cancel that comes after it was found makes its end cancelled`, async (t) => {
    const s = await setup(t)
    const { executionId } = await holdLive(s)
    await s.ageDeadlines(91_000)
    const overdue = await findOverdue(s)
    await cancelHeld(s, executionId)
    assert.deepEqual(await timeOut(s, overdue), [executionId])
    assert.equal(await s.statusOf(executionId), 'CANCELLED')
  })

  test(`${name}: a cancel does not give it more time`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live } = await holdLive(s)
    await s.finishLive(workerId, live, s.awaiting(s.at(299), epochMs((await s.now()) + 10_000)))
    await cancelHeld(s, executionId)
    await s.ageDeadlines(11_000)
    assert.equal((await findOverdue(s)).cause, 'cancelled')
  })

  test(`${name}: one that was cancelled in its batch and leaves it has as long to stop`, async (t) => {
    const s = await setup(t)
    const noted = await holdBatch(s, 1)
    const slow = await holdBatch(s, 1)
    const awaited = await holdBatch(s, 1)
    const all = [noted, slow, awaited].map(({ executionIds }) => executionIds[0]!)
    for (const executionId of all) await cancelHeld(s, executionId)
    await note(s, noted.marks[0]!)
    await slow.finish([s.running()])
    await awaited.finish([s.awaiting()])
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    await s.ageDeadlines(31_000)
    const found = await s.maintenance.findOverdue(10)
    assert.deepEqual(found.map(({ executionId }) => executionId).toSorted(), all.toSorted())
    for (const { cause } of found) assert.equal(cause, 'cancelled')
  })
}
