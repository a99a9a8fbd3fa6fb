// Several processes with the role api on one memory store: they admit a tenant's limit together.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import { openMemoryStore } from '../../../testing/memory-store/open-memory-store.ts'
import { reportRequestsEveryMs } from '../../domain/tenants/request-shares.ts'
import { TokenBuckets } from './rate-limit.ts'
import { RequestShares } from './request-shares.ts'

const tenant = 'a tenant'
const limit = 50
const tickMs = 5

/** Processes that report when their loops would: `send` is how many requests each gets in a second. */
function setup(count: number) {
  const world = createVirtualWorld()
  const { apiProcesses } = openMemoryStore(world.clock)
  const store = { isAway: false, reports: 0 }
  const link = {
    async report(...args: Parameters<typeof apiProcesses.report>) {
      store.reports += 1
      if (store.isAway) throw new Error('the database is away')
      return apiProcesses.report(...args)
    },
    leave: apiProcesses.leave.bind(apiProcesses),
  }
  const processes = Array.from({ length: count }, (_, nth) => {
    const deps = { clock: world.clock, apiProcesses: link, processId: `process ${nth}`, isShared: () => true }
    const one = {
      shares: new RequestShares(deps),
      buckets: new TokenBuckets(),
      nextMs: 0,
      admitted: 0,
      due: 0,
    }
    one.shares.onUrgent(() => {
      one.nextMs = 0
    })
    return one
  })
  async function report(): Promise<void> {
    const nowMs = world.clock.monotonicMs()
    for (const one of processes) {
      if (nowMs < one.nextMs) continue
      const wait = await one.shares.report().catch(() => 'idle' as const)
      one.nextMs = nowMs + (wait === 'idle' ? reportRequestsEveryMs : wait)
    }
  }
  /** Returns the admitted requests of all processes. */
  async function send(perSecond: readonly number[], seconds: number): Promise<number> {
    const before = processes.reduce((sum, { admitted }) => sum + admitted, 0)
    for (let ms = 0; ms < seconds * 1_000; ms += tickMs) {
      await report()
      for (const [nth, one] of processes.entries()) {
        one.due += (perSecond[nth]! * tickMs) / 1_000
        for (; one.due >= 1; one.due -= 1) {
          const share = one.shares.count(tenant, limit)
          const nowMs = world.clock.monotonicMs()
          if (one.buckets.take(tenant, { perSecond: share, nowMs }).taken) one.admitted += 1
        }
      }
      await world.advance(tickMs)
    }
    return processes.reduce((sum, { admitted }) => sum + admitted, 0) - before
  }
  /** Each process has learned of the others. */
  const meet = () => send(new Array<number>(count).fill(0), 3)
  return { world, store, processes, meet, send }
}

for (const [what, perSecond] of Object.entries({
  'all three alike': [200, 200, 200],
  'one much more than the others': [500, 4, 1],
  'one alone': [500, 0, 0],
  'two of three': [300, 60, 0],
})) {
  test(`three processes admit the limit together when requests come to ${what}`, async () => {
    const { meet, send } = setup(3)
    await meet()
    const first = await send(perSecond, 10)
    // Two seconds' worth may come at once; where one process has all requests, it began with a third of that.
    assert(first >= limit * 10 && first <= limit * 12 * 1.02, `${first} in the first 10 s`)
    const then = await send(perSecond, 10)
    assert(Math.abs(then - limit * 10) <= limit * 10 * 0.02, `${then} in the next 10 s`)
  })
}

test('half as many requests as the limit are all admitted, also when they take another way', async () => {
  const { meet, send } = setup(3)
  await meet()
  assert(Math.abs((await send([15, 6, 4], 10)) - 250) <= 3)
  assert(Math.abs((await send([6, 15, 4], 10)) - 250) <= 3)
})

test('when the requests move to another process, the limit is not exceeded, and reached again', async () => {
  const { meet, send } = setup(3)
  await meet()
  await send([500, 0, 0], 10)
  const moved = await send([0, 500, 0], 10)
  assert(moved >= limit * 7 && moved <= limit * 10.5, `${moved} in the 10 s after the move`)
  const then = await send([0, 500, 0], 10)
  assert(Math.abs(then - limit * 10) <= limit * 10 * 0.02, `${then} in the next 10 s`)
})

test('while the store is away each process keeps its share', async () => {
  const { meet, send, store } = setup(3)
  await meet()
  await send([200, 100, 200], 10)
  store.isAway = true
  const admitted = await send([200, 100, 200], 10)
  assert(Math.abs(admitted - limit * 10) <= limit * 10 * 0.02, `${admitted}`)
})

test('a process that dies leaves its share to the others after its term', async () => {
  const { meet, send, processes } = setup(2)
  await meet()
  await send([200, 200], 6)
  processes[0]!.nextMs = Number.POSITIVE_INFINITY
  await send([0, 200], 8)
  const admitted = await send([0, 200], 10)
  assert(Math.abs(admitted - limit * 10) <= limit * 10 * 0.02, `${admitted}`)
})

test('a process alone has the whole limit at once', () => {
  const { processes } = setup(1)
  assert.equal(processes[0]!.shares.count(tenant, limit), limit)
  assert.equal(processes[0]!.shares.count(tenant, 2 * limit), 2 * limit)
})

test('without requests of limited tenants a single-tenant process reports nothing', async () => {
  const world = createVirtualWorld()
  const { apiProcesses } = openMemoryStore(world.clock)
  let reports = 0
  const link = {
    async report(...args: Parameters<typeof apiProcesses.report>) {
      reports += 1
      return apiProcesses.report(...args)
    },
    leave: async () => assert.fail('it has never reported'),
  }
  const shares = new RequestShares({ clock: world.clock, apiProcesses: link, processId: 'one' })
  await shares.report()
  await shares.leave()
  assert.equal(reports, 0)
  shares.count(tenant, limit)
  await shares.report()
  assert.equal(reports, 1)
  await world.advance(61_000)
  await shares.report()
  assert.equal(reports, 1)
})
