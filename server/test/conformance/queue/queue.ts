// Conformance of the queue port, for every implementation: waiting executions, and claiming them. How they end is in
// queue-finish.ts.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { executionIdAt } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { rankOf } from '../../../src/domain/queue/rank.ts'
import type { Claimed } from '../../../src/ports/queue.ts'
import { notHeld, type Scenario } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { assertWithin, during } from './held.ts'

/** Executions of a claim, batches unfolded, in the order of their ids. */
function idsOf({ batches, live }: Claimed): string[] {
  const batched = batches.flatMap(({ batchId, positions }) =>
    positions.map((place) => executionIdAt(batchId, place)),
  )
  return [...batched, ...live.map(({ executionId }) => executionId)].toSorted()
}

async function createJobs(s: Scenario, count: number) {
  const jobs = []
  for (let i = 0; i < count; i++) jobs.push(await s.createJob())
  return jobs
}

/** Fires a batch and hands it back unstarted: as many ready executions without a batch. */
async function fireSingles(s: Scenario, count: number, host: string | null = null): Promise<string[]> {
  const { executionIds } = await s.fireBatch(await createJobs(s, count), 0)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), { kind: 'unstarted', host })
  return executionIds
}

export function testQueue(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testWaiting(name, setup)
  testClaim(name, setup)
  testSplit(name, setup)
  testDefinitions(name, setup)
}

function testWaiting(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: lanes that have something to claim are named with the weight of their tier`, async (t) => {
    const s = await setup(t)
    const [big, small] = [await s.addTenant(10), await s.addTenant(3)]
    await s.fire(await s.createJob(), 0)
    await s.fire(await s.createJob(), 0)
    await s.fire(await s.createJob({ tenantId: big }), 0, { lane: big })
    await s.trigger(await s.createJob({ tenantId: small }), { lane: small })
    const { lanes, hosts } = await s.queue.waiting(['server'], 10)
    assert.deepEqual(
      lanes.toSorted((a, b) => (a.lane < b.lane ? -1 : 1)),
      [
        { lane: big, weight: 10 },
        { lane: small, weight: 3 },
        { lane: sharedLane, weight: 1 },
      ].toSorted((a, b) => (a.lane < b.lane ? -1 : 1)),
    )
    assert.deepEqual(hosts, [])
    assert.equal((await s.queue.waiting(['server'], 2)).lanes.length, 2)
    assert.deepEqual(await s.queue.waiting(['elsewhere'], 10), { lanes: [], hosts: [] })
  })

  test(`${name}: an execution that is claimed, waits for another or is between attempts is not waiting to be claimed`, async (t) => {
    const s = await setup(t)
    const [claimed, retrying] = await createJobs(s, 2)
    await s.fire(retrying!, 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    await s.fire(claimed!, 0)
    await s.trigger(claimed!)
    await s.claim(workerId)
    assert.deepEqual(await s.queue.waiting(['server'], 10), { lanes: [], hosts: [] })
  })

  test(`${name}: hosts that executions wait for are named, and not their lanes`, async (t) => {
    const s = await setup(t)
    await fireSingles(s, 2, 'api.example.com')
    await fireSingles(s, 1, 'other.example.com')
    const { lanes, hosts } = await s.queue.waiting(['server'], 10)
    assert.deepEqual([lanes, hosts.toSorted()], [[], ['api.example.com', 'other.example.com']])
    assert.equal((await s.queue.waiting(['server'], 1)).hosts.length, 1)
  })
}

function testClaim(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: an execution that one worker has claimed goes to no other worker`, async (t) => {
    const s = await setup(t)
    const { executionIds } = await s.fireBatch(await createJobs(s, 3), 0)
    const [one, two] = [await s.addWorker(), await s.addWorker()]
    assert.deepEqual(idsOf(await s.claim(one)), executionIds)
    assert.deepEqual(await s.claim(two), { batches: [], live: [] })
    assert.equal(await s.statusOf(executionIds[0]!), 'RUNNING')
  })

  test(`${name}: workers that claim at the same time never get the same execution`, async (t) => {
    const s = await setup(t)
    const wanted = await fireSingles(s, 3)
    for (let i = 0; i < 4; i++) wanted.push(...(await s.fireBatch(await createJobs(s, 3), 0)).executionIds)
    const workers = [await s.addWorker(), await s.addWorker(), await s.addWorker()]
    const found: string[] = []
    for (let round = 0; round < 10 && found.length < wanted.length; round++) {
      const claims = await Promise.all(workers.map((workerId) => s.claim(workerId, 2)))
      found.push(...claims.flatMap(idsOf))
    }
    assert.deepEqual(found.toSorted(), wanted.toSorted())
  })

  test(`${name}: batches go out whole and by rank while they fit`, async (t) => {
    const s = await setup(t)
    const low = await s.fireBatch(await createJobs(s, 2), 0, { priority: 9 })
    const high = await s.fireBatch(await createJobs(s, 2), 0, { priority: 1 })
    const middle = await s.fireBatch(await createJobs(s, 2), 0, { priority: 5 })
    const workerId = await s.addWorker()
    const { batches, live } = await s.claim(workerId, 4)
    assert.deepEqual(
      batches.map(({ batchId }) => batchId).toSorted(),
      [high.batchId, middle.batchId].toSorted(),
    )
    assert.deepEqual(live, [])
    assert.equal((await s.claimBatch(workerId)).batchId, low.batchId)
  })

  test(`${name}: of equal rank the older goes first`, async (t) => {
    const s = await setup(t)
    const first = await s.fire(await s.createJob(), 0)
    await s.fire(await s.createJob(), 0)
    const workerId = await s.addWorker()
    assert.deepEqual(idsOf(await s.claim(workerId, 1)), [first])
  })

  test(`${name}: single executions and batches are claimed in one order`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ priority: 5 })
    const behind = await s.fireBatch(await createJobs(s, 2), 0, { priority: 6 })
    const triggered = await s.trigger(job)
    const before = await s.fireBatch(await createJobs(s, 2), 0, { priority: 1 })
    const workerId = await s.addWorker()
    assert.deepEqual(idsOf(await s.claim(workerId, 2)), before.executionIds)
    assert.deepEqual(idsOf(await s.claim(workerId, 1)), [triggered])
    assert.deepEqual(idsOf(await s.claim(workerId, 2)), behind.executionIds)
  })

  test(`${name}: no more batches are looked at than asked`, async (t) => {
    const s = await setup(t)
    for (let i = 0; i < 3; i++) await s.fire(await s.createJob(), 0)
    const workerId = await s.addWorker()
    const order = { workerId, routes: ['server'], hosts: [], batchesMax: 2 }
    const claimed = await s.queue.claim({ ...order, lanes: [{ lane: sharedLane, count: 100 }] })
    assert.equal(claimed.batches.length, 2)
  })

  test(`${name}: each lane gives its share and no other lane's`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(10)
    const shared = await s.fireBatch(await createJobs(s, 2), 0)
    const own = await s.fireBatch(await createJobs(s, 3), 0, { lane: tenantId })
    const third = await s.addTenant(10)
    await s.fireBatch(await createJobs(s, 1), 0, { lane: third })
    const lanes = [
      { lane: sharedLane, count: 2 },
      { lane: tenantId, count: 3 },
    ]
    const workerId = await s.addWorker()
    const claimed = await s.queue.claim({ workerId, routes: ['server'], lanes, hosts: [], batchesMax: 20 })
    assert.deepEqual(idsOf(claimed), [...shared.executionIds, ...own.executionIds].toSorted())
  })

  test(`${name}: a single execution is claimed with its next attempt and a greater fence`, async (t) => {
    const s = await setup(t)
    await s.trigger(await s.createJob())
    const workerId = await s.addWorker()
    const first = await s.claimLive(workerId)
    await s.finishLive(workerId, first, s.failedForNow())
    assert.equal(await s.maintenance.wake(10), 1)
    const second = await s.claimLive(workerId)
    assert.deepEqual([first.attempt, second.attempt], [1, 2])
    assert(second.fence > first.fence)
  })

  test(`${name}: an execution that waits for a host is claimed for that host only, by rank`, async (t) => {
    const s = await setup(t)
    const first = await fireSingles(s, 2, 'api.example.com')
    await fireSingles(s, 1, 'other.example.com')
    const workerId = await s.addWorker()
    assert.deepEqual(await s.claim(workerId), { batches: [], live: [] })
    const order = { workerId, routes: ['server'], lanes: [], batchesMax: 20 }
    const claim = (count: number) => s.queue.claim({ ...order, hosts: [{ host: 'api.example.com', count }] })
    const { batches, live } = await claim(1)
    assert.deepEqual([batches, live.map((one) => [one.executionId, one.attempt])], [[], [[first[0], 1]]])
    assert.deepEqual(idsOf(await claim(9)), [first[1]])
    assert.deepEqual(idsOf(await claim(9)), [])
  })

  test(`${name}: a worker without a lease claims nothing`, async (t) => {
    const s = await setup(t)
    const [single] = await fireSingles(s, 1, 'api.example.com')
    const executionId = await s.fire(await s.createJob(), 0)
    const workerId = await s.addWorker()
    await s.leases.unregister(workerId)
    await assert.rejects(s.claim(workerId))
    const hosts = [{ host: 'api.example.com', count: 1 }]
    await assert.rejects(s.queue.claim({ workerId, routes: ['server'], lanes: [], hosts, batchesMax: 1 }))
    const triggered = await s.trigger(await s.createJob())
    const lanes = [{ lane: sharedLane, count: 1 }]
    await assert.rejects(
      s.queue.claim({ workerId, routes: ['server'], lanes, hosts: [], batchesMax: 1, singles: true }),
    )
    assert.equal(await s.statusOf(triggered), 'PENDING')
    assert.deepEqual([await s.statusOf(executionId), await s.statusOf(single!)], ['PENDING', 'PENDING'])
    assert.deepEqual(idsOf(await s.claim(await s.addWorker())), [executionId, triggered].toSorted())
  })
}

function testSplit(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: out of a batch that does not fit the first ones are claimed singly`, async (t) => {
    const s = await setup(t)
    const jobs = await createJobs(s, 5)
    const { batchId, executionIds } = await s.fireBatch(jobs, 3, { priority: 6 })
    const workerId = await s.addWorker()
    const [{ batches, live }, claimed] = await during(s, () => s.claim(workerId, 2))
    assert.deepEqual(batches, [])
    for (const { executionId } of live) assertWithin((await s.view(executionId)).startedAt, claimed)
    const { enqueuedAt } = live[0]!
    assert.deepEqual(
      live.toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1)),
      [0, 1].map((place) => ({
        executionId: executionIds[place],
        fence: 1,
        lane: sharedLane,
        rank: rankOf(enqueuedAt, 6),
        enqueuedAt,
        jobId: jobs[place]!.jobId,
        version: 1,
        kind: 'slot',
        slot: s.at(3),
        attempt: 1,
        losses: 0,
        idempotencyKey: null,
        totalDeadline: null,
        suspect: false,
        runId: null,
      })),
    )
    const rest = await s.claimBatch(await s.addWorker())
    assert.deepEqual(
      [rest.batchId, rest.positions, rest.jobIds, rest.slots, rest.enqueuedAt],
      [batchId, [2, 3, 4], jobs.slice(2).map(({ jobId }) => jobId), new Array(3).fill(s.at(3)), enqueuedAt],
    )
  })

  test(`${name}: nothing overtakes the batch that was split`, async (t) => {
    const s = await setup(t)
    const whole = await s.fireBatch(await createJobs(s, 2), 0, { priority: 1 })
    const split = await s.fireBatch(await createJobs(s, 3), 0, { priority: 2 })
    await s.fireBatch(await createJobs(s, 1), 0, { priority: 3 })
    const workerId = await s.addWorker()
    const claimed = await s.claim(workerId, 3)
    assert.deepEqual(
      claimed.batches.map(({ batchId }) => batchId),
      [whole.batchId],
    )
    assert.deepEqual(
      claimed.live.map(({ executionId }) => executionId),
      [split.executionIds[0]],
    )
  })

  test(`${name}: a batch behind a full share is left whole`, async (t) => {
    const s = await setup(t)
    await s.fireBatch(await createJobs(s, 2), 0, { priority: 1 })
    const { batchId } = await s.fireBatch(await createJobs(s, 3), 0, { priority: 2 })
    await s.claim(await s.addWorker(), 2)
    const { positions, ...rest } = await s.claimBatch(await s.addWorker())
    assert.deepEqual([rest.batchId, positions], [batchId, [0, 1, 2]])
  })

  test(`${name}: an execution that was split off ends on its own, the rest with its batch`, async (t) => {
    const s = await setup(t)
    const jobs = await createJobs(s, 3)
    const { executionIds } = await s.fireBatch(jobs, 0)
    const [one, two] = [await s.addWorker(), await s.addWorker()]
    const [single] = (await s.claim(one, 1)).live
    const rest = await s.claimBatch(two)
    assert.deepEqual(
      await s.queue.finishBatches(one, [{ batchId: rest.batchId, fence: 1, endings: [] }]),
      notHeld(rest.batchId),
    )
    await s.finishBatch(two, rest, s.succeeded())
    const statuses = async () => Promise.all(executionIds.map((id) => s.statusOf(id)))
    assert.deepEqual(await statuses(), ['RUNNING', 'SUCCEEDED', 'SUCCEEDED'])
    await s.finishLive(one, single!, s.succeeded())
    assert.deepEqual(await statuses(), ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])
  })
}

function testDefinitions(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: the definition of a version is the one that the job was created with`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ name: 'invoice', priority: 3, jitterSeconds: 6 })
    const other = await s.createJob({ name: 'mail' })
    await s.createJob()
    const { jobId, tenantId, execution, retryPolicy } = job
    const definition = { name: 'invoice', execution, retryPolicy, priority: 3, jitterSeconds: 6 }
    const found = await s.queue.definitions([
      { jobId, version: 1 },
      { jobId, version: 2 },
      { jobId: other.jobId, version: 1 },
      { jobId: s.ids.next(), version: 1 },
    ])
    assert.equal(found.length, 2)
    assert.deepEqual(
      found.find((one) => one.jobId === jobId),
      { jobId, version: 1, tenantId, ...definition },
    )
    assert.deepEqual(await s.queue.definitions([]), [])
  })

  test(`${name}: a claim of singles leaves batches alone, and brings definitions`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ name: 'invoice', priority: 3, jitterSeconds: 6, overlapPolicy: 'ALLOW' })
    const [definition] = await s.queue.definitions([{ jobId: job.jobId, version: 1 }])
    const batched = await s.fire(await s.createJob(), 0)
    const ids = []
    for (const payloadOverride of [1, null, 'x']) ids.push(await s.trigger(job, { payloadOverride }))
    const order = { routes: ['server'], lanes: [{ lane: sharedLane, count: 2 }], hosts: [], batchesMax: 20 }
    const workerId = await s.addWorker()
    const first = await s.queue.claim({ workerId, ...order, singles: true })
    assert.deepEqual(idsOf(first), ids.slice(0, 2))
    assert.deepEqual(first.live[0]!.definition, definition)
    const rest = await s.queue.claim({ workerId, ...order })
    assert.deepEqual(idsOf(rest), [batched, ids[2]!].toSorted())
    // All else is as any claim brings it.
    const {
      definition: _,
      executionId: __,
      ...single
    } = first.live.find((one) => one.payloadOverride === null)!
    const { executionId: ___, ...other } = rest.live[0]!
    const { rank, enqueuedAt, slot } = single
    assert.deepEqual(single, { ...other, rank, enqueuedAt, slot, payloadOverride: null })
    assert.deepEqual(await s.queue.claim({ workerId, ...order, singles: true }), { batches: [], live: [] })
    for (const one of [...first.live, ...rest.live]) await s.finishLive(workerId, one, s.succeeded())
  })
}
