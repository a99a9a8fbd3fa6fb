// Conformance: executions that wait behind another of their job, and owed slots, are released one after the other.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { rankOf } from '../../../src/domain/queue/rank.ts'
import { epochMs, toRfc3339 } from '../../../src/lib/time/epoch.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { missed, type Scenario } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { UNDER_WAY } from './under-way.ts'

export function testRelease(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testFindWaiting(name, setup)
  testTriggers(name, setup)
  testOwed(name, setup)
  testOwedRecords(name, setup)
}

/** How many executions of the job become claimable. */
async function releaseOf(s: Scenario, job: NewJob): Promise<number> {
  return (await s.release(job)).ready
}

function testFindWaiting(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: jobs with something waiting are found, each once, piece by piece`, async (t) => {
    const s = await setup(t)
    const jobs: NewJob[] = []
    for (let i = 0; i < 4; i++) jobs.push(await s.createJob())
    await s.createJob()
    const [triggered, owing, both, last] = jobs as [NewJob, NewJob, NewJob, NewJob]
    for (const job of [triggered, last]) await s.trigger(job)
    await s.trigger(triggered)
    await s.trigger(triggered)
    await s.trigger(last)
    await s.fire(owing, 0, { owedTo: s.at(3) })
    await s.fire(both, 0, { owedTo: s.at(4) })
    await s.trigger(both)
    const expected = jobs.map(({ jobId }) => jobId).toSorted()
    const first = await s.maintenance.findWaiting(null, 3)
    const rest = await s.maintenance.findWaiting(first.at(-1)!, 3)
    assert.deepEqual([first, rest], [expected.slice(0, 3), expected.slice(3)])
    const owed = []
    for (const job of jobs) owed.push(await s.owedBy(job))
    const from = epochMs(s.at(0) + 1)
    assert.deepEqual(owed, [null, { from, to: s.at(3) }, { from, to: s.at(4) }, null])
  })

  test(`${name}: the first waiting jobs of a tenant are found, whichever others have very many`, async (t) => {
    const s = await setup(t)
    const tenants = [await s.addTenant(1), await s.addTenant(1), await s.addTenant(1)].toSorted()
    const waiting: string[][] = []
    for (const [n, tenantId] of tenants.entries()) {
      const jobs: NewJob[] = []
      for (let i = 0; i < 3 - n; i++) jobs.push(await s.createJob({ tenantId }))
      for (const job of [...jobs, ...jobs]) await s.trigger(job)
      waiting.push(jobs.map(({ jobId }) => jobId).toSorted())
    }
    const [a, b, c] = waiting as [string[], string[], string[]]
    const find = (after: string | null, count: number) =>
      s.maintenance.findWaitingOfTenants(after, { tenants: count, each: 2 })
    assert.deepEqual(await find(null, 2), { jobIds: [...a.slice(0, 2), ...b], last: tenants[1] })
    assert.deepEqual(await find(tenants[1]!, 2), { jobIds: c, last: null })
    assert.deepEqual(await find(tenants[2]!, 2), { jobIds: [], last: null })
    assert.deepEqual(await find(null, 3), { jobIds: [...a.slice(0, 2), ...b, ...c], last: tenants[2] })
  })

  test(`${name}: a job that waits is known with all that is needed to decide`, async (t) => {
    const s = await setup(t)
    const schedule = { type: 'INTERVAL', every_seconds: 2 } as const
    const job = await s.createJob({ schedule, anchorAt: s.at(-1), priority: 4, jitterSeconds: 1 })
    await s.fire(job, 0, { owedTo: s.at(3) })
    const triggered = await s.trigger(job)
    const { enqueuedAt } = await s.view(triggered)
    const { now, owed, waiting, ...known } = await s.look(job)
    assert(now >= enqueuedAt)
    assert.deepEqual([owed!.from, owed!.to, owed!.paceMs], [epochMs(s.at(0) + 1), s.at(3), 0])
    const slot = epochMs(enqueuedAt - (enqueuedAt % 1_000))
    const rank = rankOf(enqueuedAt, 2)
    const none = { operationId: null, concurrencyKey: null }
    assert.deepEqual(waiting, [
      { executionId: triggered, kind: 'trigger', inRun: false, slot, rank, ...none },
    ])
    assert.deepEqual(
      [known.jobId, known.tenantId, known.version, known.priority, known.overlapPolicy],
      [job.jobId, job.tenantId, 1, 4, 'SKIP'],
    )
    assert.deepEqual([known.schedule, known.anchorAt, known.jitterSeconds], [schedule, s.at(-1), 1])
    assert.deepEqual([known.concurrencyLimit, known.concurrencyKey, known.calendars], [null, null, null])
    assert.deepEqual([known.underWay, known.uncancelled, known.underWayOf], [1, 1, null])
    assert.deepEqual([known.owedDecided, known.awaits], [[], null])
  })

  test(`${name}: a job of which nothing waits is not found`, async (t) => {
    const s = await setup(t)
    await s.fire(await s.createJob(), 0)
    await s.trigger(await s.createJob())
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
  })
}

function testTriggers(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  for (const { how, begin } of UNDER_WAY) {
    test(`${name}: a trigger goes on waiting while an execution ${how}`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      await s.trigger(job)
      assert.equal((await s.look(job)).underWay, 1)
      assert.equal(await releaseOf(s, job), 0)
      assert.deepEqual(await s.maintenance.findWaiting(null, 10), [job.jobId])
    })
  }

  test(`${name}: a trigger is let go when the execution before it has ended`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const executionId = await s.trigger(job)
    await s.runAll()
    assert.deepEqual(await s.release(job), { ready: 1, cancelled: false, planned: false, more: false })
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
    const { attempt, fence, ...claimed } = await s.claimLive(await s.addWorker())
    assert.deepEqual([claimed.executionId, attempt, fence], [executionId, 1, 1])
  })

  test(`${name}: triggers are let go one at a time, in the order they came`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const triggers = [await s.trigger(job), await s.trigger(job)]
    await s.runAll()
    for (const executionId of triggers) {
      assert.equal(await releaseOf(s, job), 1)
      assert.equal(await releaseOf(s, job), 0)
      const workerId = await s.addWorker()
      const claimed = await s.claimLive(workerId)
      assert.equal(claimed.executionId, executionId)
      assert.equal(await releaseOf(s, job), 0)
      await s.finishLive(workerId, claimed, s.succeeded())
    }
    assert.equal(await releaseOf(s, job), 0)
  })

  test(`${name}: a trigger keeps its rank while it waits`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const { enqueuedAt } = await s.view(await s.trigger(job))
    await s.runAll()
    await s.release(job)
    assert.equal((await s.claimLive(await s.addWorker())).enqueuedAt, enqueuedAt)
  })

  test(`${name}: each job is judged on its own`, async (t) => {
    const s = await setup(t)
    const [free, busy] = [await s.createJob(), await s.createJob()]
    await s.fire(free, 0)
    const executionId = await s.trigger(free)
    await s.runAll()
    await s.fire(busy, 0)
    await s.trigger(busy)
    const unknown = { ...busy, jobId: s.ids.next() }
    assert.equal((await s.release(busy, free, unknown)).ready, 1)
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [busy.jobId])
    assert.equal(await s.statusOf(executionId), 'PENDING')
    assert.deepEqual(await s.release(), { ready: 0, cancelled: false, planned: false, more: false })
  })

  test(`${name}: schedulers that release at the same time let one go`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.trigger(job)
    await s.trigger(job)
    await s.runAll()
    const released = await Promise.all([1, 2, 3].map(() => releaseOf(s, job)))
    assert.equal(
      released.reduce((a, b) => a + b),
      1,
    )
    assert.equal((await s.claim(await s.addWorker())).live.length, 1)
  })
}

/** A job that has run its slot 0 late and owes slots 1 to `to`. */
async function createOwing(s: Scenario, to: number): Promise<NewJob> {
  const job = await s.createJob()
  await s.fire(job, 0, { late: true, owedTo: s.at(to) })
  await s.runAll()
  return job
}

function testOwed(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: owed slots run in order, each after the one before has ended`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 2)
    assert.equal(await releaseOf(s, job), 1)
    assert.deepEqual(await s.owedBy(job), { from: s.at(2), to: s.at(2) })
    assert.equal(await releaseOf(s, job), 0)
    const workerId = await s.addWorker()
    const claimed = await s.claimLive(workerId)
    const { jobId, kind, slot, attempt } = claimed
    assert.deepEqual([jobId, kind, slot, attempt], [job.jobId, 'slot', s.at(1), 1])
    assert.equal(await releaseOf(s, job), 0)
    await s.finishLive(workerId, claimed, s.succeeded())
    assert.equal(await releaseOf(s, job), 1)
    assert.equal(await s.owedBy(job), null)
    await s.runAll()
    assert.equal((await s.list(job, { status: 'SUCCEEDED' })).total, 3)
    assert.equal(await s.tryFire(job, 3), 'fired')
  })

  test(`${name}: an owed slot waits for the late slot before it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0, { late: true, owedTo: s.at(2) })
    assert.equal(await releaseOf(s, job), 0)
    await s.runAll()
    assert.equal(await releaseOf(s, job), 1)
  })

  test(`${name}: owed slots wait for each other also when slots on time were skipped meanwhile`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 2)
    assert.equal(await s.tryFire(job, 3), 'overlap')
    assert.equal(await releaseOf(s, job), 1)
    assert.equal(await s.tryFire(job, 4), 'overlap')
    assert.equal(await releaseOf(s, job), 0)
  })

  test(`${name}: a slot on time is skipped while the last owed one runs`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 1)
    assert.equal(await s.tryFire(job, 3), 'overlap')
    assert.equal(await releaseOf(s, job), 1)
    assert.equal(await s.owedBy(job), null)
    assert.equal(await s.tryFire(job, 4), 'overlap')
    await s.claimLive(await s.addWorker())
    assert.equal(await s.tryFire(job, 5), 'overlap')
  })

  test(`${name}: a trigger waits while the last owed slot runs`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 1)
    assert.equal(await s.tryFire(job, 3), 'overlap')
    await s.release(job)
    await s.trigger(job)
    assert.equal(await releaseOf(s, job), 0)
    assert.equal((await s.claimLive(await s.addWorker())).slot, s.at(1))
  })

  test(`${name}: a waiting trigger goes before owed slots`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 2)
    const executionId = await s.trigger(job)
    assert.equal(await releaseOf(s, job), 1)
    assert.deepEqual(await s.owedBy(job), { from: epochMs(s.at(0) + 1), to: s.at(2) })
    assert.equal((await s.claimLive(await s.addWorker())).executionId, executionId)
    assert.equal(await releaseOf(s, job), 0)
  })

  test(`${name}: an owed slot goes to the lane and priority of its order`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 1)
    const lane = await s.addTenant(1)
    await s.maintenance.release([job.jobId], (one, keys) => s.orderOf(one, keys, { lane, priority: 8 }))
    const [claimed] = (await s.claim(await s.addWorker(), 9, lane)).live
    assert.deepEqual([claimed!.slot, claimed!.rank], [s.at(1), rankOf(claimed!.enqueuedAt, 8)])
  })
}

function testOwedRecords(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a range in which the schedule has no slot is owed no longer`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule: { type: 'CRON', cron_expression: '0 0 1 1 *' } })
    await s.fire(job, 0, { owedTo: s.at(2) })
    await s.runAll()
    assert.equal(await releaseOf(s, job), 0)
    assert.equal(await s.owedBy(job), null)
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
  })

  test(`${name}: owed slots that have their record are passed over`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    await s.fire(job, 1)
    await s.runAll()
    const skipped = missed({ from: s.at(3), to: s.at(4), count: 2 })
    await s.fire(job, 0, { late: true, owedTo: s.at(6), skipped })
    await s.runAll()
    assert.deepEqual((await s.look(job)).owedDecided, [
      { from: s.at(1), to: s.at(1) },
      { from: s.at(3), to: s.at(4) },
    ])
    assert.equal(await releaseOf(s, job), 3)
    const { live } = await s.claim(await s.addWorker())
    assert.deepEqual(live.map(({ slot }) => slot).toSorted(), [s.at(2), s.at(5), s.at(6)])
  })

  test(`${name}: an owed slot runs once though it is released again and again`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 3)
    for (const second of [1, 2, 3]) {
      const released = await Promise.all([1, 2, 3].map(() => releaseOf(s, job)))
      assert.equal(
        released.reduce((a, b) => a + b),
        1,
      )
      const workerId = await s.addWorker()
      const claimed = await s.claimLive(workerId)
      assert.equal(claimed.slot, s.at(second))
      await s.finishLive(workerId, claimed, s.succeeded())
    }
    assert.equal(await releaseOf(s, job), 0)
    assert.equal((await s.list(job)).total, 4)
  })

  test(`${name}: slots owed from the first slot on are released from there`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.trigger(job)
    assert.equal(await s.tryFire(job, 1, { late: true, owedTo: s.at(3) }), 'deferred')
    await s.runAll()
    assert.equal(await releaseOf(s, job), 1)
    assert.deepEqual(await s.owedBy(job), { from: s.at(2), to: s.at(3) })
    assert.equal((await s.claimLive(await s.addWorker())).slot, s.at(1))
  })

  test(`${name}: owed slots that an exclusion holds are recorded as such, and the others run`, async (t) => {
    const s = await setup(t)
    const exclusions = [{ from: toRfc3339(s.at(2)), to: toRfc3339(s.at(5)) }]
    const schedule = { type: 'CRON', cron_expression: '* * * * * *', exclusions } as const
    const job = await s.createJob({ schedule })
    await s.fire(job, 0, { late: true, owedTo: s.at(6) })
    for (const left of [5, 6, null, null]) {
      await s.runAll()
      await s.release(job)
      assert.equal((await s.owedBy(job))?.from ?? null, left === null ? null : s.at(left))
    }
    assert.deepEqual(await s.skipsOf(job), [{ from: s.at(2), to: s.at(4), count: 3, reason: 'exclusion' }])
    const { executions } = await s.list(job)
    assert.deepEqual(
      executions.map(({ slot }) => slot),
      [6, 5, 1, 0].map((second) => s.at(second)),
    )
  })
}
