import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld, SeededRandom } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { serverRoute, suspectHost } from '../domain/queue/route.ts'
import type { HttpOutcome } from '../ports/http.ts'
import type { NewJob } from '../ports/jobs.ts'
import type { ClaimOrder, Queue } from '../ports/queue.ts'
import { CallSigner } from './call-signer.ts'
import { Claimer } from './claim.ts'
import { Definitions } from './definitions.ts'
import type { HeldExecution } from './held-execution.ts'
import { aheadMin, InFlight } from './in-flight.ts'
import { TenantLimits } from './tenant-limits.ts'

const ok: HttpOutcome = { kind: 'answered', status: 200, headers: {}, preview: new Uint8Array() }

/** A claimer with calls that end when a test says so; until then its executions stay in flight. */
async function setup({ capacity = 800, mayStart = true, isIsolated = false, routes = [serverRoute] } = {}) {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const real = ports.queue
  /** Orders of claims, without the claim of singles that comes first. */
  const orders: ClaimOrder[] = []
  /** The queue as the worker reaches it; a test may replace a method. */
  const link: Queue = {
    waiting: (...args) => real.waiting(...args),
    async claim(order) {
      if (order.singles !== true) orders.push(order)
      return real.claim(order)
    },
    definitions: (...args) => real.definitions(...args),
    finishBatches: (...args) => real.finishBatches(...args),
    finishLive: (...args) => real.finishLive(...args),
    findCancelled: (...args) => real.findCancelled(...args),
    findOwn: (...args) => real.findOwn(...args),
    releaseUnknown: (...args) => real.releaseUnknown(...args),
  }
  const started: HeldExecution[] = []
  const ends = new Map<HeldExecution, () => void>()
  const inFlight = new InFlight(
    {
      clock: world.clock,
      run(held) {
        started.push(held)
        return new Promise((resolve) => ends.set(held, () => resolve({ end: null, outcome: ok })))
      },
      mayStart: () => mayStart,
      onBatchEnded() {},
      onLiveEnded() {},
    },
    { capacity },
  )
  let workerId: string | null = await scenario.addWorker()
  const definitions = new Definitions(link, '1.2.3')
  const claimer = new Claimer({
    clock: world.clock,
    ...{ queue: link, peers: ports.peers },
    ...{ graphRuns: ports.graphRuns, inFlight, definitions },
    signer: new CallSigner(ports.secrets),
    tenantLimits: new TenantLimits({ clock: world.clock, ...ports }),
    routes: async () => routes,
    isIsolated,
    workerId: () => workerId,
    ...{ isBackpressured: () => false, isDraining: () => false, onClaimed() {}, onClaimDue() {} },
  })
  const at = (host: string): Partial<NewJob> => ({
    execution: {
      ...{ type: 'http', callback_url: `https://${host}/`, method: 'POST', headers: {}, timeout_seconds: 30 },
    },
  })
  async function createJobs(count: number, changes: (i: number) => Partial<NewJob> = () => ({})) {
    const jobs: NewJob[] = []
    for (let i = 0; i < count; i++) jobs.push(await scenario.createJob(changes(i)))
    return jobs
  }
  return {
    ...scenario,
    ...{ world, store, real, link, orders, inFlight, started, claimer, createJobs, atHost: at },
    hosts: (count: number) => (i: number) => at(`host-${i % count}.example`),
    setWorker(id: string | null) {
      workerId = id
    },
    /** Ends calls, and drops the ended executions from flight. */
    async endSome(isChosen: () => boolean = () => true): Promise<HeldExecution[]> {
      const ended = [...ends.keys()].filter(isChosen)
      for (const held of ended) {
        ends.get(held)!()
        ends.delete(held)
        inFlight.drop(held)
        if (held.batch !== null) inFlight.dropBatch(held.batch)
      }
      await world.advance(0)
      return ended
    },
    ids: () => [...inFlight.executions()].map(({ executionId }) => executionId).toSorted(),
    /** Executions that wait for this host in the store, as when it was full. */
    async waitForHost(host: string, count: number): Promise<void> {
      const helper = await scenario.addWorker()
      const lane = 'a lane of its own'
      await scenario.fireBatch(await createJobs(count, () => at(host)), 0, { lane })
      const { batches } = await scenario.claim(helper, 100, lane)
      await scenario.finishBatch(helper, batches[0]!, { kind: 'unstarted', host })
    },
  }
}

test('claimed executions are in flight and start, and the next claim finds nothing', async () => {
  const { claimer, createJobs, hosts, fireBatch, ids, started } = await setup()
  const { executionIds } = await fireBatch(await createJobs(5, hosts(5)), 0)
  assert.equal(await claimer.claimOnce(), 'more')
  assert.deepEqual(ids(), executionIds.toSorted())
  assert.equal(started.length, 5)
  assert.equal(await claimer.claimOnce(), 'idle')
})

test('a full worker claims nothing', async () => {
  const { claimer, createJobs, hosts, fireBatch, inFlight, orders } = await setup({ capacity: 8 })
  await fireBatch(await createJobs(20, hosts(20)), 0)
  await claimer.claimOnce()
  assert.equal(inFlight.size, 8)
  assert.equal(await claimer.claimOnce(), 'idle')
  assert.equal(orders.length, 1)
})

test('a worker divides its room among lanes and hosts and fills it once', async () => {
  const { claimer, createJobs, hosts, fireBatch, waitForHost, inFlight } = await setup({ capacity: 16 })
  for (const host of ['a.example', 'b.example', 'c.example']) await waitForHost(host, 5)
  await fireBatch(await createJobs(20, hosts(20)), 0)
  await claimer.claimOnce()
  assert(inFlight.size <= 16, `${inFlight.size} in flight`)
})

test('the capacity is never exceeded, however much waits in lanes and for hosts', async () => {
  const random = new SeededRandom(5)
  const draw = (below: number) => Math.floor(random.next() * below)
  const s = await setup({ capacity: 40 })
  const lanes = ['shared', 'lane a', 'lane b']
  for (let round = 0; round < 60; round++) {
    if (draw(3) === 0) await s.waitForHost(`host-${draw(6)}.example`, 1 + draw(10))
    else {
      const members = await s.createJobs(1 + draw(30), s.hosts(9))
      await s.fireBatch(members, 0, { lane: lanes[draw(3)]! })
    }
    await s.claimer.claimOnce()
    assert(s.inFlight.size <= 40, `${s.inFlight.size} in flight after round ${round}`)
    await s.endSome(() => draw(3) === 0)
  }
})

test('the number of executions that are claimed ahead of their start is bounded', async () => {
  const { claimer, createJobs, fireBatch, inFlight } = await setup({ capacity: 20_000, mayStart: false })
  for (let batch = 0; batch < 7; batch++) await fireBatch(await createJobs(100), 0)
  while ((await claimer.claimOnce()) === 'more');
  assert.equal(inFlight.queued, aheadMin)
})

test('executions that wait for a host are claimed as far as the host has room', async () => {
  const { claimer, waitForHost, inFlight, orders } = await setup({ capacity: 32 })
  await waitForHost('a.example', 10)
  await claimer.claimOnce()
  assert.deepEqual(orders[0]!.hosts, [{ host: 'a.example', count: 4 }])
  assert.equal(inFlight.size, 4)
  assert.equal(await claimer.claimOnce(), 'idle')
  assert.equal(orders.length, 1, 'a full host is not asked for')
})

test('an isolated worker claims one suspect, and none while one is in flight', async () => {
  const { claimer, orders, waitForHost, inFlight, endSome } = await setup({ isIsolated: true })
  await waitForHost(suspectHost, 3)
  for (let suspects = 1; suspects <= 3; suspects++) {
    assert.equal(await claimer.claimOnce(), 'more')
    assert.deepEqual(orders.at(-1)!.hosts, [{ host: suspectHost, count: 1 }])
    assert.deepEqual([inFlight.size, inFlight.suspects], [1, 1])
    assert.equal(await claimer.claimOnce(), 'idle')
    await endSome()
    assert.equal(inFlight.suspects, 0)
  }
  assert.equal(orders.length, 3)
})

test('for a worker that makes calls the suspect host is a host like any other', async () => {
  const { claimer, orders, waitForHost, inFlight } = await setup({ capacity: 16 })
  await waitForHost(suspectHost, 3)
  await claimer.claimOnce()
  assert.deepEqual(orders[0]!.hosts, [{ host: suspectHost, count: 2 }])
  assert.deepEqual([inFlight.size, inFlight.suspects], [2, 0])
})

test('a worker claims from its routes, and nothing without one', async () => {
  const { claimer, createJobs, fireBatch, ids, orders } = await setup({ routes: ['a', 'b'] })
  const jobs = await createJobs(3)
  await fireBatch([jobs[0]!], 0, { route: 'server' })
  const expected = [
    ...(await fireBatch([jobs[1]!], 0, { route: 'a' })).executionIds,
    ...(await fireBatch([jobs[2]!], 0, { route: 'b' })).executionIds,
  ]
  await claimer.claimOnce()
  assert.deepEqual([ids(), orders[0]!.routes], [expected.toSorted(), ['a', 'b']])
  const idle = await setup({ routes: [] })
  await idle.fireBatch(await idle.createJobs(1), 0)
  idle.link.waiting = () => assert.fail('there is nothing to ask for')
  assert.equal(await idle.claimer.claimOnce(), 'idle')
  assert.equal(idle.orders.length, 0)
})

test('executions that cannot be signed are not put in flight, and are released before the next claim', async () => {
  const { claimer, createJobs, fireBatch, ids, store, secrets } = await setup()
  const { executionIds } = await fireBatch(await createJobs(1), 0)
  const signingKeys = secrets.signingKeys.bind(secrets)
  secrets.signingKeys = () => Promise.reject(new Error('the database is away'))
  await assert.rejects(claimer.claimOnce(), /away/)
  assert.deepEqual(ids(), [])
  secrets.signingKeys = signingKeys
  await claimer.claimOnce()
  assert.deepEqual(ids(), executionIds)
  assert.equal(store.live.get(executionIds[0]!)!.attempt, 1, 'no attempt was spent')
})

test('executions from the same claim start by rank, batches and single ones alike', async () => {
  const { claimer, createJobs, createJob, fireBatch, trigger, world, started } = await setup()
  await fireBatch(await createJobs(2, () => ({ priority: 9 })), 0, { priority: 9 })
  await world.advance(1_000)
  await fireBatch(await createJobs(2, () => ({ priority: 2 })), 0, { priority: 2 })
  await world.advance(1_000)
  const urgent = await trigger(await createJob({ priority: 1 }))
  await world.advance(1_000)
  const idle = await trigger(await createJob({ priority: 10 }))
  while ((await claimer.claimOnce()) === 'more');
  const order = started.map(({ executionId, kind, jobId }) => (kind === 'trigger' ? executionId : jobId))
  assert.equal(order.length, 6)
  assert.equal(order[0], urgent)
  assert.equal(order[3], idle)
})

for (const singles of [true, false])
  test(`a claim ${singles ? 'of singles ' : ''}with a lost answer is released before the next one, and no attempt is spent`, async () => {
    const { claimer, createJobs, createJob, trigger, fireBatch, link, real, ids, inFlight } = await setup()
    const { executionIds } = await fireBatch(await createJobs(3), 0)
    const triggered = await trigger(await createJob())
    const claim = link.claim
    link.claim = async (order) => {
      if ((order.singles ?? false) !== singles) return { batches: [], live: [] }
      await real.claim(order)
      throw new Error('the answer was lost')
    }
    await assert.rejects(claimer.claimOnce(), /lost/)
    assert.equal(inFlight.size, 0)
    link.claim = claim
    while ((await claimer.claimOnce()) === 'more');
    assert.deepEqual(ids(), [...executionIds, triggered].toSorted())
    for (const { attempt } of inFlight.executions()) assert.equal(attempt, 1)
  })

test('a release of unknown claims keeps the executions in flight', async () => {
  const { claimer, createJobs, fireBatch, link, real, ids, store } = await setup()
  const first = await fireBatch(await createJobs(3), 0)
  await claimer.claimOnce()
  const second = await fireBatch(await createJobs(3), 1)
  link.definitions = async () => {
    throw new Error('the database is away')
  }
  await assert.rejects(claimer.claimOnce(), /away/)
  assert.deepEqual(ids(), first.executionIds.toSorted(), 'executions that cannot run are not put in flight')
  link.definitions = (keys) => real.definitions(keys)
  await claimer.claimOnce()
  assert.deepEqual(ids(), [...first.executionIds, ...second.executionIds].toSorted())
  assert.equal(store.batches.get(first.batchId)!.workerId !== null, true)
})

test('a claimer with unknown claims releases them first, and claims nothing while it cannot', async () => {
  const { claimer, createJobs, fireBatch, link, real, orders } = await setup()
  await fireBatch(await createJobs(1), 0)
  claimer.noteUnknownClaim()
  link.releaseUnknown = async () => {
    throw new Error('the database is away')
  }
  await assert.rejects(claimer.claimOnce(), /away/)
  assert.equal(orders.length, 0)
  link.releaseUnknown = (...args) => real.releaseUnknown(...args)
  assert.equal(await claimer.claimOnce(), 'more')
})

test('an unknown claim that is noted during a claim or a release is not forgotten', async () => {
  const { claimer, createJobs, fireBatch, link, real, inFlight, ids } = await setup()
  const first = await fireBatch(await createJobs(2), 0)
  await claimer.claimOnce()
  /** As a worker that abandons everything in flight. */
  const abandon = () => {
    inFlight.abandon()
    claimer.noteUnknownClaim()
  }
  const second = await fireBatch(await createJobs(2), 1)
  const { claim } = link
  link.claim = async (order) => {
    const claimed = await real.claim(order)
    abandon()
    return claimed
  }
  await claimer.claimOnce()
  assert.deepEqual(ids(), second.executionIds.toSorted())
  link.claim = claim
  link.releaseUnknown = async (...args) => {
    link.releaseUnknown = (...again) => real.releaseUnknown(...again)
    const count = await real.releaseUnknown(...args)
    abandon()
    return count
  }
  await claimer.claimOnce()
  assert.deepEqual(ids(), first.executionIds.toSorted())
  await claimer.claimOnce()
  assert.deepEqual(ids(), [...first.executionIds, ...second.executionIds].toSorted())
})

test('after a time without a lease a claimer releases unknown claims once', async () => {
  const { claimer, createJobs, fireBatch, link, real, ids, setWorker, addWorker } = await setup()
  const workerId = await addWorker()
  setWorker(workerId)
  let returns = 0
  link.releaseUnknown = (...args) => {
    returns += 1
    return real.releaseUnknown(...args)
  }
  const { executionIds } = await fireBatch(await createJobs(2), 0)
  await claimer.claimOnce()
  // A claim that the store carried out only after its answer had been given up.
  const late = await fireBatch(await createJobs(2), 1)
  const lanes = [{ lane: 'shared', count: 10 }]
  await real.claim({ workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 10 })
  await claimer.claimOnce()
  assert.deepEqual([ids(), returns], [executionIds.toSorted(), 0])
  setWorker(null)
  await claimer.claimOnce()
  await claimer.claimOnce()
  setWorker(workerId)
  await claimer.claimOnce()
  await claimer.claimOnce()
  assert.deepEqual([ids(), returns], [[...executionIds, ...late.executionIds].toSorted(), 1])
})

test('a claim that the store carries out long after it was given up is released, and its execution runs', async () => {
  const { claimer, createJobs, fireBatch, real, ids, world, setWorker, addWorker } = await setup()
  const workerId = await addWorker()
  setWorker(workerId)
  await claimer.claimOnce()
  const { executionIds } = await fireBatch(await createJobs(2), 0)
  const lanes = [{ lane: 'shared', count: 10 }]
  await real.claim({ workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 10 })
  await world.advance(10_000)
  await claimer.claimOnce()
  assert.deepEqual(ids(), executionIds.toSorted())
})

test('without a lease nothing is claimed, and a claim under a lease that is gone is not put in flight', async () => {
  const { claimer, createJobs, fireBatch, link, real, inFlight, orders, setWorker, addWorker } = await setup()
  await fireBatch(await createJobs(2), 0)
  const other = await addWorker()
  link.definitions = async (keys) => {
    setWorker(other)
    return real.definitions(keys)
  }
  assert.equal(await claimer.claimOnce(), 'idle')
  assert.equal(inFlight.size, 0)
  setWorker(null)
  assert.equal(await claimer.claimOnce(), 'idle')
  assert.equal(orders.length, 1)
})

test('a trigger brings its own payload, also null', async () => {
  const { claimer, createJob, trigger, inFlight } = await setup()
  const bodies = new Map<string, string | null>([
    [await trigger(await createJob(), { payloadOverride: { a: 1 } }), '{"a":1}'],
    [await trigger(await createJob(), { payloadOverride: null }), 'null'],
    [await trigger(await createJob()), null],
  ])
  await claimer.claimOnce()
  for (const { executionId, bodyOverride } of inFlight.executions())
    assert.equal(bodyOverride, bodies.get(executionId))
  assert.equal(inFlight.size, 3)
})

test('while two lanes have work, each is served by its weight', async () => {
  const { claimer, createJobs, fireBatch, store, endSome } = await setup({ capacity: 8_000 })
  store.weights.set('heavy', 10)
  store.weights.set('light', 1)
  const members = await createJobs(100, () => ({ overlapPolicy: 'ALLOW' }))
  for (let second = 0; second < 60; second++)
    await fireBatch(members, second, { lane: second < 30 ? 'heavy' : 'light' })
  const served = { heavy: 0, light: 0 }
  for (let round = 0; round < 5; round++) {
    await claimer.claimOnce()
    for (const { lane } of await endSome()) served[lane as 'heavy' | 'light'] += 1
  }
  assert.equal(served.heavy + served.light, 5 * aheadMin)
  assert(served.heavy > 5 * served.light, `${served.heavy} to ${served.light}`)
})
