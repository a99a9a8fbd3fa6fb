// Conformance: an execution that takes too long or is silent for too long is found and ended, unless it was heard from
// meanwhile.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { AttemptEnd } from '../../../src/domain/queue/attempt.ts'
import { workerLeaseMs } from '../../../src/domain/queue/worker.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import type { Overdue } from '../../../src/ports/maintenance.ts'
import { notHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import {
  allTaken,
  assertWithin,
  findHeld,
  holdAwaiting,
  holdBatch,
  holdLive,
  http,
  lose,
  markOf,
  note,
  report,
} from './held.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Its attempts have an hour, so that only the tested deadline comes due. */
export const long = { ...http, timeout_seconds: 3_600 }
const silent = { ...long, heartbeat_timeout_seconds: 100 }

export async function findOverdue(s: StoreScenario): Promise<Overdue> {
  const [overdue, ...more] = await s.maintenance.findOverdue(10)
  assert(overdue !== undefined, 'nothing is overdue')
  assert.deepEqual(more, [])
  return overdue
}

/** As maintenance ends it: to be tried again at once, unless said otherwise. */
export function endOf(s: StoreScenario, changes: Partial<AttemptEnd> = {}): AttemptEnd {
  const error = { type: 'TIMEOUT', message: 'took too long' } as const
  const again = { retryAt: s.at(302), preview: null, httpStatus: null }
  return s.failed({ outcome: 'timed_out', error, ...again, ...changes }).end
}

export function timeOut(
  s: StoreScenario,
  { executionId, attempt, fence }: Overdue,
  end = endOf(s),
): Promise<string[]> {
  return s.maintenance.timeOut([{ executionId, attempt, fence, end }])
}

export function testOverdue(name: string, setup: Setup): void {
  testAttempt(name, setup)
  testSilent(name, setup)
}

function testAttempt(name: string, setup: Setup): void {
  test(`${name}: an attempt that is long past its deadline is found with everything that bears on its end`, async (t) => {
    const s = await setup(t)
    const { executionId, job, live, claimed, mark } = await holdLive(s)
    await note(s, mark, { startedAt: s.at(300) })
    // Its worker keeps the time itself: maintenance waits a minute longer.
    await s.ageDeadlines(60_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    await s.ageDeadlines(31_000)
    const [found, ...more] = await s.maintenance.findOverdue(10)
    assertWithin(found!.startedAt, claimed)
    assert.deepEqual(
      [{ ...found, startedAt: null }, ...more],
      [
        {
          executionId,
          jobId: job.jobId,
          kind: 'trigger',
          executor: 'http',
          enqueuedAt: live.enqueuedAt,
          state: 'running',
          attempt: 1,
          losses: 0,
          fence: live.fence,
          startedAt: null,
          cause: 'attempt',
          timeoutSeconds: 30,
          totalTimeoutSeconds: null,
          heartbeatTimeoutSeconds: null,
          totalDeadline: null,
          retryPolicy: job.retryPolicy,
        },
      ],
    )
  })

  test(`${name}: an attempt that is timed out is recorded as its worker's, and tried again`, async (t) => {
    const s = await setup(t)
    const { executionId, live, mark, workerId } = await holdLive(s)
    await s.ageDeadlines(91_000)
    const overdue = await findOverdue(s)
    assert.deepEqual(await timeOut(s, overdue), [executionId])
    const { status, attempts } = await s.view(executionId)
    assert.deepEqual([status, attempts.length], ['RETRYING', 1])
    assert.deepEqual([attempts[0]!.outcome, attempts[0]!.workerId], ['timed_out', workerId])
    assert.deepEqual(await timeOut(s, overdue), [])
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    // The worker that ran it reports too late.
    assert.deepEqual(await report(s, [mark], s.succeeded()), { ...allTaken, refused: [executionId] })
    assert.deepEqual(
      await s.queue.finishLive(workerId, [{ ...live, ending: s.succeeded() }]),
      notHeld(executionId),
    )
    await s.maintenance.wake(1)
    assert.equal((await s.claimLive(workerId)).attempt, 2)
  })

  test(`${name}: an attempt of a silent worker is left to the reclaim, until the worker is heard of`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId } = await holdLive(s)
    await s.ageDeadlines(91_000)
    const overdue = await findOverdue(s)
    await s.ageLeases(workerLeaseMs + 1)
    assert.deepEqual(await timeOut(s, overdue), [])
    assert.equal(await s.statusOf(executionId), 'RUNNING')
    await s.leases.beat(workerId, { status: 'ACTIVE', currentLoad: 1 })
    assert.deepEqual(await timeOut(s, overdue), [executionId])
  })

  test(`${name}: an attempt that left its batch has a deadline, one in its batch has none`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, finish } = await holdBatch(s, 3)
    await note(s, marks[0]!, { startedAt: epochMs((await s.now()) - 91_000) })
    assert.equal((await findOverdue(s)).executionId, executionIds[0])
    await timeOut(s, await findOverdue(s))
    await finish([s.succeeded(), s.running(s.at(1)), s.succeeded()])
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    await s.ageDeadlines(3_601_000)
    assert.equal((await findOverdue(s)).executionId, executionIds[1])
  })

  test(`${name}: an execution that awaits its end is timed out as an attempt of its caller`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId } = await holdAwaiting(s)
    await s.ageDeadlines(3_601_000)
    const overdue = await findOverdue(s)
    assert.deepEqual([overdue.state, overdue.cause, overdue.startedAt], ['awaiting', 'attempt', s.at(299)])
    assert.deepEqual(await timeOut(s, overdue), [executionId])
    const [attempt] = (await s.view(executionId)).attempts
    assert.deepEqual([attempt!.outcome, attempt!.workerId], ['timed_out', workerId])
    const late = { ...overdue, workerId: null }
    assert.deepEqual(await report(s, [late], s.succeeded()), { ...allTaken, refused: [executionId] })
  })

  test(`${name}: between attempts an execution has no deadline of an attempt`, async (t) => {
    const s = await setup(t)
    const failed = await holdLive(s, { execution: silent })
    await report(s, [failed.mark], s.failed({ retryAt: s.at(99_999) }))
    const handedBack = await holdLive(s, { execution: silent })
    await report(s, [handedBack.mark], { kind: 'unstarted' })
    await s.ageDeadlines(9_000_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    const lost = await s.addWorker()
    await s.claimLive(lost)
    await lose(s, lost)
    await s.ageDeadlines(9_000_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
  })

  test(`${name}: no more are found than asked, the longest overdue first`, async (t) => {
    const s = await setup(t)
    const wanted: string[] = []
    for (const timeout_seconds of [300, 100, 200]) {
      wanted.push((await holdLive(s, { execution: { ...http, timeout_seconds } })).executionId)
    }
    await s.ageDeadlines(1_000_000)
    const found = await s.maintenance.findOverdue(2)
    assert.deepEqual(
      found.map(({ executionId }) => executionId),
      [wanted[1], wanted[2]],
    )
    assert.equal((await s.maintenance.findOverdue(10)).length, 3)
  })

  test(`${name}: an execution that was claimed again since it was found is left alone`, async (t) => {
    const s = await setup(t)
    const { executionId, mark } = await holdLive(s)
    await s.ageDeadlines(91_000)
    const overdue = await findOverdue(s)
    await report(s, [mark], { kind: 'unstarted' })
    await s.claimLive(await s.addWorker())
    await s.ageDeadlines(91_000)
    assert.deepEqual(await timeOut(s, overdue), [])
    assert.equal(await s.statusOf(executionId), 'RUNNING')
    assert.deepEqual(await s.maintenance.timeOut([]), [])
  })
}

function testSilent(name: string, setup: Setup): void {
  test(`${name}: an attempt of which nothing is heard for too long is found`, async (t) => {
    const s = await setup(t)
    const { executionId } = await holdLive(s, { execution: silent })
    await s.ageDeadlines(60_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    await s.ageDeadlines(41_000)
    const overdue = await findOverdue(s)
    assert.deepEqual([overdue.cause, overdue.heartbeatTimeoutSeconds], ['silent', 100])
    const error = { type: 'HEARTBEAT_TIMEOUT', message: 'nothing was heard of it' } as const
    assert.deepEqual(await timeOut(s, overdue, endOf(s, { error })), [executionId])
    assert.equal((await s.view(executionId)).error!.type, 'HEARTBEAT_TIMEOUT')
  })

  test(`${name}: one that is heard of in time is not silent`, async (t) => {
    const s = await setup(t)
    const { executionId, mark } = await holdLive(s, { execution: silent })
    await s.ageDeadlines(60_000)
    await note(s, mark)
    await s.ageDeadlines(60_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    // That its worker lives does not mean that it does.
    await note(s, mark, { alive: false })
    await s.ageDeadlines(41_000)
    assert.equal((await findOverdue(s)).executionId, executionId)
  })

  test(`${name}: one that is heard of after it was found is not timed out`, async (t) => {
    const s = await setup(t)
    const { executionId, mark } = await holdLive(s, { execution: silent })
    await s.ageDeadlines(101_000)
    const overdue = await findOverdue(s)
    assert.equal(await note(s, mark), 'updated')
    assert.deepEqual(await timeOut(s, overdue), [])
    assert.equal(await s.statusOf(executionId), 'RUNNING')
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
  })

  test(`${name}: its silence begins anew when its target answers 202`, async (t) => {
    const s = await setup(t)
    const { executionId, workerId, live } = await holdLive(s, { execution: silent })
    await s.ageDeadlines(60_000)
    await s.finishLive(workerId, live, s.awaiting(s.at(299), epochMs((await s.now()) + 3_600_000)))
    await s.ageDeadlines(60_000)
    assert.deepEqual(await s.maintenance.findOverdue(10), [])
    await s.ageDeadlines(41_000)
    const overdue = await findOverdue(s)
    assert.deepEqual([overdue.executionId, overdue.cause, overdue.state], [executionId, 'silent', 'awaiting'])
    assert.equal(await note(s, { ...markOf(await findHeld(s, executionId)) }), 'updated')
    assert.deepEqual(await timeOut(s, overdue), [])
  })
}
