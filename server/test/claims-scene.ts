// Parked claims on a store of counters, for tests of the order in which claims are served.

import { type ClaimWish, LongPollClaims } from '../src/api/workers/long-poll-claims.ts'
import { handlerRoutePrefix } from '../src/domain/executors/worker.ts'
import { suspectHost } from '../src/domain/queue/route.ts'
import { epochMs } from '../src/lib/time/epoch.ts'
import type { HeldAttempt } from '../src/ports/attempts.ts'
import type { Claimed, ClaimOrder } from '../src/ports/queue.ts'
import { createVirtualWorld } from './virtual-world.ts'

const tenantId = '00000000-0000-7000-8000-000000000001'
const none = { calls: 0, commands: 0, own: 0, awaitedHere: 0 }
export const routeOf = (handler: string, labels = '') => `${handlerRoutePrefix(tenantId, handler)}${labels}`

/** A store of counters: how many wait on each route, and on which of them suspects do. */
export function setupClaims() {
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
export const sizeOf = ({ live }: Claimed) => live.length
