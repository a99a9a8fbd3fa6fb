// The shares of parked claims, over a store of counters: how many executions wait on each route.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import { handlerRoutePrefix } from '../../domain/executors/worker.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import type { Claimed, ClaimedLive, ClaimOrder } from '../../ports/queue.ts'
import { type ClaimWish, LongPollClaims } from './long-poll-claims.ts'

const tenantId = '00000000-0000-7000-8000-000000000001'
const routeOf = (handler: string, labels = '') => `${handlerRoutePrefix(tenantId, handler)}${labels}`
const fullWorker = 'full'

function setup() {
  const world = createVirtualWorld()
  const waiting = new Map<string, number>()
  const counted = { times: 0 }
  let wake = () => {}
  const countOf = (routes: readonly string[]) =>
    routes.reduce((sum, route) => sum + (waiting.get(route) ?? 0), 0)
  const takeOne = (): ClaimedLive => ({
    ...{ executionId: 'x', jobId: 'j', version: 1, kind: 'trigger', lane: 'shared', attempt: 1, losses: 0 },
    ...{ slot: epochMs(0), enqueuedAt: epochMs(0), rank: epochMs(0), fence: 1, idempotencyKey: null },
    ...{ totalDeadline: null, suspect: false, runId: null },
  })
  const desk = new LongPollClaims({
    clock: world.clock,
    timers: world.timers,
    isStopping: () => false,
    isShared: () => false,
    wakeup: {
      on(_topic, listener) {
        wake = listener
      },
    },
    attempts: { find: async () => [] },
    peers: { countRunning: async () => [] },
    routes: {
      findWaiting: async (prefixes) =>
        [...waiting.keys()].filter((route) => prefixes.some((prefix) => route.startsWith(prefix))),
      countWaiting: async (routes, max) => {
        counted.times += 1
        return Math.min(max, countOf(routes))
      },
    },
    queue: {
      waiting: async (routes) => ({
        lanes: countOf(routes) > 0 ? [{ lane: 'shared', weight: 1 }] : [],
        hosts: [],
      }),
      claim: async ({ workerId, routes, lanes }: ClaimOrder): Promise<Claimed> => {
        if (workerId === fullWorker) return { batches: [], live: [], isFull: true }
        let room = lanes[0]!.count
        const live: ClaimedLive[] = []
        for (const route of routes) {
          const count = Math.min(room, waiting.get(route)!)
          room -= count
          if (count === waiting.get(route)) waiting.delete(route)
          else waiting.set(route, waiting.get(route)! - count)
          for (let n = 0; n < count; n++) live.push(takeOne())
        }
        return { batches: [], live }
      },
    },
  })
  /** Resolves with how many executions the worker gets. */
  const claim = async (
    workerId: string,
    { limit = 12, handlers = ['a'], labels = [] }: Partial<ClaimWish & ClaimWish['worker']> = {},
  ) => {
    const { live } = await desk.claim({
      worker: { workerId, tenantId, handlers, labels },
      operator: false,
      concurrentMax: null,
      limit,
      waitMs: 20_000,
      signal: new AbortController().signal,
      onUnclaimed: () => assert.fail('nobody goes away here'),
    })
    return live.length
  }
  const enqueue = (route: string, count: number) => {
    waiting.set(route, (waiting.get(route) ?? 0) + count)
    wake()
  }
  return { world, claim, enqueue, counted }
}

test('workers that wait for the same handler share the waiting executions, and one that waits alone gets all of them', async () => {
  const { claim, enqueue, world, counted } = setup()
  const three = ['v', 'w', 'x'].map((name) => claim(name))
  await world.advance(0)
  enqueue(routeOf('a'), 12)
  assert.deepEqual(await Promise.all(three), [4, 4, 4])
  assert.equal(counted.times, 1, 'waiting executions are counted once for all of them')
  const alone = claim('v')
  await world.advance(0)
  enqueue(routeOf('a'), 12)
  assert.equal(await alone, 12)
  assert.equal(counted.times, 1, 'a worker alone costs no count')
})

test('fewer executions than workers go to one worker each', async () => {
  const { claim, enqueue, world } = setup()
  const sizes: number[] = []
  for (const name of ['v', 'w', 'x']) void claim(name).then((size) => sizes.push(size))
  await world.advance(0)
  enqueue(routeOf('a'), 2)
  await world.advance(0)
  assert.deepEqual(sizes, [1, 1])
})

test('a worker shares only with workers that could take the same, and that have room', async () => {
  const { claim, enqueue, world } = setup()
  const gpu = { labels: ['gpu'] }
  const others = [claim('no label'), claim('another handler', { handlers: ['b'] }), claim(fullWorker, gpu)]
  const able = claim('able', gpu)
  await world.advance(0)
  // With the first look it becomes known that the full worker is full.
  enqueue(routeOf('a', 'gpu'), 1)
  assert.equal(await able, 1)
  const again = claim('able', gpu)
  enqueue(routeOf('a', 'gpu'), 12)
  assert.equal(await again, 12)
  await world.advance(20_000)
  assert.deepEqual(await Promise.all(others), [0, 0, 0])
})

test('while a hundred executions wait, every worker gets as many as it asks for', async () => {
  const { claim, enqueue, world } = setup()
  const two = ['v', 'w'].map((name) => claim(name, { limit: 80 }))
  await world.advance(0)
  enqueue(routeOf('a'), 100)
  assert.deepEqual(await Promise.all(two), [80, 20])
})
