import assert from 'node:assert/strict'
import test from 'node:test'
import { aborted, idsOf, setupHand as setup } from '../../test/in-flight.ts'
import { batchMsMax } from './in-flight.ts'

const graceMs = 30_000

test('one that is cancelled while it waits does not start, and is passed on without an end', async () => {
  const { hand, started, takeLive, end, endedLive } = setup()
  const tasks = takeLive('a', 6)
  hand.cancel(tasks[4]!)
  assert.deepEqual(endedLive, idsOf([tasks[4]!]))
  assert.deepEqual([tasks[4]!.state, tasks[4]!.end, hand.queued], ['ended', null, 1])
  await end(tasks[0]!)
  await end(tasks[1]!)
  assert.deepEqual(started, idsOf([...tasks.slice(0, 4), tasks[5]!]))
  assert.equal(hand.queued, 0)
})

test('one that is cancelled while it runs is aborted at once, and gives its place back when it has ended', async () => {
  const { hand, running, started, takeLive, end, endedLive } = setup()
  const tasks = takeLive('a', 5)
  hand.cancel(tasks[0]!)
  assert(running.get(tasks[0]!.executionId)!.signal.aborted)
  assert(tasks.slice(1, 4).every((task) => !running.get(task.executionId)!.signal.aborted))
  assert.deepEqual([endedLive, started.length], [[], 4], 'until it has stopped it is under way')
  await end(tasks[0]!, aborted)
  assert.deepEqual(endedLive, idsOf([tasks[0]!]))
  assert.deepEqual(started, idsOf(tasks))
})

test('the others of its batch go on, and the batch is passed on as one', async () => {
  const { hand, takeLive, takeBatch, end, endedBatches } = setup()
  const full = takeLive('full', 4)
  const batch = takeBatch(['a', 'b', 'full', 'full'])
  const [runs, mate, queued, queuedMate] = batch.tasks
  hand.cancel(runs!)
  hand.cancel(queued!)
  await end(runs!, aborted)
  await end(mate!)
  assert.deepEqual(endedBatches, [])
  await end(full[0]!)
  await end(queuedMate!)
  assert.deepEqual(endedBatches, [idsOf(batch.tasks)])
  assert.deepEqual(
    batch.tasks.map((task) => [task.state, task.end === null]),
    [
      ['ended', false],
      ['ended', false],
      ['ended', true],
      ['ended', false],
    ],
  )
})

test('a batch of which all were cancelled before they started is passed on too', () => {
  const { hand, takeBatch, endedBatches, allowStarts } = setup()
  allowStarts(false)
  const batch = takeBatch(['a', 'b'])
  for (const task of batch.tasks) hand.cancel(task)
  assert.deepEqual([endedBatches, hand.queued], [[idsOf(batch.tasks)], 0])
})

test('to cancel it twice is to cancel it once', async () => {
  const { hand, world, takeLive, endedLive, end } = setup()
  const tasks = takeLive('a', 5)
  for (const task of [tasks[0]!, tasks[4]!]) {
    hand.cancel(task)
    hand.cancel(task)
  }
  assert.deepEqual([endedLive, hand.queued], [idsOf([tasks[4]!]), 0])
  await world.advance(graceMs - 1)
  hand.cancel(tasks[0]!)
  await world.advance(1)
  hand.forceCancelled()
  assert.equal(tasks[0]!.state, 'ended', 'the grace counts from the first time')
  await end(tasks[1]!)
})

test('what has ended or was let go stays as it is when it is cancelled', async () => {
  const { hand, world, takeLive, end, endedLive } = setup()
  const tasks = takeLive('a', 5)
  await end(tasks[0]!)
  const ended = tasks[0]!.end
  const [waiting] = takeLive('a', 1)
  await world.advance(batchMsMax)
  assert.deepEqual(hand.takeExpired().waiting, [waiting])
  for (const task of [tasks[0]!, waiting!]) hand.cancel(task)
  assert.deepEqual([endedLive, hand.queued], [idsOf([tasks[0]!]), 0])
  assert.equal(tasks[0]!.end, ended)
})

test('a call that goes on although it was cancelled is ended by force, and what it says later is ignored', async () => {
  const { hand, world, started, takeLive, end, endedLive } = setup()
  const tasks = takeLive('a', 6)
  const stubborn = tasks[0]!
  await world.advance(500)
  hand.cancel(stubborn)
  await world.advance(graceMs - 1)
  hand.forceCancelled()
  assert.deepEqual([endedLive, stubborn.state], [[], 'running'])
  await world.advance(1)
  hand.forceCancelled()
  hand.forceCancelled()
  assert.deepEqual(endedLive, idsOf([stubborn]))
  const startedAt = stubborn.startedAt!
  assert.deepEqual(stubborn.end, {
    outcome: 'cancelled',
    startedAt,
    finishedAt: startedAt + graceMs + 500,
    durationMs: graceMs + 500,
    httpStatus: null,
    error: { type: 'CANCELLED', message: 'The call was aborted.' },
    preview: null,
    retryAt: null,
    deadReason: null,
  })
  assert.deepEqual(started, idsOf(tasks.slice(0, 5)), 'its place at the host is free')
  hand.drop(stubborn)
  await end(stubborn)
  assert.deepEqual(endedLive, idsOf([stubborn]))
  assert.equal(stubborn.end!.outcome, 'cancelled')
  assert.equal(started.length, 5, 'and was given back once')
  for (const task of tasks.slice(1, 5)) await end(task)
  await end(tasks[5]!)
  assert.equal(hand.gate.size, 0)
})

test('how long a call may go on is an option, and one that nobody cancelled may go on', async () => {
  const { hand, world, takeLive } = setup({ cancelGraceMs: 10 })
  const tasks = takeLive('a', 2)
  hand.cancel(tasks[0]!)
  await world.advance(10)
  hand.forceCancelled()
  assert.deepEqual(
    tasks.map(({ state }) => state),
    ['ended', 'running'],
  )
})

test('one that was given up after it was cancelled is not ended by force', async () => {
  const { hand, world, takeLive, endedLive, end } = setup()
  const [task] = takeLive('a', 1)
  hand.cancel(task!)
  hand.abandon()
  await world.advance(graceMs)
  hand.forceCancelled()
  assert.deepEqual(endedLive, [])
  await end(task!, aborted)
  assert.deepEqual([endedLive, hand.gate.size], [[], 0])
})
