// Conformance: a worker finishes a batch that an execution has left meanwhile, because of an update or because somebody
// with its token reported its end. Nothing is lost, and nothing is recorded twice.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { allHeld, notHeld } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { allTaken, cancelHeld, holdBatch, note, report } from './held.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testQueueLeft(name: string, setup: Setup): void {
  test(`${name}: an execution that has left its batch is named, and the others end`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, finish, workerId } = await holdBatch(s, 4)
    await note(s, marks[1]!)
    await report(s, [{ ...marks[2]!, workerId: null }], s.succeeded())
    const answer = await finish([s.failedForNow(), s.died(), s.died(), s.succeeded()])
    assert.deepEqual([answer.missing, answer.cancelled], [[], []])
    assert.deepEqual(answer.left.toSorted(), [executionIds[1], executionIds[2]].toSorted())
    const statuses = []
    for (const id of executionIds) statuses.push(await s.statusOf(id))
    assert.deepEqual(statuses, ['RETRYING', 'RUNNING', 'SUCCEEDED', 'SUCCEEDED'])
    // The worker ends the execution it held as a row of its own, and finds the ended one on record.
    const ends = [1, 2].map((index) => {
      return { executionId: executionIds[index]!, fence: 1, attempt: 1, ending: s.died() }
    })
    assert.deepEqual(await s.queue.finishLive(workerId, ends), notHeld(executionIds[2]!))
    assert.equal(await s.statusOf(executionIds[1]!), 'FAILED')
    const key = { executionId: executionIds[2]!, attempt: 1, jobId: marks[2]!.jobId }
    const recorded = [{ executionId: executionIds[2], status: 'recorded' }]
    assert.deepEqual(await s.queue.findOwn(workerId, [key]), recorded)
    assert.equal((await s.view(executionIds[2]!)).attempts.length, 1)
  })

  test(`${name}: a batch that was emptied is missing, and its executions are rows or on record`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, batchId, finish, workerId } = await holdBatch(s, 2)
    await note(s, marks[0]!)
    await report(s, [{ ...marks[1]!, workerId: null }], s.failedForNow())
    assert.deepEqual(await finish([s.succeeded(), s.succeeded()]), notHeld(batchId))
    const keys = marks.map(({ executionId, attempt, jobId }) => ({ executionId, attempt, jobId }))
    const own = await s.queue.findOwn(workerId, keys)
    assert.deepEqual(
      own.toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1)),
      [
        { executionId: executionIds[0], status: 'held' },
        { executionId: executionIds[1], status: 'recorded' },
      ],
    )
    const end = { executionId: executionIds[0]!, fence: 1, attempt: 1, ending: s.succeeded() }
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), allHeld)
  })

  test(`${name}: an execution that left its batch is named whichever result the worker reports for it`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, finish } = await holdBatch(s, 4)
    for (const mark of marks.slice(0, 3)) await note(s, mark)
    const unstarted = { kind: 'unstarted', host: null } as const
    const { left } = await finish([s.running(), unstarted, s.awaiting(), s.succeeded()])
    assert.deepEqual(left.toSorted(), executionIds.slice(0, 3))
    for (const id of executionIds.slice(0, 3)) assert.equal(await s.statusOf(id), 'RUNNING')
  })

  test(`${name}: one that left and is not spoken of stays where it is`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, batchId, workerId } = await holdBatch(s, 2)
    await note(s, marks[0]!)
    const endings = [{ position: 1, ending: s.succeeded() }]
    assert.deepEqual(await s.queue.finishBatches(workerId, [{ batchId, fence: 1, endings }]), allHeld)
    assert.equal(await s.statusOf(executionIds[0]!), 'RUNNING')
  })

  test(`${name}: a word by token after the worker gave it back is taken for the row it became`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, finish, workerId } = await holdBatch(s, 2)
    assert.deepEqual(await finish([s.running(), s.awaiting()]), allHeld)
    const byToken = marks.map((mark) => ({ ...mark, workerId: null }))
    assert.deepEqual(await report(s, byToken, s.succeeded()), allTaken)
    for (const executionId of executionIds) {
      const { status, attempts } = await s.view(executionId)
      assert.deepEqual([status, attempts[0]!.workerId], ['SUCCEEDED', workerId])
    }
  })

  test(`${name}: a place that left cancelled is not told again with its batch`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, finish } = await holdBatch(s, 2)
    await cancelHeld(s, executionIds[0]!)
    await report(s, [marks[0]!], s.succeeded())
    const answer = await finish([s.succeeded(), s.succeeded()])
    assert.deepEqual(answer, { ...allHeld, left: [executionIds[0]] })
  })

  test(`${name}: an execution released from a claimed batch is claimed under another fence`, async (t) => {
    const s = await setup(t)
    const { executionIds, marks, finish, workerId } = await holdBatch(s, 1)
    await finish([{ kind: 'unstarted', host: null }])
    const late = { ...marks[0]!, workerId: null }
    const end = { executionId: executionIds[0]!, fence: 1, attempt: 1, ending: s.succeeded() }
    const again = await s.claimLive(workerId)
    assert.equal(again.fence, 2)
    assert.deepEqual(await s.queue.finishLive(workerId, [end]), notHeld(executionIds[0]!))
    assert.equal(await note(s, late), 'gone')
    assert.deepEqual(await report(s, [late], s.succeeded()), { ...allTaken, refused: executionIds })
    assert.equal(await s.statusOf(executionIds[0]!), 'RUNNING')
  })

  test(`${name}: places of a batch that its worker does not know go back, the others stay in it`, async (t) => {
    const s = await setup(t)
    const { executionIds, workerId, finish } = await holdBatch(s, 4)
    await cancelHeld(s, executionIds[1]!)
    await cancelHeld(s, executionIds[2]!)
    const known = [executionIds[0]!, executionIds[2]!]
    // One goes back, one ends: it was cancelled.
    assert.equal(await s.queue.releaseUnknown(workerId, known), 1)
    assert.equal(await s.queue.releaseUnknown(workerId, known), 0)
    const statuses = []
    for (const id of executionIds) statuses.push(await s.statusOf(id))
    assert.deepEqual(statuses, ['RUNNING', 'CANCELLED', 'CANCELLING', 'PENDING'])
    const again = await s.claimLive(await s.addWorker())
    assert.deepEqual([again.executionId, again.attempt, again.fence], [executionIds[3], 1, 2])
    assert.deepEqual(await s.queue.findCancelled(workerId), [executionIds[2]])
    const answer = await finish([s.succeeded(), s.succeeded(), s.succeeded(), s.succeeded()])
    assert.deepEqual([answer.missing, answer.cancelled], [[], [executionIds[2]]])
    assert.deepEqual(answer.left.toSorted(), [executionIds[1], executionIds[3]].toSorted())
    assert.equal(await s.statusOf(executionIds[0]!), 'SUCCEEDED')
    assert.equal(await s.statusOf(executionIds[3]!), 'RUNNING')
  })
}
