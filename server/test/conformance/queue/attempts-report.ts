// Conformance: how attempts that run elsewhere end: single positions of a batch, rows of their own, and executions that
// await the report of their target.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { AttemptMark } from '../../../src/ports/attempts.ts'
import { listWorkers } from '../../list-workers.ts'
import type { StoreScenario } from '../stores.ts'
import {
  allTaken,
  assertWithin,
  cancelHeld,
  during,
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

const unstarted = { kind: 'unstarted' } as const
const refused = (...executionIds: string[]) => ({ ...allTaken, refused: executionIds })

/** An execution held in each of the ways, with the mark that reports about it carry. */
const HELD: readonly {
  where: string
  hold: (s: StoreScenario) => Promise<{ executionId: string; mark: AttemptMark; workerId: string }>
}[] = [
  {
    where: 'in a batch',
    async hold(s) {
      const { executionIds, marks, workerId } = await holdBatch(s, 2)
      return { executionId: executionIds[1]!, mark: marks[1]!, workerId }
    },
  },
  {
    where: 'alone in a batch',
    async hold(s) {
      const { executionIds, marks, workerId } = await holdBatch(s, 1)
      return { executionId: executionIds[0]!, mark: marks[0]!, workerId }
    },
  },
  { where: 'as a row of its own', hold: (s) => holdLive(s) },
  { where: 'by its target', hold: (s) => holdAwaiting(s) },
]

export function testAttemptsReport(name: string, setup: Setup): void {
  testEnds(name, setup)
  testMates(name, setup)
  testRefused(name, setup)
}

function testEnds(name: string, setup: Setup): void {
  for (const { where, hold } of HELD) {
    test(`${name}: an attempt that is held ${where} ends as it is said`, async (t) => {
      const s = await setup(t)
      const { executionId, mark, workerId } = await hold(s)
      assert.deepEqual(
        await report(s, [mark], s.succeeded({ httpStatus: null, preview: '{"a":1}' })),
        allTaken,
      )
      const { status, attempt, attempts } = await s.view(executionId)
      assert.deepEqual([status, attempt, attempts.length], ['SUCCEEDED', 1, 1])
      const [{ outcome, preview, startedAt, workerId: by }] = attempts as [(typeof attempts)[number]]
      assert.deepEqual([outcome, preview, startedAt, by], ['succeeded', '{"a":1}', s.at(300), workerId])
      assert.deepEqual(await s.attempts.find([executionId]), [])
    })

    test(`${name}: a sender that knows no worker may end an execution held ${where}`, async (t) => {
      const s = await setup(t)
      const { executionId, mark, workerId } = await hold(s)
      assert.deepEqual(await report(s, [{ ...mark, workerId: null }], s.succeeded()), allTaken)
      const [attempt] = (await s.view(executionId)).attempts
      assert.deepEqual([attempt!.outcome, attempt!.workerId], ['succeeded', workerId])
    })

    test(`${name}: a failed attempt held ${where} is tried again under a greater fence`, async (t) => {
      const s = await setup(t)
      const { executionId, mark } = await hold(s)
      assert.deepEqual(await report(s, [mark], s.failedForNow()), allTaken)
      const view = await s.view(executionId)
      assert.deepEqual([view.status, view.retryAt], ['RETRYING', s.at(302)])
      await s.maintenance.wake(10)
      const again = await s.claimLive(await s.addWorker())
      assert.deepEqual([again.executionId, again.attempt], [executionId, 2])
      assert(again.fence > mark.fence)
      assert.deepEqual(await report(s, [mark], s.succeeded()), refused(executionId))
    })

    test(`${name}: an attempt held ${where} that failed for good is a dead letter`, async (t) => {
      const s = await setup(t)
      const { executionId, mark } = await hold(s)
      assert.deepEqual(await report(s, [mark], s.died()), allTaken)
      const { status, deadLetter } = await s.view(executionId)
      assert.deepEqual([status, deadLetter, (await s.deadLetters.depth()).count], ['FAILED', true, 1])
    })

    test(`${name}: an execution held ${where} that was cancelled ends as cancelled, regardless of its report`, async (t) => {
      const s = await setup(t)
      const { executionId, mark } = await hold(s)
      await cancelHeld(s, executionId)
      assert.deepEqual(await report(s, [mark], s.failedForNow()), { ...allTaken, cancelled: [executionId] })
      const { status, attempts } = await s.view(executionId)
      assert.deepEqual([status, attempts.length], ['CANCELLED', 1])
      assert.deepEqual([attempts[0]!.outcome, attempts[0]!.httpStatus], ['cancelled', 500])
    })

    test(`${name}: a repeated report of an execution held ${where} is not refused, and changes nothing`, async (t) => {
      const s = await setup(t)
      const { executionId, mark } = await hold(s)
      for (let i = 0; i < 2; i++) assert.deepEqual(await report(s, [mark], s.succeeded()), allTaken)
      assert.deepEqual(await report(s, [mark], s.died()), refused(executionId))
      const { status, attempts } = await s.view(executionId)
      assert.deepEqual([status, attempts.length, (await s.deadLetters.depth()).count], ['SUCCEEDED', 1, 0])
    })
  }

  test(`${name}: a failure said again after it was written is not refused`, async (t) => {
    const s = await setup(t)
    const { executionId, mark } = await holdLive(s)
    for (let i = 0; i < 2; i++) assert.deepEqual(await report(s, [mark], s.failedForNow()), allTaken)
    const next = { ...mark, attempt: 2 }
    assert.deepEqual(await report(s, [next], s.failedForNow()), refused(executionId))
    assert.equal((await s.view(executionId)).attempts.length, 1)
  })

  test(`${name}: an execution released unharmed is claimed again without an attempt spent, with its rank`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, batch } = await holdBatch(s, 1)
    const { executionId, mark, live } = await holdLive(s)
    assert.deepEqual(await report(s, [...marks, mark], unstarted), allTaken)
    assert.deepEqual(
      [await s.statusOf(executionIds[0]!), await s.statusOf(executionId)],
      ['PENDING', 'PENDING'],
    )
    const again = (await s.claim(await s.addWorker())).live
    const ranks = new Map(again.map((one) => [one.executionId, [one.attempt, one.rank, one.fence]]))
    assert.deepEqual(ranks.get(executionIds[0]!), [1, batch.rank, 2])
    assert.deepEqual(ranks.get(executionId), [1, live.rank, live.fence + 1])
    const late = await report(s, [...marks, mark], s.succeeded())
    assert.deepEqual(late.refused.toSorted(), [executionIds[0], executionId].toSorted())
  })

  test(`${name}: many end at once, each in its own way`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks } = await holdBatch(s, 3)
    const { executionId, mark } = await holdLive(s)
    const awaiting = await holdAwaiting(s)
    const unknown = { ...mark, executionId: s.ids.next() }
    await cancelHeld(s, executionId)
    const answer = await s.attempts.report([
      { ...marks[0]!, ending: s.succeeded() },
      { ...marks[2]!, ending: s.failedForNow() },
      { ...unknown, ending: s.succeeded() },
      { ...mark, ending: s.succeeded() },
      { ...awaiting.mark, ending: s.died() },
    ])
    assert.deepEqual(answer, { refused: [unknown.executionId], cancelled: [executionId] })
    const statuses = []
    for (const id of [...executionIds, executionId, awaiting.executionId]) statuses.push(await s.statusOf(id))
    assert.deepEqual(statuses, ['SUCCEEDED', 'RUNNING', 'RETRYING', 'CANCELLED', 'FAILED'])
    assert.deepEqual(await s.attempts.report([]), allTaken)
  })
}

function testMates(name: string, setup: Setup): void {
  test(`${name}: the others of a batch stay in it, and cancelled ones stay cancelled`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, workerId, finish } = await holdBatch(s, 4)
    for (const index of [0, 2]) await cancelHeld(s, executionIds[index]!)
    assert.deepEqual(await report(s, [marks[0]!], s.succeeded()), {
      ...allTaken,
      cancelled: [executionIds[0]],
    })
    assert.deepEqual(await report(s, [marks[1]!], s.succeeded()), allTaken)
    assert.deepEqual(await s.queue.findCancelled(workerId), [executionIds[2]])
    const held = await s.attempts.find(executionIds)
    assert.deepEqual(held.map(({ executionId }) => executionId).toSorted(), executionIds.slice(2))
    const answer = await finish([s.died(), s.died(), s.succeeded(), s.succeeded()])
    assert.deepEqual([answer.missing, answer.cancelled], [[], [executionIds[2]]])
    const statuses = []
    for (const id of executionIds) statuses.push(await s.statusOf(id))
    assert.deepEqual(statuses, ['CANCELLED', 'SUCCEEDED', 'CANCELLED', 'SUCCEEDED'])
  })

  test(`${name}: a worker with an empty batch holds nothing and may leave`, async (t) => {
    const s = await setup(t)
    const { marks, workerId } = await holdBatch(s, 2)
    for (const mark of marks) await report(s, [mark], s.succeeded())
    await s.leases.unregister(workerId)
    const workers = await listWorkers(s.workers, { tenantId: null })
    assert.deepEqual(
      workers.map(({ status }) => status),
      ['LEFT'],
    )
  })

  test(`${name}: a slot of its job fires once the attempt has ended`, async (t) => {
    const s = await setup(t)
    const { jobs, marks } = await holdBatch(s, 2)
    assert.equal(await s.tryFire(jobs[0]!, 1), 'overlap')
    await report(s, [marks[0]!], s.succeeded())
    assert.equal(await s.tryFire(jobs[0]!, 2), 'fired')
    assert.equal(await s.tryFire(jobs[1]!, 2), 'overlap')
  })

  test(`${name}: the time of the next attempt begins anew`, async (t) => {
    const s = await setup(t)
    const { executionId, mark } = await holdLive(s, { execution: { ...http, heartbeat_timeout_seconds: 60 } })
    await note(s, mark, { startedAt: s.at(300), progress: 0.5, message: 'half' })
    await report(s, [mark], s.failedForNow())
    await s.maintenance.wake(1)
    const workerId = await s.addWorker()
    const [, claimed] = await during(s, () => s.claimLive(workerId))
    const { startedAt, attempt } = await findHeld(s, executionId)
    assertWithin(startedAt, claimed)
    assert.deepEqual([attempt, (await s.view(executionId)).progress], [2, null])
  })
}

function testRefused(name: string, setup: Setup): void {
  for (const { where, hold } of HELD) {
    test(`${name}: another claim, attempt or worker cannot end an execution held ${where}`, async (t) => {
      const s = await setup(t)
      const { executionId, mark } = await hold(s)
      const wrong = [
        { ...mark, fence: mark.fence + 1 },
        { ...mark, fence: mark.fence - 1 },
        { ...mark, attempt: 2 },
        { ...mark, workerId: await s.addWorker() },
      ]
      for (const one of wrong) assert.deepEqual(await report(s, [one], s.succeeded()), refused(executionId))
      assert.equal(await s.statusOf(executionId), 'RUNNING')
      assert.deepEqual((await s.view(executionId)).attempts, [])
      assert.deepEqual(await report(s, [mark], s.succeeded()), allTaken)
    })
  }

  test(`${name}: an execution that awaits its end no longer belongs to its caller`, async (t) => {
    const s = await setup(t)
    const { executionId, mark, workerId } = await holdAwaiting(s)
    assert.deepEqual(await report(s, [{ ...mark, workerId }], s.succeeded()), refused(executionId))
    assert.equal(await s.statusOf(executionId), 'RUNNING')
  })

  test(`${name}: nobody can end an execution that waits to be claimed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0)
    const mark = { executionId, jobId: job.jobId, attempt: 1, workerId: null }
    for (const fence of [0, 1])
      assert.deepEqual(await report(s, [{ ...mark, fence }], s.succeeded()), refused(executionId))
    assert.equal(await s.statusOf(executionId), 'PENDING')
  })

  test(`${name}: a report of an attempt that ended otherwise is refused, also when its execution was cancelled since`, async (t) => {
    const s = await setup(t)
    const { executionId, mark } = await holdAwaiting(s)
    assert.deepEqual(await report(s, [mark], s.failedForNow()), allTaken)
    const cancel = { tenantId: defaultTenantId, executionId, message: 'Cancelled by hand.' }
    assert.equal((await s.control.cancel(cancel)).kind, 'cancelled')
    assert.deepEqual(await report(s, [mark], s.succeeded()), refused(executionId))
    assert.deepEqual(await report(s, [mark], s.failedForNow()), allTaken)
  })

  for (const { where, hold } of HELD.slice(0, 3)) {
    test(`${name}: a report of an execution held ${where} comes too late after its worker was lost`, async (t) => {
      const s = await setup(t)
      const { executionId, mark, workerId } = await hold(s)
      await lose(s, workerId)
      for (const by of [workerId, null])
        assert.deepEqual(await report(s, [{ ...mark, workerId: by }], s.succeeded()), refused(executionId))
      assert.equal(await s.statusOf(executionId), 'RETRYING')
      const next = await s.addWorker()
      await s.claim(next)
      assert.deepEqual(await report(s, [{ ...mark, workerId: null }], s.succeeded()), refused(executionId))
      assert.deepEqual(await report(s, [markOf(await findHeld(s, executionId))], s.succeeded()), allTaken)
      assert.deepEqual(
        (await s.view(executionId)).attempts.map(({ attempt, outcome }) => [attempt, outcome]),
        [
          [1, 'lost'],
          [2, 'succeeded'],
        ],
      )
    })
  }
}
