// Conformance: waiting executions are released as far as the overlap policy, the job's limit and its key allow, and
// never further.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change, edit } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testReleaseLimits(name: string, setup: Setup): void {
  testBuffered(name, setup)
  testJobLimit(name, setup)
  testKeys(name, setup)
  testWhoGoesFirst(name, setup)
  testPace(name, setup)
}

/** How many executions of these jobs become claimable. */
async function releaseOf(s: StoreScenario, ...jobs: NewJob[]): Promise<number> {
  return (await s.release(...jobs)).ready
}

/** Buffers slots of a job from second 0 on. */
async function buffer(s: StoreScenario, job: NewJob, count: number): Promise<void> {
  for (let second = 0; second < count; second++) assert.equal(await s.tryFire(job, second), 'buffered')
}

/** Claims single executions, all there are. */
async function claimAll(s: StoreScenario, workerId: string) {
  const { batches, live } = await s.claim(workerId)
  assert.deepEqual(batches, [])
  return live
}

function testBuffered(name: string, setup: Setup): void {
  test(`${name}: buffered slots start one at a time in their order, when the running execution has ended`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'BUFFER_ALL' })
    await s.fire(job, 0)
    for (const second of [1, 2, 3]) assert.equal(await s.tryFire(job, second), 'buffered')
    const workerId = await s.addWorker()
    const first = await s.claimLive(workerId)
    const { underWay, waiting } = await s.look(job)
    assert.deepEqual([underWay, waiting.length], [1, 3])
    assert.equal(await releaseOf(s, job), 0)
    await s.finishLive(workerId, first, s.succeeded())
    for (const second of [1, 2, 3]) {
      assert.equal(await releaseOf(s, job), 1)
      assert.equal(await releaseOf(s, job), 0)
      const claimed = await s.claimLive(workerId)
      assert.deepEqual([claimed.slot, claimed.kind, claimed.attempt], [s.at(second), 'slot', 1])
      assert.equal(await releaseOf(s, job), 0)
      await s.finishLive(workerId, claimed, s.succeeded())
    }
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
  })

  for (const overlapPolicy of ['BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const) {
    test(`${name}: ${overlapPolicy}: an execution fired into a batch before the job got this policy is under way`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      const old = await s.fire(job, 0)
      const workerId = await s.addWorker()
      await s.claimBatch(workerId)
      await change(s, job, edit({ overlapPolicy }))
      assert.equal(await s.tryFire(job, 1, { version: 2, overlapPolicy }), 'buffered')
      const { underWay, waiting } = await s.look(job)
      assert.deepEqual([underWay, waiting.length], [1, 1])
      assert.equal(await releaseOf(s, job), 0)
      const isCancelled = overlapPolicy === 'CANCEL_RUNNING'
      assert.equal(await s.statusOf(old), isCancelled ? 'CANCELLING' : 'RUNNING')
    })
  }

  test(`${name}: a trigger goes before buffered slots, which a person does not wait for`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'BUFFER_ALL' })
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 1), 'buffered')
    const triggered = await s.trigger(job)
    await s.runAll()
    await s.release(job)
    assert.equal((await s.claimLive(await s.addWorker())).executionId, triggered)
  })
}

function testJobLimit(name: string, setup: Setup): void {
  test(`${name}: no more executions of a job go than its limit says`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 2 })
    await buffer(s, job, 5)
    assert.deepEqual([await releaseOf(s, job), await releaseOf(s, job)], [2, 0])
    const workerId = await s.addWorker()
    const [first, second] = await claimAll(s, workerId)
    assert.deepEqual([first!.slot, second!.slot].toSorted(), [s.at(0), s.at(1)])
    assert.equal(await releaseOf(s, job), 0)
    await s.finishLive(workerId, first!, s.succeeded())
    assert.deepEqual([await releaseOf(s, job), await releaseOf(s, job)], [1, 0])
    await s.finishLive(workerId, second!, s.died())
    assert.deepEqual([await releaseOf(s, job), await releaseOf(s, job)], [1, 0])
    assert.equal((await s.look(job)).underWay, 2)
  })

  test(`${name}: the place is given back at the end, not between attempts`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 1 })
    await buffer(s, job, 2)
    await s.release(job)
    const workerId = await s.addWorker()
    await s.finishLive(workerId, await s.claimLive(workerId), s.failedForNow())
    assert.equal(await releaseOf(s, job), 0)
    await s.maintenance.wake(10)
    assert.equal(await releaseOf(s, job), 0)
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    assert.equal(await releaseOf(s, job), 1)
  })

  test(`${name}: triggers count against the limit too`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 2 })
    await s.trigger(job)
    await buffer(s, job, 2)
    assert.equal(await releaseOf(s, job), 2)
    assert.equal((await s.look(job)).waiting.length, 1)
  })

  test(`${name}: slots that a limited job owes wait to be counted, one after the other`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 1 })
    assert.equal(await s.tryFire(job, 0, { late: true, owedTo: s.at(2) }), 'buffered')
    assert.deepEqual(await s.release(job), { ready: 1, cancelled: false, planned: false, more: true })
    assert.deepEqual(await s.owedBy(job), { from: s.at(2), to: s.at(2) })
    assert.deepEqual(await s.release(job), { ready: 0, cancelled: false, planned: false, more: false })
    const slots = []
    for (let i = 0; i < 3; i++) {
      const workerId = await s.addWorker()
      const claimed = await s.claimLive(workerId)
      slots.push(claimed.slot)
      await s.finishLive(workerId, claimed, s.succeeded())
      await s.release(job)
    }
    assert.deepEqual(slots, [s.at(0), s.at(1), s.at(2)])
  })
}

function testKeys(name: string, setup: Setup): void {
  const concurrencyKey = { key: 'exports', limit: 2 }

  test(`${name}: jobs that share a key share its limit`, async (t) => {
    const s = await setup(t)
    const jobs = []
    for (const overlapPolicy of ['ALLOW', 'SKIP', 'BUFFER_ALL'] as const) {
      jobs.push(await s.createJob({ overlapPolicy, concurrencyKey }))
    }
    for (const job of jobs) assert.equal(await s.tryFire(job, 0), 'buffered')
    assert.equal(await releaseOf(s, ...jobs), 2)
    assert.equal(await releaseOf(s, ...jobs), 0)
    for (const job of jobs) assert.equal(await releaseOf(s, job), 0)
    const workerId = await s.addWorker()
    const [first, second] = await claimAll(s, workerId)
    await s.finishLive(workerId, first!, s.failedForNow())
    assert.equal(await releaseOf(s, ...jobs), 0, 'between attempts it holds its key')
    await s.finishLive(workerId, second!, s.succeeded())
    assert.equal(await releaseOf(s, ...jobs), 1)
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
  })

  test(`${name}: a key that is given back without having run is free again`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyKey: { key: 'one', limit: 1 } })
    const [first] = [await s.trigger(job), await s.trigger(job)]
    assert.equal(await releaseOf(s, job), 1)
    const message = 'Cancelled by hand.'
    await s.control.cancel({ tenantId: job.tenantId, executionId: first!, message })
    assert.equal(await releaseOf(s, job), 1)
  })

  test(`${name}: a key belongs to its tenant`, async (t) => {
    const s = await setup(t)
    const key = { overlapPolicy: 'ALLOW', concurrencyKey: { key: 'one', limit: 1 } } as const
    const jobs = [await s.createJob(key), await s.createJob({ ...key, tenantId: await s.addTenant(1) })]
    for (const job of jobs) await buffer(s, job, 2)
    assert.equal(await releaseOf(s, ...jobs), 2)
    for (const job of jobs) assert.equal((await s.look(job)).underWay, 1)
  })

  test(`${name}: each keeps to the limit that it was made with`, async (t) => {
    const s = await setup(t)
    const wide = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyKey: { key: 'one', limit: 3 } })
    const narrow = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyKey: { key: 'one', limit: 1 } })
    await buffer(s, wide, 3)
    await buffer(s, narrow, 1)
    assert.equal(await releaseOf(s, wide), 3)
    assert.equal(await releaseOf(s, narrow), 0)
    await s.runAll()
    assert.equal(await releaseOf(s, narrow), 1)
  })

  test(`${name}: a job keeps to its own limit and to that of its key`, async (t) => {
    const s = await setup(t)
    const both = { overlapPolicy: 'ALLOW', concurrencyLimit: 1, concurrencyKey } as const
    const job = await s.createJob(both)
    const other = await s.createJob(both)
    await buffer(s, job, 3)
    await buffer(s, other, 3)
    assert.equal(await releaseOf(s, job, other), 2)
    for (const one of [job, other]) assert.equal((await s.look(one)).underWay, 1)
  })

  test(`${name}: schedulers that release at the same time never let more go than the key allows`, async (t) => {
    const s = await setup(t)
    const jobs: NewJob[] = []
    for (let i = 0; i < 6; i++) jobs.push(await s.createJob({ overlapPolicy: 'ALLOW', concurrencyKey }))
    for (const job of jobs) await buffer(s, job, 2)
    const ran = new Set<string>()
    for (let round = 0; round < 30 && ran.size < 12; round++) {
      const halves = [jobs.slice(0, 3), jobs.slice(3), jobs.slice(1, 5)]
      await Promise.all(halves.map((half) => s.release(...half)))
      let held = 0
      for (const job of jobs) held += (await s.look(job)).underWay
      assert(held <= 2, `${held} hold a key of 2`)
      const workerId = await s.addWorker()
      for (const one of await claimAll(s, workerId)) {
        ran.add(one.executionId)
        await s.finishLive(workerId, one, s.succeeded())
      }
    }
    assert.equal(ran.size, 12, 'and all of them had their turn')
  })
}

function testWhoGoesFirst(name: string, setup: Setup): void {
  const concurrencyKey = { key: 'one', limit: 1 }
  const keyed = { overlapPolicy: 'ALLOW', concurrencyKey } as const

  test(`${name}: the first execution by rank among the ones that wait for a key gets it`, async (t) => {
    const s = await setup(t)
    const late = await s.createJob({ ...keyed, priority: 9 })
    const first = await s.createJob({ ...keyed, priority: 2 })
    const second = await s.createJob({ ...keyed, priority: 5 })
    for (const job of [late, first, second]) await buffer(s, job, 1)
    for (const expected of [first, second, late]) {
      assert.equal(await releaseOf(s, late, second, first), 1)
      const workerId = await s.addWorker()
      const claimed = await s.claimLive(workerId)
      assert.equal(claimed.jobId, expected.jobId)
      await s.finishLive(workerId, claimed, s.succeeded())
    }
  })

  test(`${name}: the first page has the jobs that have waited longest for a key, wherever they are`, async (t) => {
    const s = await setup(t)
    const ids = Array.from({ length: 6 }, () => s.ids.next()).toSorted()
    const jobs: NewJob[] = []
    for (const jobId of ids) {
      const isLast = jobId === ids.at(-1)
      jobs.push(await s.createJob({ jobId, ...keyed, priority: isLast ? 1 : 9 }))
    }
    for (const job of jobs) await buffer(s, job, 1)
    const found = await s.maintenance.findWaiting(null, 2)
    assert.deepEqual(found.slice(-2), ids.slice(0, 2), 'the page is at the end')
    assert(found.includes(ids.at(-1)!))
    assert.equal(new Set(found).size, found.length)
    const rest = await s.maintenance.findWaiting(found.at(-1)!, 9)
    assert.deepEqual(rest, ids.slice(2))
  })
}

function testPace(name: string, setup: Setup): void {
  test(`${name}: owed slots with a pace do not go before their time`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const before = await s.now()
    await s.fire(job, 0, { late: true, owedTo: s.at(9), owedPaceMs: 60_000 })
    const { owed } = await s.look(job)
    assert.equal(owed!.paceMs, 60_000)
    assert(owed!.nextAt >= before + 60_000)
    assert.equal(await releaseOf(s, job), 0)
    assert.deepEqual((await s.look(job)).owed, owed)
  })

  test(`${name}: each that goes puts the next one off by the pace`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0, { late: true, owedTo: s.at(9), owedPaceMs: 1 })
    await s.runAll()
    await s.tick()
    const before = await s.now()
    assert.equal(await releaseOf(s, job), 1)
    const { owed } = await s.look(job)
    assert.deepEqual([owed!.from, owed!.to, owed!.paceMs], [s.at(2), s.at(9), 1])
    assert(owed!.nextAt >= before + 1)
  })

  test(`${name}: slots owed in addition keep the slower pace, and the start`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0, { late: true, owedTo: s.at(3), owedPaceMs: 100 })
    const { owed: first } = await s.look(job)
    assert.equal(await s.tryFire(job, 6, { late: true, owedTo: s.at(8), owedPaceMs: 0 }), 'deferred')
    assert.deepEqual((await s.look(job)).owed, { ...first, to: s.at(8) })
    assert.equal(await s.tryFire(job, 9, { late: true, owedPaceMs: 500 }), 'deferred')
    assert.deepEqual((await s.look(job)).owed, { ...first, to: s.at(9), paceMs: 500 })
  })
}
