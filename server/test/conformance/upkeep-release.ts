// What every implementation of the upkeep port must do with what waits: triggers behind a live execution, owed slots.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../src/domain/lane.ts'
import { rankOf } from '../../src/domain/rank.ts'
import { epochMs } from '../../src/lib/epoch.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { type Scenario, UNDER_WAY } from './scenario.ts'
import type { StoreScenario } from './stores.ts'

/** An order to release the owed slot at a second; the next one is a second later unless said otherwise. */
function orderOwed(s: Scenario, job: NewJob, second: number, next: number | null = second + 1) {
  const executionId = s.ids.nextBatch()
  const place = { executionId, route: 'server', lane: sharedLane, priority: job.priority }
  const owed = { slot: s.at(second), next: next === null ? null : s.at(next), ...place }
  return { executionId, order: { jobId: job.jobId, version: 1, owed } }
}

const orderTrigger = ({ jobId }: NewJob) => ({ jobId, version: 1, owed: null })

export function testRelease(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testFindWaiting(name, setup)
  testTriggers(name, setup)
  testOwed(name, setup)
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
    const first = await s.upkeep.findWaiting(null, 3)
    const rest = await s.upkeep.findWaiting(first.at(-1)!.jobId, 3)
    assert.deepEqual(
      [first.map(({ jobId }) => jobId), rest.map(({ jobId }) => jobId)],
      [expected.slice(0, 3), expected.slice(3)],
    )
    const owed = new Map([...first, ...rest].map((one) => [one.jobId, one.owed]))
    assert.deepEqual(
      jobs.map(({ jobId }) => owed.get(jobId)),
      [null, { from: epochMs(s.at(0) + 1), to: s.at(3) }, { from: epochMs(s.at(0) + 1), to: s.at(4) }, null],
    )
  })

  test(`${name}: a job that waits is found with all that is needed to plan its slots`, async (t) => {
    const s = await setup(t)
    const schedule = { type: 'INTERVAL', every_seconds: 2 } as const
    const job = await s.createJob({ schedule, anchorAt: s.at(-1), priority: 4 })
    await s.fire(job, 0, { owedTo: s.at(3) })
    assert.deepEqual(await s.upkeep.findWaiting(null, 10), [
      {
        jobId: job.jobId,
        version: 1,
        tenantId: job.tenantId,
        priority: 4,
        overlapPolicy: 'SKIP',
        schedule,
        anchorAt: s.at(-1),
        owed: { from: epochMs(s.at(0) + 1), to: s.at(3) },
      },
    ])
  })

  test(`${name}: a job of which nothing waits is not found`, async (t) => {
    const s = await setup(t)
    await s.fire(await s.createJob(), 0)
    await s.trigger(await s.createJob())
    assert.deepEqual(await s.upkeep.findWaiting(null, 10), [])
  })
}

function testTriggers(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  for (const { how, begin } of UNDER_WAY) {
    test(`${name}: a trigger goes on waiting while an execution ${how}`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      await s.trigger(job)
      assert.deepEqual(await s.upkeep.release([orderTrigger(job)]), [])
      assert.equal((await s.upkeep.findWaiting(null, 10)).length, 1)
    })
  }

  test(`${name}: a trigger is let go when the execution before it has ended`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const executionId = await s.trigger(job)
    await s.runAll()
    assert.deepEqual(await s.upkeep.release([orderTrigger(job)]), [job.jobId])
    assert.deepEqual(await s.upkeep.findWaiting(null, 10), [])
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
      assert.deepEqual(await s.upkeep.release([orderTrigger(job)]), [job.jobId])
      assert.deepEqual(await s.upkeep.release([orderTrigger(job)]), [])
      const workerId = await s.addWorker()
      const claimed = await s.claimLive(workerId)
      assert.equal(claimed.executionId, executionId)
      assert.deepEqual(await s.upkeep.release([orderTrigger(job)]), [])
      await s.finishLive(workerId, claimed, s.succeeded())
    }
    assert.deepEqual(await s.upkeep.release([orderTrigger(job)]), [])
  })

  test(`${name}: a trigger keeps its rank while it waits`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const { enqueuedAt } = await s.view(await s.trigger(job))
    await s.runAll()
    await s.upkeep.release([orderTrigger(job)])
    assert.equal((await s.claimLive(await s.addWorker())).enqueuedAt, enqueuedAt)
  })

  test(`${name}: each job is judged on its own`, async (t) => {
    const s = await setup(t)
    const [free, busy] = [await s.createJob(), await s.createJob()]
    await s.fire(free, 0)
    await s.trigger(free)
    await s.runAll()
    await s.fire(busy, 0)
    await s.trigger(busy)
    const unknown = { jobId: s.ids.next(), version: 1, owed: null }
    assert.deepEqual(await s.upkeep.release([orderTrigger(busy), orderTrigger(free), unknown]), [free.jobId])
    assert.deepEqual(await s.upkeep.release([]), [])
  })

  test(`${name}: schedulers that release at the same time let one go`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.trigger(job)
    await s.trigger(job)
    await s.runAll()
    const released = await Promise.all([1, 2, 3].map(() => s.upkeep.release([orderTrigger(job)])))
    assert.deepEqual(released.flat(), [job.jobId])
    assert.equal((await s.claim(await s.addWorker())).live.length, 1)
  })
}

function testOwed(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  /** A job that has run its slot 0 late and owes slots 1 to `to`. */
  async function createOwing(s: Scenario, to: number): Promise<NewJob> {
    const job = await s.createJob()
    await s.fire(job, 0, { late: true, owedTo: s.at(to) })
    await s.runAll()
    return job
  }

  test(`${name}: owed slots run in order, each after the one before has ended`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 2)
    const [one, two] = [orderOwed(s, job, 1), orderOwed(s, job, 2)]
    assert.deepEqual(await s.upkeep.release([one.order]), [job.jobId])
    assert.deepEqual(await s.owedBy(job), { from: s.at(2), to: s.at(2) })
    assert.deepEqual(await s.upkeep.release([two.order]), [])
    const workerId = await s.addWorker()
    const claimed = await s.claimLive(workerId)
    const { executionId, jobId, kind, slot, attempt } = claimed
    assert.deepEqual(
      [executionId, jobId, kind, slot, attempt],
      [one.executionId, job.jobId, 'slot', s.at(1), 1],
    )
    assert.deepEqual(await s.upkeep.release([two.order]), [])
    await s.finishLive(workerId, claimed, s.succeeded())
    assert.deepEqual(await s.upkeep.release([two.order]), [job.jobId])
    assert.equal(await s.owedBy(job), null)
    await s.runAll()
    assert.equal((await s.list(job, { status: 'SUCCEEDED' })).total, 3)
    assert.equal(await s.tryFire(job, 3), 'fired')
  })

  test(`${name}: an owed slot waits for the late slot before it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0, { late: true, owedTo: s.at(2) })
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 1).order]), [])
    await s.runAll()
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 1).order]), [job.jobId])
  })

  test(`${name}: owed slots wait for each other also when slots on time were skipped meanwhile`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 2)
    assert.equal(await s.tryFire(job, 3), 'overlap')
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 1).order]), [job.jobId])
    assert.equal(await s.tryFire(job, 4), 'overlap')
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 2).order]), [])
  })

  test(`${name}: a slot on time is skipped while the last owed one runs`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 1)
    assert.equal(await s.tryFire(job, 3), 'overlap')
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 1).order]), [job.jobId])
    assert.equal(await s.owedBy(job), null)
    assert.equal(await s.tryFire(job, 4), 'overlap')
    await s.claimLive(await s.addWorker())
    assert.equal(await s.tryFire(job, 5), 'overlap')
  })

  test(`${name}: a trigger waits while the last owed slot runs`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 1)
    assert.equal(await s.tryFire(job, 3), 'overlap')
    const { order, executionId } = orderOwed(s, job, 1)
    await s.upkeep.release([order])
    await s.trigger(job)
    assert.deepEqual(await s.upkeep.release([orderTrigger(job)]), [])
    assert.equal((await s.claimLive(await s.addWorker())).executionId, executionId)
  })

  test(`${name}: a waiting trigger goes before owed slots`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 2)
    const executionId = await s.trigger(job)
    const { order } = orderOwed(s, job, 1)
    assert.deepEqual(await s.upkeep.release([order]), [job.jobId])
    assert.deepEqual(await s.owedBy(job), { from: epochMs(s.at(0) + 1), to: s.at(2) })
    assert.equal((await s.claimLive(await s.addWorker())).executionId, executionId)
    assert.deepEqual(await s.upkeep.release([order]), [])
  })

  test(`${name}: what is owed ends with the last slot, or where no slot is left`, async (t) => {
    const s = await setup(t)
    for (const next of [5, null]) {
      const job = await createOwing(s, 4)
      assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 1, next).order]), [job.jobId])
      assert.equal(await s.owedBy(job), null)
      await s.runAll()
    }
  })

  test(`${name}: a slot past the owed range ends it and lets nothing go`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0, { owedTo: s.at(2) })
    await s.runAll()
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 3, 4).order]), [])
    assert.deepEqual(await s.upkeep.findWaiting(null, 10), [])
  })

  test(`${name}: an owed slot that has its record is passed over`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 1)
    await s.runAll()
    await s.fire(job, 0, { late: true, owedTo: s.at(3) })
    await s.runAll()
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 1).order]), [])
    assert.deepEqual(await s.owedBy(job), { from: s.at(2), to: s.at(3) })
    assert.equal((await s.list(job)).total, 2)
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 2).order]), [job.jobId])
  })

  test(`${name}: an order that comes too late, or knows another version, lets nothing go`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 3)
    const { order } = orderOwed(s, job, 1)
    assert.deepEqual(await s.upkeep.release([{ ...order, version: 2 }]), [])
    assert.deepEqual(await s.upkeep.release([orderTrigger(job)]), [])
    assert.deepEqual(await s.upkeep.release([order]), [job.jobId])
    await s.runAll()
    assert.deepEqual(await s.upkeep.release([order]), [])
    assert.deepEqual(await s.owedBy(job), { from: s.at(2), to: s.at(3) })
  })

  test(`${name}: a slot that is not owed is not released`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.trigger(job)
    assert.equal(await s.tryFire(job, 1, { late: true, owedTo: s.at(3) }), 'owed')
    await s.runAll()
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 0).order]), [])
    assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(3) })
    assert.deepEqual(await s.upkeep.release([orderOwed(s, job, 1).order]), [job.jobId])
  })

  test(`${name}: an owed slot goes to the lane and priority of its order`, async (t) => {
    const s = await setup(t)
    const job = await createOwing(s, 1)
    const lane = await s.addTenant(1)
    const { order, executionId } = orderOwed(s, job, 1)
    await s.upkeep.release([{ ...order, owed: { ...order.owed, lane, priority: 8 } }])
    const [claimed] = (await s.claim(await s.addWorker(), 9, lane)).live
    assert.deepEqual([claimed!.executionId, claimed!.rank], [executionId, rankOf(claimed!.enqueuedAt, 8)])
  })
}
