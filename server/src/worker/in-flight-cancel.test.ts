import assert from 'node:assert/strict'
import test from 'node:test'
import { aborted, idsOf, setupInFlight as setup } from '../../test/in-flight.ts'
import { batchMsMax } from './in-flight.ts'

const graceMs = 30_000

test('an execution that is cancelled while it waits does not start, and is passed on without an end', async () => {
  const { inFlight, started, addLive, end, endedLive } = setup()
  const executions = addLive('a', 6)
  inFlight.cancel(executions[4]!)
  assert.deepEqual(endedLive, idsOf([executions[4]!]))
  assert.deepEqual([executions[4]!.status, executions[4]!.end, inFlight.queued], ['ended', null, 1])
  await end(executions[0]!)
  await end(executions[1]!)
  assert.deepEqual(started, idsOf([...executions.slice(0, 4), executions[5]!]))
  assert.equal(inFlight.queued, 0)
})

test('an execution that is cancelled while it runs is aborted at once, and frees its host when it has ended', async () => {
  const { inFlight, running, started, addLive, end, endedLive } = setup()
  const executions = addLive('a', 5)
  inFlight.cancel(executions[0]!)
  assert(running.get(executions[0]!.executionId)!.signal.aborted)
  assert(executions.slice(1, 4).every((held) => !running.get(held.executionId)!.signal.aborted))
  assert.deepEqual([endedLive, started.length], [[], 4], 'until it has stopped it is under way')
  await end(executions[0]!, aborted)
  assert.deepEqual(endedLive, idsOf([executions[0]!]))
  assert.deepEqual(started, idsOf(executions))
})

test('the other executions of a cancelled one’s batch go on, and the batch is passed on as one', async () => {
  const { inFlight, addLive, addBatch, end, endedBatches } = setup()
  const full = addLive('full', 4)
  const batch = addBatch(['a', 'b', 'full', 'full'])
  const [runs, mate, queued, queuedMate] = batch.executions
  inFlight.cancel(runs!)
  inFlight.cancel(queued!)
  await end(runs!, aborted)
  await end(mate!)
  assert.deepEqual(endedBatches, [])
  await end(full[0]!)
  await end(queuedMate!)
  assert.deepEqual(endedBatches, [idsOf(batch.executions)])
  assert.deepEqual(
    batch.executions.map((held) => [held.status, held.end === null]),
    [
      ['ended', false],
      ['ended', false],
      ['ended', true],
      ['ended', false],
    ],
  )
})

test('a batch of which all were cancelled before they started is passed on too', () => {
  const { inFlight, addBatch, endedBatches, allowStarts } = setup()
  allowStarts(false)
  const batch = addBatch(['a', 'b'])
  for (const held of batch.executions) inFlight.cancel(held)
  assert.deepEqual([endedBatches, inFlight.queued], [[idsOf(batch.executions)], 0])
})

test('cancelling an execution twice has the effect of cancelling it once', async () => {
  const { inFlight, world, addLive, endedLive, end } = setup()
  const executions = addLive('a', 5)
  for (const held of [executions[0]!, executions[4]!]) {
    inFlight.cancel(held)
    inFlight.cancel(held)
  }
  assert.deepEqual([endedLive, inFlight.queued], [idsOf([executions[4]!]), 0])
  await world.advance(graceMs - 1)
  inFlight.cancel(executions[0]!)
  await world.advance(1)
  inFlight.forceCancelled()
  assert.equal(executions[0]!.status, 'ended', 'the grace counts from the first time')
  await end(executions[1]!)
})

test('an execution that has ended or was dropped stays as it is when it is cancelled', async () => {
  const { inFlight, world, addLive, end, endedLive } = setup()
  const executions = addLive('a', 5)
  await end(executions[0]!)
  const ended = executions[0]!.end
  const [waiting] = addLive('a', 1)
  await world.advance(batchMsMax)
  assert.deepEqual(inFlight.takeExpired().waiting, [waiting])
  for (const held of [executions[0]!, waiting!]) inFlight.cancel(held)
  assert.deepEqual([endedLive, inFlight.queued], [idsOf([executions[0]!]), 0])
  assert.equal(executions[0]!.end, ended)
})

test('a cancelled call that goes on is ended by force, and its later end is ignored', async () => {
  const { inFlight, world, started, addLive, end, endedLive } = setup()
  const executions = addLive('a', 6)
  const stubborn = executions[0]!
  await world.advance(500)
  inFlight.cancel(stubborn)
  await world.advance(graceMs - 1)
  inFlight.forceCancelled()
  assert.deepEqual([endedLive, stubborn.status], [[], 'running'])
  await world.advance(1)
  inFlight.forceCancelled()
  inFlight.forceCancelled()
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
  assert.deepEqual(started, idsOf(executions.slice(0, 5)), 'the host has room again')
  inFlight.drop(stubborn)
  await end(stubborn)
  assert.deepEqual(endedLive, idsOf([stubborn]))
  assert.equal(stubborn.end!.outcome, 'cancelled')
  assert.equal(started.length, 5, 'and was given back once')
  for (const held of executions.slice(1, 5)) await end(held)
  await end(executions[5]!)
  assert.equal(inFlight.gate.size, 0)
})

test('the grace of a cancelled call is an option, and a call that was not cancelled goes on', async () => {
  const { inFlight, world, addLive } = setup({ cancelGraceMs: 10 })
  const executions = addLive('a', 2)
  inFlight.cancel(executions[0]!)
  await world.advance(10)
  inFlight.forceCancelled()
  assert.deepEqual(
    executions.map(({ status }) => status),
    ['ended', 'running'],
  )
})

test('a cancelled execution that was given up is not ended by force', async () => {
  const { inFlight, world, addLive, endedLive, end } = setup()
  const [held] = addLive('a', 1)
  inFlight.cancel(held!)
  inFlight.abandon()
  await world.advance(graceMs)
  inFlight.forceCancelled()
  assert.deepEqual(endedLive, [])
  await end(held!, aborted)
  assert.deepEqual([endedLive, inFlight.gate.size], [[], 0])
})
