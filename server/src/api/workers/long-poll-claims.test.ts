import assert from 'node:assert/strict'
import test from 'node:test'
import { routeOf, setupClaims, sizeOf } from '../../../test/claims-scene.ts'
import type { Claimed } from '../../ports/queue.ts'
import { parkedMax } from './long-poll-claims.ts'

test('an execution that waits already is claimed at once', async () => {
  const { claim, waiting, longPollClaims } = setupClaims()
  waiting.set(routeOf('a'), 3)
  assert.equal(sizeOf(await claim('w', { waitMs: 0 })), 3)
  assert.equal(longPollClaims.parked, 0)
})

test('without time to wait, nothing is answered at once', async () => {
  const { claim, asked } = setupClaims()
  assert.equal(sizeOf(await claim('w', { waitMs: 0 })), 0)
  assert.equal(asked.routes, 1)
})

test('a claim waits for a hint, or for the floor poll when the hint was lost', async () => {
  const { claim, enqueue, waiting, world } = setupClaims()
  const hinted = claim('w')
  await world.advance(10)
  enqueue(routeOf('a'))
  assert.equal(sizeOf(await hinted), 1)
  let size = -1
  const polled = claim('w').then((claimed) => {
    size = sizeOf(claimed)
  })
  await world.advance(500)
  waiting.set(routeOf('a'), 1)
  assert.equal(size, -1)
  await world.advance(500)
  await polled
  assert.equal(size, 1)
})

test('a claim is answered with nothing when its time is over, after a last look', async () => {
  const { claim, world, longPollClaims } = setupClaims()
  let done = false
  const waiting = claim('w', { waitMs: 2_500 }).then((claimed) => {
    done = true
    return claimed
  })
  await world.advance(2_499)
  assert.deepEqual([done, longPollClaims.parked], [false, 1])
  await world.advance(1)
  assert.equal(sizeOf(await waiting), 0)
  assert.deepEqual([longPollClaims.parked, world.timers.pending], [0, 0])
})

test('a worker claims from routes of its handlers with labels that it has, and no others', async () => {
  const { claim, waiting, orders } = setupClaims()
  for (const route of [routeOf('a'), routeOf('a', 'eu,gpu'), routeOf('a', 'gpu'), routeOf('b'), routeOf('c')])
    waiting.set(route, 1)
  await claim('w', { waitMs: 0, handlers: ['a', 'c'], labels: ['gpu'] })
  assert.deepEqual(orders[0]!.routes.toSorted(), [routeOf('a'), routeOf('a', 'gpu'), routeOf('c')])
})

test('the first worker to ask is served first, and one query serves all', async () => {
  const { claim, enqueue, world, asked } = setupClaims()
  const answers: string[] = []
  const ask = (name: string) =>
    claim(name, { limit: 1 }).then((claimed) => answers.push(`${name} ${sizeOf(claimed)}`))
  const all = ['v', 'w', 'x'].map(ask)
  await world.advance(0)
  asked.routes = 0
  enqueue(routeOf('a'), 2)
  await world.advance(0)
  assert.deepEqual(answers, ['v 1', 'w 1'])
  assert.equal(asked.routes, 1)
  enqueue(routeOf('a'))
  await Promise.all(all)
  assert.deepEqual(answers, ['v 1', 'w 1', 'x 1'])
})

test('a hundred workers with the same handler do not all query when there is one execution', async () => {
  const { claim, enqueue, world, asked } = setupClaims()
  for (let n = 0; n < 100; n++) void claim(`w${n}`)
  await world.advance(0)
  asked.waiting = 0
  enqueue(routeOf('a'))
  await world.advance(0)
  // Four at a time: the workers that query at once, and once more to see that nothing is left.
  assert(asked.waiting <= 8, `asked ${asked.waiting} times`)
})

test('nothing is claimed for a client that has gone; an execution claimed meanwhile is handed back', async () => {
  const { claim, enqueue, world, deps, unclaimed, orders, longPollClaims } = setupClaims()
  const gone = new AbortController()
  const early = claim('w', { signal: gone.signal })
  gone.abort()
  enqueue(routeOf('a'))
  assert.equal(sizeOf(await early), 0)
  await world.advance(0)
  assert.deepEqual([orders.length, longPollClaims.parked], [0, 0])
  const late = new AbortController()
  const { claim: take } = deps.queue
  deps.queue.claim = async (order) => {
    const claimed = await take(order)
    late.abort()
    return claimed
  }
  assert.equal(sizeOf(await claim('w', { signal: late.signal })), 0)
  await world.advance(0)
  assert.deepEqual(unclaimed.map(sizeOf), [1])
})

test('a worker has one suspect at a time, however many claims it has under way', async () => {
  const { claim, suspects, held, enqueue, world } = setupClaims()
  const both = [claim('w', { limit: 2 }), claim('w', { limit: 2 })]
  await world.advance(0)
  suspects.push(routeOf('a'), routeOf('a'), routeOf('a'))
  enqueue(routeOf('a'), 5)
  const taken = (await Promise.all(both)).flatMap(({ live }) => live)
  assert.equal(taken.filter((one) => one.suspect).length, 1)
  const again = async (workerId: string) =>
    (await claim(workerId, { waitMs: 0 })).live.filter((one) => one.suspect).length
  assert.equal(await again('w'), 0)
  assert.equal(await again('other'), 1)
  held.delete(taken.find((one) => one.suspect)!.executionId)
  assert.equal(await again('w'), 1)
})

test('a database that is away is told to all that wait, and the next claim is served', async () => {
  const { claim, deps, waiting, longPollClaims } = setupClaims()
  const { findWaiting } = deps.routes
  deps.routes.findWaiting = async () => {
    throw new Error('away')
  }
  await Promise.all([assert.rejects(claim('v'), /away/), assert.rejects(claim('w'), /away/)])
  assert.equal(longPollClaims.parked, 0)
  deps.routes.findWaiting = findWaiting
  waiting.set(routeOf('a'), 1)
  assert.equal(sizeOf(await claim('w')), 1)
})

test('a claim that fails is told to its worker alone', async () => {
  const { claim, deps, waiting } = setupClaims()
  waiting.set(routeOf('a'), 1)
  const { claim: take } = deps.queue
  deps.queue.claim = async (order) => {
    if (order.workerId === 'dead') throw new Error('no such worker')
    return take(order)
  }
  const [dead, alive] = await Promise.allSettled([claim('dead'), claim('alive')])
  assert.deepEqual([dead.status, alive.status], ['rejected', 'fulfilled'])
})

test('a stopping server sends all away with nothing, and so does a server that closes its API', async () => {
  const { claim, stop, world, enqueue, longPollClaims } = setupClaims()
  const parked = claim('w')
  await world.advance(10)
  stop()
  enqueue(routeOf('a'))
  assert.equal(sizeOf(await parked), 0)
  const second = setupClaims()
  const waiting = second.claim('w')
  second.longPollClaims.close()
  assert.equal(sizeOf(await waiting), 0)
  assert.equal(sizeOf(await second.claim('w')), 0)
  assert.equal(longPollClaims.parked, 0)
})

test('more claims than tenants have room for are refused for a moment, with places left for operators', async () => {
  const { claim, longPollClaims } = setupClaims()
  for (let n = 0; n < parkedMax * 0.9; n++) void claim(`w${n}`)
  assert.throws(() => claim('one more'), {
    code: 'SERVER_FULL',
    message: /^All tenants together have 10800 claims waiting/,
    retryAfterSeconds: 1,
  })
  void claim('an operator', { operator: true })
  assert.equal(longPollClaims.parked, parkedMax * 0.9 + 1)
  longPollClaims.close()
})

test('while there are other tenants, one tenant has a quarter of the waiting claims', async () => {
  const { claim, longPollClaims, share } = setupClaims()
  share()
  for (let n = 0; n < parkedMax / 4; n++) void claim(`w${n}`)
  assert.throws(() => claim('one more'), {
    code: 'TENANT_SHARE_USED',
    message: /^The tenant has 3000 claims waiting at this server/,
    retryAfterSeconds: 1,
  })
  void claim('a worker of another tenant', { tenantId: '00000000-0000-7000-8000-000000000002' })
  assert.equal(longPollClaims.parked, parkedMax / 4 + 1)
  longPollClaims.close()
  assert.equal(longPollClaims.parked, 0)
})

test('a worker that claims again gets the executions, and its claim before ends with nothing', async () => {
  const { claim, longPollClaims, enqueue, world } = setupClaims()
  const former = claim('w')
  await world.advance(10)
  const latter = claim('w')
  assert.equal(sizeOf(await former), 0)
  assert.equal(longPollClaims.parked, 1)
  enqueue(routeOf('a'))
  assert.equal(sizeOf(await latter), 1)
  assert.equal(longPollClaims.parked, 0)
})

test('executions claimed for a worker that has claimed again meanwhile are handed back', async () => {
  const { claim, deps, unclaimed, waiting, world } = setupClaims()
  waiting.set(routeOf('a'), 1)
  const { claim: take } = deps.queue
  let latter: Promise<Claimed> | null = null
  deps.queue.claim = (order) => {
    deps.queue.claim = take
    latter = claim('w', { waitMs: 0 })
    return take(order)
  }
  assert.equal(sizeOf(await claim('w')), 0)
  await world.advance(0)
  assert.deepEqual(unclaimed.map(sizeOf), [1])
  assert.equal(sizeOf(await latter!), 0)
})

test('a full worker is not asked about again before a second is over, unless it reports', async () => {
  const { claim, deps, longPollClaims, waiting, world, wake } = setupClaims()
  waiting.set(routeOf('a'), 5)
  const { claim: take } = deps.queue
  let asked = 0
  let isFull = true
  deps.queue.claim = async (order) => {
    asked += 1
    return isFull ? { batches: [], live: [], isFull } : take(order)
  }
  const claiming = claim('w', { limit: 1 })
  await world.advance(0)
  for (let i = 0; i < 10; i++) {
    wake()
    await world.advance(1)
  }
  assert.equal(asked, 1)
  await world.advance(1_000)
  assert.equal(asked, 2)
  isFull = false
  longPollClaims.noteRoom({ workerId: 'w', tenantId: 't' })
  assert.equal(sizeOf(await claiming), 1)
  assert.deepEqual([asked, longPollClaims.parked], [3, 0])
})

test('a report that comes while the store counts is not missed', async () => {
  const { claim, deps, longPollClaims, waiting, world } = setupClaims()
  waiting.set(routeOf('a'), 1)
  const { claim: take } = deps.queue
  let isFull = true
  deps.queue.claim = async (order) => {
    if (!isFull) return take(order)
    isFull = false
    longPollClaims.noteRoom({ workerId: 'w', tenantId: 't' })
    return { batches: [], live: [], isFull: true }
  }
  const claiming = claim('w')
  await world.advance(0)
  assert.equal(sizeOf(await claiming), 1)
})
