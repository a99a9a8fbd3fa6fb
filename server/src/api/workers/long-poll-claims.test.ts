import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import { handlerRoutePrefix } from '../../domain/executors/worker.ts'
import { suspectHost } from '../../domain/queue/route.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import type { HeldAttempt } from '../../ports/attempts.ts'
import type { Claimed, ClaimOrder } from '../../ports/queue.ts'
import { type ClaimWish, LongPollClaims, parkedMax } from './long-poll-claims.ts'

const tenantId = '00000000-0000-7000-8000-000000000001'
const none = { calls: 0, commands: 0, own: 0, awaitedHere: 0 }
const routeOf = (handler: string, labels = '') => `${handlerRoutePrefix(tenantId, handler)}${labels}`

/** A store of counters: how many wait on each route, and on which of them suspects do. */
function setup() {
  const world = createVirtualWorld()
  const waiting = new Map<string, number>()
  const suspects: string[] = []
  const orders: ClaimOrder[] = []
  const asked = { routes: 0, waiting: 0, running: 0 }
  const held = new Map<string, string>()
  let wake = () => {}
  let stopping = false
  let sharing = false
  let made = 0
  const take = (suspect: boolean, workerId: string) => {
    const executionId = `execution-${++made}`
    held.set(executionId, workerId)
    const times = { slot: epochMs(0), enqueuedAt: epochMs(0), rank: epochMs(made) }
    const job = { jobId: 'j', version: 1, kind: 'trigger', lane: 'shared' } as const
    const rest = { attempt: 1, losses: 0, fence: 1, idempotencyKey: null, totalDeadline: null }
    return { executionId, ...times, ...job, ...rest, suspect, runId: null }
  }
  const deps = {
    clock: world.clock,
    timers: world.timers,
    isStopping: () => stopping,
    isShared: () => sharing,
    wakeup: {
      on: (_topic: string, listener: () => void) => {
        wake = listener
      },
    },
    routes: {
      findWaiting: async (prefixes: readonly string[]) => {
        asked.routes += 1
        const routes = new Set([...waiting.keys(), ...suspects])
        return [...routes].filter((route) => prefixes.some((prefix) => route.startsWith(prefix)))
      },
      countWaiting: async (routes: readonly string[]) =>
        routes.reduce((sum, route) => sum + (waiting.get(route) ?? 0), 0),
    },
    peers: {
      countRunning: async (tenantIds: readonly string[]) => {
        asked.running += 1
        return tenantIds.map((one) => ({ ...none, tenantId: one, own: held.size }))
      },
    },
    attempts: {
      find: async ([id]: readonly string[]) => {
        const workerId = held.get(id!)
        return workerId === undefined ? [] : [{ executionId: id, workerId } as HeldAttempt]
      },
    },
    queue: {
      waiting: async (routes: readonly string[]) => {
        asked.waiting += 1
        const some = routes.some((route) => (waiting.get(route) ?? 0) > 0)
        return {
          lanes: some ? [{ lane: 'shared', weight: 1 }] : [],
          hosts: suspects.some((route) => routes.includes(route)) ? [suspectHost] : [],
        }
      },
      claim: async (order: ClaimOrder): Promise<Claimed> => {
        orders.push(order)
        const live: Claimed['live'] = []
        let room = order.lanes.reduce((sum, { count }) => sum + count, 0)
        for (const route of order.routes) {
          const count = Math.min(room, waiting.get(route) ?? 0)
          room -= count
          if (count > 0) waiting.set(route, waiting.get(route)! - count)
          for (let i = 0; i < count; i++) live.push(take(false, order.workerId))
        }
        for (const { host, count } of order.hosts) {
          const at = suspects.findIndex((route) => order.routes.includes(route))
          if (host !== suspectHost || count === 0 || at === -1) continue
          suspects.splice(at, 1)
          live.push(take(true, order.workerId))
        }
        return { batches: [], live }
      },
    },
  }
  const longPollClaims = new LongPollClaims(deps)
  const unclaimed: Claimed[] = []
  const claim = (
    workerId: string,
    { tenantId: of = tenantId, handlers = ['a'], labels = [] as string[], ...rest }: Wish = {},
  ) =>
    longPollClaims.claim({
      worker: { workerId, tenantId: of, handlers, labels },
      operator: false,
      concurrentMax: null,
      limit: 10,
      waitMs: 20_000,
      signal: new AbortController().signal,
      onUnclaimed: (claimed) => void unclaimed.push(claimed),
      ...rest,
    })
  const enqueue = (route: string, count = 1) => {
    waiting.set(route, (waiting.get(route) ?? 0) + count)
    wake()
  }
  const stop = () => {
    stopping = true
  }
  const share = () => {
    sharing = true
  }
  return {
    world,
    deps,
    share,
    longPollClaims,
    claim,
    enqueue,
    waiting,
    suspects,
    held,
    orders,
    asked,
    unclaimed,
    stop,
    wake: () => wake(),
  }
}

type Wish = Partial<Omit<ClaimWish, 'worker'> & ClaimWish['worker']>
const sizeOf = ({ live }: Claimed) => live.length

test('an execution that waits already is claimed at once', async () => {
  const { claim, waiting, longPollClaims } = setup()
  waiting.set(routeOf('a'), 3)
  assert.equal(sizeOf(await claim('w', { waitMs: 0 })), 3)
  assert.equal(longPollClaims.parked, 0)
})

test('without time to wait, nothing is answered at once', async () => {
  const { claim, asked } = setup()
  assert.equal(sizeOf(await claim('w', { waitMs: 0 })), 0)
  assert.equal(asked.routes, 1)
})

test('a claim waits for a hint, or for the floor poll when the hint was lost', async () => {
  const { claim, enqueue, waiting, world } = setup()
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
  const { claim, world, longPollClaims } = setup()
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
  const { claim, waiting, orders } = setup()
  for (const route of [routeOf('a'), routeOf('a', 'eu,gpu'), routeOf('a', 'gpu'), routeOf('b'), routeOf('c')])
    waiting.set(route, 1)
  await claim('w', { waitMs: 0, handlers: ['a', 'c'], labels: ['gpu'] })
  assert.deepEqual(orders[0]!.routes.toSorted(), [routeOf('a'), routeOf('a', 'gpu'), routeOf('c')])
})

test('the first worker to ask is served first, and one query serves all', async () => {
  const { claim, enqueue, world, asked } = setup()
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
  const { claim, enqueue, world, asked } = setup()
  for (let n = 0; n < 100; n++) void claim(`w${n}`)
  await world.advance(0)
  asked.waiting = 0
  enqueue(routeOf('a'))
  await world.advance(0)
  // Four at a time: the workers that query at once, and once more to see that nothing is left.
  assert(asked.waiting <= 8, `asked ${asked.waiting} times`)
})

test('nothing is claimed for a client that has gone; an execution claimed meanwhile is handed back', async () => {
  const { claim, enqueue, world, deps, unclaimed, orders, longPollClaims } = setup()
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
  const { claim, suspects, held, enqueue, world } = setup()
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
  const { claim, deps, waiting, longPollClaims } = setup()
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
  const { claim, deps, waiting } = setup()
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
  const { claim, stop, world, enqueue, longPollClaims } = setup()
  const parked = claim('w')
  await world.advance(10)
  stop()
  enqueue(routeOf('a'))
  assert.equal(sizeOf(await parked), 0)
  const second = setup()
  const waiting = second.claim('w')
  second.longPollClaims.close()
  assert.equal(sizeOf(await waiting), 0)
  assert.equal(sizeOf(await second.claim('w')), 0)
  assert.equal(longPollClaims.parked, 0)
})

test('more claims than tenants have room for are refused for a moment, with places left for operators', async () => {
  const { claim, longPollClaims } = setup()
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
  const { claim, longPollClaims, share } = setup()
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
  const { claim, longPollClaims, enqueue, world } = setup()
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
  const { claim, deps, unclaimed, waiting, world } = setup()
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
  const { claim, deps, longPollClaims, waiting, world, wake } = setup()
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
  longPollClaims.noteRoom({ workerId: 'w', tenantId })
  assert.equal(sizeOf(await claiming), 1)
  assert.deepEqual([asked, longPollClaims.parked], [3, 0])
})

test('a report that comes while the store counts is not missed', async () => {
  const { claim, deps, longPollClaims, waiting, world } = setup()
  waiting.set(routeOf('a'), 1)
  const { claim: take } = deps.queue
  let isFull = true
  deps.queue.claim = async (order) => {
    if (!isFull) return take(order)
    isFull = false
    longPollClaims.noteRoom({ workerId: 'w', tenantId })
    return { batches: [], live: [], isFull: true }
  }
  const claiming = claim('w')
  await world.advance(0)
  assert.equal(sizeOf(await claiming), 1)
})
