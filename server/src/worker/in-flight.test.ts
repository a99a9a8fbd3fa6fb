import assert from 'node:assert/strict'
import test from 'node:test'
import { aborted, idsOf, ok, refused, setupInFlight as setup } from '../../test/in-flight.ts'
import { aheadMax, aheadMin, batchMsMax, startsPerTurn } from './in-flight.ts'
import { noHost } from './prepare.ts'

test('one host has at most an eighth of the capacity; the rest waits and goes on in order', async () => {
  const { inFlight, started, addLive, end } = setup()
  const executions = addLive('a', 7)
  assert.deepEqual(started, idsOf(executions.slice(0, 4)))
  assert.deepEqual([inFlight.size, inFlight.queued], [7, 3])
  await end(executions[2]!)
  assert.deepEqual(started, idsOf(executions.slice(0, 5)))
  await end(executions[0]!)
  await end(executions[1]!)
  assert.deepEqual(started, idsOf(executions))
  assert.equal(inFlight.queued, 0)
})

test('a full host does not delay another', () => {
  const { started, addLive } = setup()
  addLive('full', 9)
  const [other] = addLive('other', 1)
  assert.equal(started.at(-1), other!.executionId)
})

test('later executions do not overtake the ones that wait for the same host', async () => {
  const { started, addLive, end } = setup()
  const first = addLive('a', 5)
  const later = addLive('a', 1)
  await end(first[0]!)
  assert.deepEqual(started, idsOf(first))
  await end(first[1]!)
  assert.equal(started.at(-1), later[0]!.executionId)
})

test('a host that keeps failing is called ten times a second and no more, until it lives again', async () => {
  const { inFlight, world, started, addLive, end } = setup()
  const executions = addLive('a', 100)
  // Twenty failures open the circuit; ten starts later it rests.
  for (let i = 0; i < 30; i++) await end(executions[i]!, refused)
  assert(inFlight.gate.isOpen('a'))
  const before = started.length
  assert(before < 36, `${before} calls`)
  inFlight.pump()
  assert.equal(started.length, before)
  await world.advance(1_000)
  inFlight.pump()
  assert(started.length > before)
  await end(executions[started.length - 1]!, ok)
  assert.equal(inFlight.gate.isOpen('a'), false)
})

test('a batch is passed on as one when its last execution has ended', async () => {
  const { addBatch, end, endedBatches, endedLive } = setup()
  const batch = addBatch(['a', 'b', 'c'])
  await end(batch.executions[1]!)
  await end(batch.executions[0]!)
  assert.deepEqual(endedBatches, [])
  await end(batch.executions[2]!)
  assert.deepEqual(endedBatches, [idsOf(batch.executions)])
  assert.deepEqual(endedLive, [])
  assert(batch.executions.every((held) => held.status === 'ended' && held.end !== null))
})

test('a single execution is passed on when it has ended', async () => {
  const { addLive, end, endedLive } = setup()
  const executions = addLive('a', 2)
  await end(executions[1]!)
  assert.deepEqual(endedLive, idsOf([executions[1]!]))
})

test('an ended execution stays in flight until it is recorded', async () => {
  const { inFlight, addBatch, end } = setup()
  const batch = addBatch(['a', 'b'], 'lane')
  for (const held of batch.executions) await end(held)
  assert.deepEqual([inFlight.size, inFlight.tenants.inFlight('lane')], [2, 2])
  assert.deepEqual(inFlight.executionIds(), idsOf(batch.executions))
  for (const held of batch.executions) inFlight.drop(held)
  inFlight.dropBatch(batch)
  assert.deepEqual([inFlight.size, inFlight.tenants.inFlight('lane')], [0, 0])
  assert.deepEqual(inFlight.executionIds(), [])
  inFlight.drop(batch.executions[0]!)
  assert.equal(inFlight.tenants.inFlight('lane'), 0, 'dropped once')
})

test('a batch expires after 200 ms, not before, and not while it is being written', async () => {
  const { inFlight, world, addBatch, end } = setup()
  const batch = addBatch(['a', 'b'])
  const ended = addBatch(['c'])
  await end(ended.executions[0]!)
  await world.advance(batchMsMax - 1)
  assert.deepEqual(inFlight.takeExpired(), { batches: [], waiting: [] })
  await world.advance(1)
  assert.deepEqual(inFlight.takeExpired(), { batches: [batch], waiting: [] })
  batch.settling = true
  assert.deepEqual(inFlight.takeExpired(), { batches: [], waiting: [] })
})

test('a single execution that waits 200 ms for its host expires, and a running one does not', async () => {
  const { inFlight, world, started, addLive, end } = setup()
  const executions = addLive('a', 6)
  await world.advance(batchMsMax - 1)
  assert.deepEqual(inFlight.takeExpired().waiting, [])
  await world.advance(1)
  assert.deepEqual(idsOf(inFlight.takeExpired().waiting), idsOf(executions.slice(4)))
  assert.equal(inFlight.queued, 0)
  await end(executions[0]!)
  assert.equal(started.length, 4, 'an expired execution does not start any more')
  assert.deepEqual(inFlight.takeExpired().waiting, [], 'and is let go once')
})

test('an execution that is taken out of its queue does not start, and the others keep their order', async () => {
  const { inFlight, started, addLive, end } = setup()
  const executions = addLive('a', 7)
  inFlight.unqueue(executions[5]!)
  assert.equal(inFlight.queued, 2)
  for (const held of executions.slice(0, 3)) await end(held)
  assert.deepEqual(started, idsOf([...executions.slice(0, 5), executions[6]!]))
  assert.equal(inFlight.queued, 0)
})

test('nothing starts while the lease is not known to hold, and everything goes on with it', async () => {
  const { inFlight, started, addLive, end, allowStarts } = setup()
  const before = addLive('a', 5)
  allowStarts(false)
  const later = addLive('b', 2)
  await end(before[0]!)
  inFlight.pump()
  assert.deepEqual(started, idsOf(before.slice(0, 4)))
  assert.equal(inFlight.queued, 3)
  allowStarts(true)
  inFlight.pump()
  assert.deepEqual(started, idsOf([...before, ...later]))
  assert.equal(inFlight.queued, 0)
})

test('giving everything up aborts every call, and later ends of the calls are ignored', async () => {
  const { inFlight, world, running, started, addLive, addBatch, endedBatches, endedLive } = setup()
  const batch = addBatch(['a', 'b'], 'lane')
  addLive('c', 6)
  const calls = [...running.values()]
  assert.equal(inFlight.abandon().length, 8)
  assert(calls.every(({ signal }) => signal.aborted))
  assert.deepEqual([inFlight.size, inFlight.queued, inFlight.tenants.inFlight('lane')], [0, 0, 0])
  assert.deepEqual(inFlight.executionIds(), [])
  const startedBefore = started.length
  for (const { end } of calls) end(aborted)
  await world.advance(0)
  assert.deepEqual([endedBatches, endedLive], [[], []])
  assert.equal(started.length, startedBefore, 'queued executions do not start')
  assert.equal(batch.settling, false)
})

test('calls that were given up still count at their host until they have ended', async () => {
  const { inFlight, world, running, started, addLive } = setup()
  addLive('a', 4)
  const calls = [...running.values()]
  inFlight.abandon()
  const later = addLive('a', 2)
  assert.equal(started.length, 4)
  for (const { end } of calls) end(ok)
  await world.advance(0)
  assert.deepEqual(started.slice(4), idsOf(later))
})

test('an execution that was lost while it ran is not passed on', async () => {
  const { inFlight, addLive, end, endedLive } = setup()
  const executions = addLive('a', 1)
  inFlight.drop(executions[0]!)
  await end(executions[0]!)
  assert.deepEqual(endedLive, [])
})

test('the count of recent endings is known for 200 to 400 ms', async () => {
  const { inFlight, world, addLive, end } = setup({ capacity: 800 })
  await world.advance(1_000)
  assert.equal(inFlight.measureEndedRecently(), 0)
  for (const held of addLive('a', 50)) await end(held)
  assert.equal(inFlight.measureEndedRecently(), 50)
  await world.advance(200)
  assert.equal(inFlight.measureEndedRecently(), 50)
  await world.advance(400)
  assert.equal(inFlight.measureEndedRecently(), 0)
})

test('an execution that calls no host is not delayed by the cap of a host, only by the lease', async () => {
  const { addLive, started, allowStarts, inFlight } = setup()
  allowStarts(false)
  addLive(noHost, 20)
  assert.deepEqual([started.length, inFlight.queued], [0, 20])
  allowStarts(true)
  inFlight.pump()
  assert.deepEqual([started.length, inFlight.queued], [20, 0])
  addLive(noHost, 5)
  assert.equal(started.length, 25)
})

test('an execution that is not ours any more is aborted, or does not start', async () => {
  const { addLive, inFlight, running, endedLive, end } = setup()
  const [first, , , , waiting] = addLive('a', 5)
  inFlight.stop(waiting!)
  assert.deepEqual([endedLive, waiting!.status], [[waiting!.executionId], 'ended'])
  inFlight.stop(first!)
  assert.equal(running.get(first!.executionId)!.signal.aborted, true)
  assert.equal(first!.cancelledMs, null)
  await end(first!, aborted)
  inFlight.stop(first!)
  assert.equal(endedLive.length, 2, 'an ended execution stays as it is')
})

test('executions that call no host run as far as there is room, and the rest follows in order', async () => {
  const { inFlight, started, addLive, end } = setup({ capacity: 32, runningMax: 4 })
  const executions = addLive(noHost, 7)
  assert.deepEqual(started, idsOf(executions.slice(0, 4)))
  assert.deepEqual([inFlight.size, inFlight.queued], [7, 3])
  await end(executions[1]!)
  assert.deepEqual(started, idsOf(executions.slice(0, 5)))
  for (const held of [executions[0]!, ...executions.slice(2)]) await end(held)
  assert.deepEqual(started, idsOf(executions))
})

test('as many executions are claimed ahead as ended recently, and none while none ends', async () => {
  const { inFlight, world, addLive, end } = setup({ capacity: 32, runningMax: 4 })
  assert.equal(inFlight.measureRoom(), 4)
  const executions = addLive(noHost, 4)
  assert.equal(inFlight.measureRoom(), 0)
  for (const held of executions.slice(0, 3)) await end(held)
  assert.equal(inFlight.measureRoom(), 3 + 3)
  await world.advance(1_000)
  assert.equal(inFlight.measureRoom(), 3)
})

test('as many calls are claimed ahead as have ended in 200 ms before, up to a limit', async () => {
  const { inFlight, world, addLive, end } = setup({ capacity: 8_000 })
  await world.advance(1_000)
  assert.equal(inFlight.measureRoom(), aheadMin)
  for (const held of addLive('a', 500)) await end(held)
  for (const held of inFlight.executions()) inFlight.drop(held)
  // The next burst comes a second later, or ten.
  await world.advance(10_000)
  assert.equal(inFlight.measureEndedRecently(), 0)
  assert.equal(inFlight.measureRoom(), 500)
  for (const held of addLive('a', 1_000)) await end(held)
  await world.advance(1_000)
  for (const held of addLive('b', 900)) await end(held)
  for (const held of inFlight.executions()) inFlight.drop(held)
  assert.equal(inFlight.measureRoom(), aheadMax)
})

test('when an execution that was claimed ahead does not start in time, fewer are claimed ahead again', async () => {
  const { inFlight, world, addBatch, addLive, end } = setup({ capacity: 4_000 })
  const endFast = async () => {
    for (const held of addLive('fast', 500)) await end(held)
    for (const held of inFlight.executions()) if (held.status === 'ended') inFlight.drop(held)
    await world.advance(1_000)
  }
  await endFast()
  assert.equal(inFlight.measureRoom(), 500)
  // A running execution is only slow itself: others start.
  addBatch(['slow'])
  await world.advance(batchMsMax)
  assert.equal(inFlight.takeExpired().batches.length, 1)
  assert.equal(inFlight.measureRoom(), 500)
  addBatch(Array(501).fill('full'))
  await world.advance(batchMsMax)
  inFlight.takeExpired()
  assert.equal(inFlight.measureRoom(), aheadMin - inFlight.queued)
  addLive('full', 1)
  await endFast()
  assert.equal(inFlight.measureRoom(), 500 - inFlight.queued)
  inFlight.takeExpired()
  assert.equal(inFlight.measureRoom(), aheadMin - inFlight.queued)
})

test('some calls of a burst start in each turn, and hosts that had no turn come first in the next one', async () => {
  const { inFlight, world, started, addLive } = setup({ capacity: 8 * 300, isPaced: true })
  const herd = addLive('herd', 200)
  const quiet = addLive('quiet', 2)
  assert.deepEqual(started, idsOf(herd.slice(0, startsPerTurn)))
  await world.advance(0)
  assert.equal(started.length, herd.length + quiet.length)
  assert.equal(inFlight.queued, 0)
  // The herd's turn was first; after it the two that had none, and then the herd again.
  const at = started.indexOf(quiet[0]!.executionId)
  assert.deepEqual(started.slice(at, at + 2), idsOf(quiet))
  assert(at <= 2 * startsPerTurn, `the quiet one was number ${at}`)
  assert.deepEqual(
    started.filter((id) => id.startsWith('herd')),
    idsOf(herd),
  )
})

test('executions that run on this machine are not paced by turns', () => {
  const { started, addLive } = setup({ capacity: 8 * 300, isPaced: true })
  addLive(noHost, 500)
  assert.equal(started.length, 500)
})

test('a host without room waits for the end of a call, not for a turn', async () => {
  const { world, started, addLive, end } = setup({ isPaced: true })
  const executions = addLive('a', 7)
  await world.advance(0)
  assert.deepEqual(started, idsOf(executions.slice(0, 4)))
  assert.equal(world.timers.pending, 0)
  await end(executions[0]!)
  assert.deepEqual(started, idsOf(executions.slice(0, 5)))
})

test('short executions do not count as lasting while they end as fast as they come', async () => {
  const { inFlight, world, addLive, end } = setup()
  const drop = async (executions: ReturnType<typeof addLive>) => {
    for (const held of executions) {
      await end(held)
      inFlight.drop(held)
    }
  }
  const long = addLive('a', 3)
  assert.equal(inFlight.measureLasting(10), 3, 'nothing is known of them')
  await world.advance(1_000)
  const short = addLive('b', 4)
  await world.advance(100)
  assert.equal(inFlight.measureLasting(10), 7)
  // Four ended in a window of 200 ms, each after half of it: two were in flight on average.
  await drop(short)
  addLive('b', 2)
  assert.equal(inFlight.measureLasting(10), 3)
  assert.equal(inFlight.measureLasting(2), 2)
  await drop(long)
  assert.equal(inFlight.measureLasting(10), 0, 'the end of a long one says nothing of the others')
  addLive('c', 4)
  assert.equal(inFlight.measureLasting(10), 4)
})

test('an execution of a tenant at its share does not start, and ends unstarted in its batch and alone', () => {
  const { inFlight, started, addLive, endedLive } = setup({ capacity: 400 })
  for (let host = 0; host < 3; host++) addLive(`first-${host}`, 50, 'hog')
  assert.equal(started.length, 150, 'one tenant alone has every place')
  assert.deepEqual(endedLive, [])
  const [quiet] = addLive('quiet', 1, 'quiet')
  assert.equal(quiet!.status, 'running')
  const beyond = addLive('hog', 2, 'hog')
  assert.deepEqual(
    beyond.map(({ status, isBeyondShare, end }) => ({ status, isBeyondShare, end })),
    new Array(2).fill({ status: 'ended', isBeyondShare: true, end: null }),
  )
  assert.deepEqual(endedLive, idsOf(beyond))
  assert.equal(inFlight.size, 153)
  for (const held of beyond) inFlight.drop(held)
  assert.equal(inFlight.tenants.inFlight('hog'), 150)
})

test('where one tenant has every place, there is another tenth for the others', () => {
  const { inFlight, addLive } = setup({ capacity: 80 })
  for (let host = 0; host < 8; host++) addLive(`host-${host}`, 10, 'hog')
  assert.deepEqual([inFlight.capacity, inFlight.measureRoom()], [80, 0])
  inFlight.tenants.share()
  assert.deepEqual([inFlight.capacity, inFlight.measureRoom()], [88, 8])
  assert.deepEqual([inFlight.measureShares(1)!.roomOf('hog'), inFlight.measureShares(1)!.roomOf('b')], [0, 1])
  const [quiet] = addLive('quiet', 1, 'quiet')
  assert.equal(quiet!.status, 'running')
  inFlight.tenants.unshare()
  assert.deepEqual([inFlight.capacity, inFlight.measureRoom()], [80, -1])
})
