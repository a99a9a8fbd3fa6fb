// Conformance: the updates that attempts send while they run: heartbeats, progress, and the checkpoint for the next
// attempt.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { allHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import {
  allTaken,
  assertWithin,
  cancelHeld,
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

export function testAttemptsNote(name: string, setup: Setup): void {
  testLeave(name, setup)
  testSaid(name, setup)
  testCheckpoint(name, setup)
  testGone(name, setup)
}

function testLeave(name: string, setup: Setup): void {
  test(`${name}: an execution of which something is heard leaves its batch, and stays with its worker`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, workerId, claimed } = await holdBatch(s, 3)
    const executionId = executionIds[1]!
    assert.equal(await note(s, marks[1]!, { startedAt: s.at(300) }), 'updated')
    const held = await findHeld(s, executionId)
    assert.deepEqual(
      [held.workerId, held.fence, held.attempt, held.startedAt, held.kind],
      [workerId, 1, 1, s.at(300), 'slot'],
    )
    assert.deepEqual(
      [await s.statusOf(executionId), (await s.view(executionId)).startedAt],
      ['RUNNING', s.at(300)],
    )
    // An attempt that does not say when it started counts as started when it was claimed.
    assert.equal(await note(s, marks[2]!), 'updated')
    assertWithin((await s.view(executionIds[2]!)).startedAt, claimed)
    // It has left its batch: the worker releases it if the worker does not know of it.
    assert.equal(await s.queue.releaseUnknown(workerId, [executionIds[0]!, executionIds[2]!]), 1)
    assert.deepEqual(
      (await s.attempts.find(executionIds)).map((one) => one.executionId).toSorted(),
      [executionIds[0], executionIds[2]].toSorted(),
    )
  })

  test(`${name}: a batch of which all are heard is empty, and each ends on its own`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, workerId, finish } = await holdBatch(s, 2)
    const answers = await s.attempts.update(marks.map((mark) => ({ ...mark, alive: false })))
    assert.deepEqual(
      answers.map(({ executionId, status }) => [executionId, status]),
      executionIds.map((executionId) => [executionId, 'updated']),
    )
    assert.equal((await finish([s.succeeded(), s.succeeded()])).missing.length, 1)
    for (const executionId of executionIds) {
      const end = { executionId, fence: 1, attempt: 1, ending: s.succeeded() }
      assert.deepEqual(await s.queue.finishLive(workerId, [end]), allHeld)
      assert.equal(await s.statusOf(executionId), 'SUCCEEDED')
    }
  })

  test(`${name}: one that leaves its batch cancelled stays so, and so do the others`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, workerId } = await holdBatch(s, 3)
    for (const index of [0, 2]) await cancelHeld(s, executionIds[index]!)
    assert.equal(await note(s, marks[0]!), 'cancelled')
    assert.equal(await note(s, marks[1]!), 'updated')
    const cancelled = [executionIds[0], executionIds[2]].toSorted()
    assert.deepEqual((await s.queue.findCancelled(workerId)).toSorted(), cancelled)
    assert.equal(await s.statusOf(executionIds[0]!), 'CANCELLING')
    assert.deepEqual(await report(s, [marks[0]!], s.succeeded()), {
      ...allTaken,
      cancelled: [executionIds[0]],
    })
  })

  test(`${name}: an update from a sender that knows no worker moves the execution out of its batch all the same`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, workerId } = await holdBatch(s, 2)
    assert.equal(await note(s, { ...marks[0]!, workerId: null }, { progress: 0.1 }), 'updated')
    const held = await findHeld(s, executionIds[0]!)
    assert.equal(held.workerId, workerId)
  })
}

function testSaid(name: string, setup: Setup): void {
  test(`${name}: progress is shown while the attempt runs, each part until it says another`, async (t) => {
    const s = await setup(t)
    const { executionId, mark } = await holdLive(s)
    assert.equal((await s.view(executionId)).progress, null)
    const from = await s.now()
    await note(s, mark, { progress: 0.25, message: 'a quarter' })
    const { progress } = await s.view(executionId)
    assert.deepEqual([progress!.fraction, progress!.message], [0.25, 'a quarter'])
    assert(progress!.at >= from && progress!.at <= (await s.now()))
    await note(s, mark, { message: 'nearly half' })
    assert.equal((await s.view(executionId)).progress!.fraction, 0.25)
    await note(s, mark, { progress: 0.5 })
    const later = (await s.view(executionId)).progress!
    assert.deepEqual([later.fraction, later.message], [0.5, 'nearly half'])
    await report(s, [mark], s.succeeded())
    assert.equal((await s.view(executionId)).progress, null)
  })

  for (const { where, hold } of [
    { where: 'in a batch', hold: async (s: StoreScenario) => (await holdBatch(s, 2)).marks[0]! },
    { where: 'by its target', hold: async (s: StoreScenario) => (await holdAwaiting(s)).mark },
  ]) {
    test(`${name}: an update of an attempt that is held ${where} is kept`, async (t) => {
      const s = await setup(t)
      const mark = await hold(s)
      assert.equal(await note(s, mark, { progress: 1, message: 'done soon', checkpoint: [1] }), 'updated')
      const { progress, checkpoint } = await s.view(mark.executionId)
      assert.deepEqual([progress!.fraction, progress!.message, checkpoint], [1, 'done soon', [1]])
    })
  }

  test(`${name}: many notes at once are answered one by one`, async (t) => {
    const s = await setup(t)
    const { marks } = await holdBatch(s, 2)
    const { mark } = await holdLive(s)
    const gone = { ...mark, executionId: s.ids.next() }
    await cancelHeld(s, mark.executionId)
    const all = [marks[1]!, gone, mark].map((one) => ({ ...one, alive: true }))
    assert.deepEqual(
      (await s.attempts.update(all)).map(({ executionId, status }) => [executionId, status]),
      [
        [marks[1]!.executionId, 'updated'],
        [gone.executionId, 'gone'],
        [mark.executionId, 'cancelled'],
      ],
    )
    assert.deepEqual(await s.attempts.update([]), [])
  })
}

function testCheckpoint(name: string, setup: Setup): void {
  test(`${name}: the next attempt is handed the checkpoint of the one that failed`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks } = await holdBatch(s, 1)
    await note(s, marks[0]!, { checkpoint: { row: 4 }, progress: 0.4 })
    await report(s, [marks[0]!], s.failedForNow())
    const view = await s.view(executionIds[0]!)
    assert.deepEqual([view.checkpoint, view.progress], [{ row: 4 }, null])
    await s.maintenance.wake(1)
    const second = await s.claimLive(await s.addWorker())
    assert.deepEqual([second.attempt, second.checkpoint], [2, { row: 4 }])
  })

  test(`${name}: the next attempt is handed the checkpoint of the one that was lost`, async (t) => {
    const s = await setup(t)
    const { mark, workerId } = await holdLive(s)
    await note(s, mark, { checkpoint: 'first' })
    await note(s, mark, { checkpoint: null })
    await note(s, mark, { progress: 0.1 })
    await lose(s, workerId)
    const second = await s.claimLive(await s.addWorker())
    assert.deepEqual([second.attempt, second.losses, second.checkpoint], [2, 1, null])
  })

  test(`${name}: without a checkpoint none is handed on`, async (t) => {
    const s = await setup(t)
    const { executionId, mark, live } = await holdLive(s)
    assert(!('checkpoint' in live))
    await note(s, mark, { progress: 0.5 })
    assert(!('checkpoint' in (await s.view(executionId))))
    await report(s, [mark], s.failedForNow())
    await s.maintenance.wake(1)
    assert(!('checkpoint' in (await s.claimLive(await s.addWorker()))))
  })

  test(`${name}: a checkpoint outlives being let go and awaiting`, async (t) => {
    const s = await setup(t)
    const { executionId, mark, workerId } = await holdLive(s)
    await note(s, mark, { checkpoint: 7 })
    await report(s, [mark], { kind: 'unstarted' })
    const again = await s.claimLive(workerId)
    assert.equal(again.checkpoint, 7)
    await s.finishLive(workerId, again, s.awaiting())
    assert.equal((await findHeld(s, executionId)).checkpoint, 7)
  })
}

function testGone(name: string, setup: Setup): void {
  test(`${name}: an update with another fence, attempt or worker than the holder is answered gone, and writes nothing`, async (t) => {
    const s = await setup(t)
    const batched = await holdBatch(s, 2)
    const alone = await holdLive(s)
    const awaiting = await holdAwaiting(s)
    const stranger = await s.addWorker()
    for (const mark of [batched.marks[0]!, alone.mark, awaiting.mark]) {
      const wrong = [
        { ...mark, fence: mark.fence + 1 },
        { ...mark, attempt: mark.attempt + 1 },
        { ...mark, workerId: stranger },
      ]
      for (const one of wrong) assert.equal(await note(s, one, { progress: 0.9, checkpoint: 1 }), 'gone')
      const view = await s.view(mark.executionId)
      assert.deepEqual([view.progress, 'checkpoint' in view], [null, false])
    }
    assert.deepEqual(await batched.finish([s.succeeded(), s.succeeded()]), allHeld)
  })

  test(`${name}: an update of an execution that waits, was lost or has ended is answered gone`, async (t) => {
    const s = await setup(t)
    const lost = await holdBatch(s, 1)
    await lose(s, lost.workerId)
    assert.equal(await note(s, lost.marks[0]!), 'gone')
    assert.equal(await note(s, { ...lost.marks[0]!, workerId: null }), 'gone')
    const next = await s.addWorker()
    await s.claimLive(next)
    assert.equal(await note(s, { ...lost.marks[0]!, workerId: null }), 'gone')
    assert.equal(await note(s, markOf(await findHeld(s, lost.executionIds[0]!))), 'updated')
    const ended = await holdLive(s)
    await report(s, [ended.mark], s.succeeded())
    assert.equal(await note(s, ended.mark), 'gone')
    const job = await s.createJob({ execution: http })
    const executionId = await s.fire(job, 0)
    const waiting = { executionId, jobId: job.jobId, attempt: 1, fence: 1, workerId: null }
    assert.equal(await note(s, waiting), 'gone')
    assert.equal(await s.statusOf(executionId), 'PENDING')
  })
}
