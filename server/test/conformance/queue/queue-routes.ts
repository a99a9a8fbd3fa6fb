// Conformance: a worker that serves several routes claims over all of them, the best first; and jobs with deadlines of
// their own have executions that are rows from the start.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Execution } from '../../../src/domain/jobs/job.ts'
import { hostKeyOf } from '../../../src/domain/queue/host-gate.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { serverRoute } from '../../../src/domain/queue/route.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Claimed } from '../../../src/ports/queue.ts'
import { change, edit } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { http, lose } from './held.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const both = ['shell', 'artifact']
const nothing = { batches: [], live: [] }

/** A batch of so many on a route; returns its id. */
async function fireOn(s: StoreScenario, route: string, count: number, priority = 5): Promise<string> {
  const jobs: NewJob[] = []
  for (let i = 0; i < count; i++) jobs.push(await s.createJob())
  return (await s.fireBatch(jobs, 0, { route, priority })).batchId
}

const batchIdsOf = ({ batches }: Claimed) => batches.map(({ batchId }) => batchId).toSorted()

export function testQueueRoutes(name: string, setup: Setup): void {
  testClaim(name, setup)
  testFindWaiting(name, setup)
  testCountWaiting(name, setup)
  testOwnRows(name, setup)
}

function testClaim(name: string, setup: Setup): void {
  test(`${name}: over several routes the best of a lane goes first, whichever route it is on`, async (t) => {
    const s = await setup(t)
    const second = await fireOn(s, 'artifact', 2, 2)
    const fourth = await fireOn(s, 'shell', 2, 4)
    const first = await fireOn(s, 'shell', 2, 1)
    const third = await fireOn(s, 'artifact', 2, 3)
    const elsewhere = await fireOn(s, 'server', 1, 1)
    const workerId = await s.addWorker()
    assert.deepEqual(batchIdsOf(await s.claimOn(workerId, both, 4)), [first, second].toSorted())
    assert.deepEqual(batchIdsOf(await s.claimOn(workerId, both, 2)), [third])
    assert.deepEqual(batchIdsOf(await s.claimOn(workerId, both, 9)), [fourth])
    assert.deepEqual(await s.claimOn(workerId, both), nothing)
    assert.deepEqual(batchIdsOf(await s.claim(workerId)), [elsewhere])
  })

  test(`${name}: batches and single executions of several routes are claimed in one order`, async (t) => {
    const s = await setup(t)
    const execution: Execution = { ...http, type: 'shell', command: '/bin/true', args: [], env: {} }
    const single = await s.trigger(await s.createJob({ execution, priority: 5 }))
    const before = await fireOn(s, 'artifact', 1, 2)
    const behind = await fireOn(s, 'artifact', 1, 4)
    const workerId = await s.addWorker()
    assert.deepEqual(batchIdsOf(await s.claimOn(workerId, both, 1)), [before])
    const { batches, live } = await s.claimOn(workerId, both, 1)
    assert.deepEqual([batches, live.map(({ executionId }) => executionId)], [[], [single]])
    assert.deepEqual(batchIdsOf(await s.claimOn(workerId, both, 1)), [behind])
  })

  test(`${name}: over several routes no more batches are looked at than asked`, async (t) => {
    const s = await setup(t)
    const wanted = [await fireOn(s, 'shell', 1, 1), await fireOn(s, 'artifact', 1, 2)]
    await fireOn(s, 'shell', 1, 3)
    await fireOn(s, 'artifact', 1, 4)
    const workerId = await s.addWorker()
    const lanes = [{ lane: sharedLane, count: 100 }]
    const claimed = await s.queue.claim({ workerId, routes: both, lanes, hosts: [], batchesMax: 2 })
    assert.deepEqual(batchIdsOf(claimed), wanted.toSorted())
  })

  test(`${name}: a batch that does not fit is split, on whichever route it is`, async (t) => {
    const s = await setup(t)
    const whole = await fireOn(s, 'shell', 2, 1)
    await fireOn(s, 'artifact', 3, 2)
    const workerId = await s.addWorker()
    const claimed = await s.claimOn(workerId, both, 3)
    assert.deepEqual([batchIdsOf(claimed), claimed.live.length], [[whole], 1])
    const [rest] = (await s.claimOn(workerId, ['artifact'])).batches
    assert.equal(rest!.positions.length, 2)
  })

  test(`${name}: a route that is named twice gives nothing twice`, async (t) => {
    const s = await setup(t)
    const batchId = await fireOn(s, 'shell', 2)
    const claimed = await s.claimOn(await s.addWorker(), ['shell', 'shell'])
    assert.deepEqual(batchIdsOf(claimed), [batchId])
  })

  test(`${name}: a worker without routes claims nothing`, async (t) => {
    const s = await setup(t)
    await fireOn(s, 'server', 1)
    assert.deepEqual(await s.claimOn(await s.addWorker(), []), nothing)
    assert.deepEqual(await s.queue.waiting([], 10), { lanes: [], hosts: [] })
  })

  test(`${name}: lanes and hosts that wait on several routes are named once`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(3)
    const workerId = await s.addWorker()
    for (const route of both) {
      await fireOn(s, route, 1)
      const [batch] = (await s.claimOn(workerId, [route])).batches
      await s.finishBatch(workerId, batch!, { kind: 'unstarted', host: 'api.example.com' })
      await fireOn(s, route, 1)
    }
    await s.fire(await s.createJob(), 0, { route: 'artifact', lane: tenantId })
    const { lanes, hosts } = await s.queue.waiting(both, 10)
    const expected = [
      { lane: sharedLane, weight: 1 },
      { lane: tenantId, weight: 3 },
    ]
    const byLane = (a: { lane: string }, b: { lane: string }) => (a.lane < b.lane ? -1 : 1)
    assert.deepEqual(lanes.toSorted(byLane), expected.toSorted(byLane))
    assert.deepEqual(hosts, ['api.example.com'])
    assert.deepEqual((await s.queue.waiting(['shell'], 10)).lanes, [{ lane: sharedLane, weight: 1 }])
    const wanted = [{ host: 'api.example.com', count: 5 }]
    const claimed = await s.queue.claim({ workerId, routes: both, lanes: [], hosts: wanted, batchesMax: 1 })
    assert.equal(claimed.live.length, 2)
  })

  test(`${name}: of more hosts than are asked for, each has its turn`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const hosts = Array.from({ length: 8 }, (_, nth) => `host-${nth}.example`)
    for (const host of hosts) {
      await fireOn(s, 'shell', 1)
      const [batch] = (await s.claimOn(workerId, ['shell'])).batches
      await s.finishBatch(workerId, batch!, { kind: 'unstarted', host })
    }
    const seen = new Set<string>()
    // By chance one of them is never drawn once in 10^23.
    for (let looks = 0; looks < 200; looks++) {
      const found = (await s.queue.waiting(['shell'], 2)).hosts
      assert.equal(new Set(found).size, 2)
      for (const host of found) seen.add(host)
    }
    assert.deepEqual([...seen].toSorted(), hosts)
  })

  test(`${name}: a tenant with more hosts than are asked for hides no host of another, and each of its own has its turn`, async (t) => {
    const s = await setup(t)
    const workerId = await s.addWorker()
    const many = await s.addTenant(1)
    const waitFor = async (tenantId: string, host: string) => {
      await s.fireBatch([await s.createJob({ tenantId })], 0, { route: 'shell' })
      const [batch] = (await s.claimOn(workerId, ['shell'])).batches
      await s.finishBatch(workerId, batch!, { kind: 'unstarted', host: hostKeyOf(host, tenantId) })
      return hostKeyOf(host, tenantId)
    }
    const hosts: string[] = []
    for (let nth = 0; nth < 30; nth++) hosts.push(await waitFor(many, `host-${nth}.example`))
    const other = await waitFor(await s.addTenant(1), 'zz.example')
    const seen = new Set<string>()
    // By chance one of them is never drawn once in 10^13.
    for (let looks = 0; looks < 200; looks++) {
      const found = (await s.queue.waiting(['shell'], 4)).hosts
      assert(found.length <= 4 && new Set(found).size === found.length, found.join())
      assert(found.includes(other), `look ${looks} has only ${found.join()}`)
      for (const host of found) seen.add(host)
    }
    assert.deepEqual([...seen].toSorted(), [...hosts, other].toSorted())
  })

  test(`${name}: of more lanes than are asked for, each has its turn, and the shared lane is always there`, async (t) => {
    const s = await setup(t)
    const lanes: string[] = []
    for (let i = 0; i < 6; i++) lanes.push(await s.addTenant(1))
    for (const lane of [sharedLane, ...lanes]) await s.trigger(await s.createJob(), { lane })
    const seen = new Set<string>()
    // By chance one of them is never drawn once in 10^20.
    for (let looks = 0; looks < 120; looks++) {
      const found = (await s.queue.waiting([serverRoute], 3)).lanes.map(({ lane }) => lane)
      assert.equal(new Set(found).size, 3)
      assert(found.includes(sharedLane))
      for (const lane of found) seen.add(lane)
    }
    assert.deepEqual([...seen].toSorted(), [sharedLane, ...lanes].toSorted())
  })
}

function testFindWaiting(name: string, setup: Setup): void {
  const routeOf = (labels: string, handler = 'report') => `worker ${defaultTenantId} ${handler} ${labels}`

  test(`${name}: routes that have something to claim are found by how they begin`, async (t) => {
    const s = await setup(t)
    for (const route of [routeOf(''), routeOf('eu'), routeOf('', 'report-2'), 'shell'])
      await fireOn(s, route, 1)
    await fireOn(s, routeOf(''), 1)
    const prefix = routeOf('')
    assert.deepEqual((await s.routes.findWaiting([prefix], 10)).toSorted(), [routeOf(''), routeOf('eu')])
    const two = await s.routes.findWaiting([prefix, routeOf('', 'report-2')], 10)
    assert.deepEqual(two.toSorted(), [routeOf(''), routeOf('eu'), routeOf('', 'report-2')].toSorted())
    assert.deepEqual(await s.routes.findWaiting([routeOf('', 'other')], 10), [])
    assert.deepEqual(await s.routes.findWaiting([], 10), [])
    assert.equal((await s.routes.findWaiting([prefix], 1)).length, 1)
  })

  test(`${name}: a route of which everything is claimed or between attempts is not found`, async (t) => {
    const s = await setup(t)
    await fireOn(s, routeOf('eu'), 2)
    const workerId = await s.addWorker()
    const [batch] = (await s.claimOn(workerId, [routeOf('eu')])).batches
    const find = () => s.routes.findWaiting([routeOf('')], 10)
    assert.deepEqual(await find(), [])
    await s.finishBatch(workerId, batch!, s.failedForNow())
    assert.deepEqual(await find(), [])
    await s.maintenance.wake(10)
    assert.deepEqual(await find(), [routeOf('eu')])
  })

  test(`${name}: a route is found on which only executions wait that may have killed their worker`, async (t) => {
    const s = await setup(t)
    await fireOn(s, routeOf('eu'), 1)
    const workerId = await s.addWorker()
    await s.claimOn(workerId, [routeOf('eu')])
    await lose(s, workerId)
    assert.deepEqual(await s.routes.findWaiting([routeOf('')], 10), [routeOf('eu')])
  })
}

function testCountWaiting(name: string, setup: Setup): void {
  test(`${name}: executions that can be claimed on routes are counted in batches and alone, up to a bound`, async (t) => {
    const s = await setup(t)
    await fireOn(s, 'shell', 3, 1)
    await fireOn(s, 'shell', 2, 2)
    await fireOn(s, 'artifact', 4)
    await fireOn(s, 'server', 1)
    const execution: Execution = { ...http, type: 'shell', command: '/bin/true', args: [], env: {} }
    for (let n = 0; n < 2; n++) await s.trigger(await s.createJob({ execution }))
    const count = (routes: readonly string[], max = 100) => s.routes.countWaiting(routes, max)
    assert.deepEqual(
      await Promise.all([count(['shell']), count(['artifact']), count(both), count(['grpc']), count([])]),
      [7, 4, 11, 0, 0],
    )
    assert.deepEqual(await Promise.all([count(both, 10), count(both, 1)]), [10, 1])
    // Claimed ones, and ones that wait for a host, are nobody's to claim from the lane.
    const workerId = await s.addWorker()
    const [batch] = (await s.claimOn(workerId, ['artifact'])).batches
    assert.equal(await count(both), 7)
    await s.finishBatch(workerId, batch!, { kind: 'unstarted', host: 'api.example.com' })
    assert.equal(await count(both), 7)
  })
}

function testOwnRows(name: string, setup: Setup): void {
  const timeouts = [{ total_timeout_seconds: 600 }, { heartbeat_timeout_seconds: 60 }] as const
  for (const timeout of timeouts) {
    const [field] = Object.keys(timeout)
    const execution = { ...http, ...timeout }

    test(`${name}: a slot of a job with ${field} is a row of its own from the start`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ jobId: s.jobIdIn(3), execution })
      const partitions = [{ partitionId: 3, after: null }]
      const [cursor] = await s.slots.load({ partitions, dueBefore: s.at(10), limit: 10 })
      assert.deepEqual([cursor!.ownRows, cursor!.limited], [true, false])
      const executionId = await s.fire(job, 0)
      const live = await s.claimLive(await s.addWorker())
      assert.deepEqual([live.executionId, live.attempt, live.kind], [executionId, 1, 'slot'])
      assert.equal(await s.tryFire(job, 1), 'overlap')
    })

    test(`${name}: the one execution of an IMMEDIATE job with ${field} is a row of its own`, async (t) => {
      const s = await setup(t)
      const immediate = { executionId: s.ids.nextBatch(), slot: s.at(1), lane: sharedLane }
      const once = { schedule: { type: 'IMMEDIATE' }, status: 'COMPLETED', slotAt: null } as const
      await s.createJob({ execution, ...once, immediate })
      assert.equal((await s.claimLive(await s.addWorker())).executionId, immediate.executionId)
    })
  }

  test(`${name}: a job that gets a deadline by an edit has rows of its own from then on`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ jobId: s.jobIdIn(3) })
    await change(s, job, edit({ execution: { ...http, total_timeout_seconds: 600 } }))
    const noted = await s.slots.takeChanges([3], 10)
    assert.deepEqual(
      noted.map(({ version, ownRows }) => [version, ownRows]),
      [[2, true]],
    )
  })

  test(`${name}: the time of all attempts begins with the first claim and stays`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ execution: { ...http, total_timeout_seconds: 600 } })
    await s.fire(job, 0)
    const workerId = await s.addWorker()
    const from = await s.now()
    const first = await s.claimLive(workerId)
    const to = await s.now()
    const { totalDeadline } = first
    assert(totalDeadline! >= from + 600_000 && totalDeadline! <= to + 600_000)
    await s.finishLive(workerId, first, { kind: 'unstarted', host: null })
    await s.tick()
    const again = await s.claimLive(workerId)
    await s.finishLive(workerId, again, s.failedForNow())
    await s.maintenance.wake(1)
    await s.tick()
    const second = await s.claimLive(workerId)
    await lose(s, workerId)
    await s.tick()
    const third = await s.claimLive(await s.addWorker())
    assert.deepEqual(
      [again, second, third].map((one) => [one.attempt, one.totalDeadline]),
      [
        [1, totalDeadline],
        [2, totalDeadline],
        [3, totalDeadline],
      ],
    )
  })
}
