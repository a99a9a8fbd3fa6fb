// Conformance of the slots port for slots that cannot simply fire: skipped because of overlap, misfired, or owed.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { partitionOf } from '../../../src/domain/jobs/job.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { completeAll } from '../queue/held.ts'
import { UNDER_WAY } from '../queue/under-way.ts'
import { allHeld, missed } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

export function testLateSlots(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testOverlap(name, setup)
  testSkips(name, setup)
  testOwed(name, setup)
}

function testOverlap(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  for (const { how, begin } of UNDER_WAY) {
    test(`${name}: a slot is skipped while an execution ${how}`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      assert.equal(await s.tryFire(job, 1), 'overlap')
      assert.equal((await s.list(job)).total, 1)
      assert.deepEqual(await s.skipsOf(job), [{ from: s.at(1), to: s.at(1), count: 1, reason: 'overlap' }])
      assert.equal(await s.tryFire(job, 1), 'already_recorded')
    })

    test(`${name}: slots go on being skipped while an execution ${how}, and fire when it has ended`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      for (const second of [1, 2, 3]) assert.equal(await s.tryFire(job, second), 'overlap')
      await s.maintenance.wake(10)
      for (const lease of await s.maintenance.watch()) await s.maintenance.reclaim(lease)
      await s.runAll()
      await completeAll(s, job)
      assert.equal((await s.list(job, { status: 'SUCCEEDED' })).total, 1)
      assert.equal(await s.tryFire(job, 4), 'fired')
    })
  }

  test(`${name}: a scheduler that knows of a recorded slot learns of later ones too, and of executions running from before it`, async (t) => {
    const s = await setup(t)
    const [one, two, three] = [await s.createJob(), await s.createJob(), await s.createJob()]
    // The known one runs; another scheduler has fired since; a day lies between.
    await s.fire(one, 1)
    assert.equal(await s.tryFire(one, 2, { recordedAt: s.at(1) }), 'overlap')
    await s.fire(two, 0)
    await s.runAll()
    await s.fire(two, 2)
    assert.equal(await s.tryFire(two, 3, { recordedAt: s.at(0) }), 'overlap')
    await s.fire(three, -86_400)
    assert.equal(await s.tryFire(three, 1, { recordedAt: s.at(-86_400) }), 'overlap')
  })

  test(`${name}: a slot is skipped behind a trigger that waits`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.trigger(job)
    await s.runAll()
    assert.equal(await s.tryFire(job, 1), 'overlap')
  })

  test(`${name}: other jobs in the same batch do not stand in the way`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await s.createJob(), await s.createJob()]
    await s.fireBatch([one, two], 0)
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    const slow = { position: 0, ending: s.running() } as const
    const done = { position: 1, ending: s.succeeded() }
    const { batchId, fence } = batch
    assert.deepEqual(
      await s.queue.finishBatches(workerId, [{ batchId, fence, endings: [slow, done] }]),
      allHeld,
    )
    assert.equal(await s.tryFire(one, 1), 'overlap')
    assert.equal(await s.tryFire(two, 1), 'fired')
  })

  test(`${name}: an execution that was claimed out of its batch and ended is not in the way`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await s.createJob(), await s.createJob()]
    await s.fireBatch([one, two], 0)
    const workerId = await s.addWorker()
    const { live } = await s.claim(workerId, 1)
    assert.equal(await s.tryFire(one, 1), 'overlap')
    await s.finishLive(workerId, live[0]!, s.succeeded())
    assert.equal(await s.tryFire(two, 1), 'overlap')
    assert.equal(await s.tryFire(one, 2), 'fired')
  })

  test(`${name}: a skipped slot moves the cursor`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const move = { slotAt: s.at(60), dueAt: s.at(60), decidedTo: s.at(59) }
    assert.equal(await s.tryFire(job, 1, { move }), 'overlap')
    assert.equal((await s.jobs.get(job.tenantId, job.jobId))!.slotAt, s.at(60))
  })
}

function testSkips(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: slots skipped one after the other are one range`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    for (const second of [1, 2, 3]) {
      assert.equal(await s.tryFire(job, second, { previousSlot: s.at(second - 1) }), 'overlap')
    }
    assert.deepEqual(await s.skipsOf(job), [{ from: s.at(1), to: s.at(3), count: 3, reason: 'overlap' }])
  })

  test(`${name}: slots skipped with a run between them are two ranges`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 1, { previousSlot: s.at(0) }), 'overlap')
    await s.runAll()
    await s.fire(job, 2, { previousSlot: s.at(1) })
    assert.equal(await s.tryFire(job, 3, { previousSlot: s.at(2) }), 'overlap')
    assert.deepEqual(await s.skipsOf(job), [
      { from: s.at(3), to: s.at(3), count: 1, reason: 'overlap' },
      { from: s.at(1), to: s.at(1), count: 1, reason: 'overlap' },
    ])
  })

  test(`${name}: a range of skips is never continued for another job or another reason`, async (t) => {
    const s = await setup(t)
    const [job, other] = [await s.createJob(), await s.createJob()]
    await s.fire(other, 1, { skipped: missed({ from: s.at(-9), to: s.at(0), count: 10 }) })
    assert.equal(await s.tryFire(other, 2, { previousSlot: s.at(0) }), 'overlap')
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 3, { previousSlot: s.at(2) }), 'overlap')
    assert.deepEqual(await s.skipsOf(job), [{ from: s.at(3), to: s.at(3), count: 1, reason: 'overlap' }])
    assert.deepEqual(await s.skipsOf(other), [
      { from: s.at(2), to: s.at(2), count: 1, reason: 'overlap' },
      { from: s.at(-9), to: s.at(0), count: 10, reason: 'misfire' },
    ])
  })

  test(`${name}: misfired slots are recorded with the slot that runs for them`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 5, { late: true, skipped: missed({ from: s.at(0), to: s.at(4), count: 5 }) })
    assert.deepEqual(await s.skipsOf(job), [{ from: s.at(0), to: s.at(4), count: 5, reason: 'misfire' }])
    assert.equal((await s.list(job)).total, 1)
  })

  test(`${name}: misfired slots are recorded also when the slot is skipped, owed or has its record`, async (t) => {
    const s = await setup(t)
    const misfired = { from: s.at(1), to: s.at(4), count: 4 }
    const cases = [
      { second: 5, late: false, answer: 'overlap' },
      { second: 5, late: true, answer: 'deferred' },
      { second: 0, late: true, answer: 'already_recorded' },
    ]
    for (const { second, late, answer } of cases) {
      const job = await s.createJob()
      await s.fire(job, 0)
      assert.equal(await s.tryFire(job, second, { late, skipped: missed(misfired) }), answer)
      const skips = await s.skipsOf(job)
      assert.deepEqual(
        skips!.filter(({ reason }) => reason === 'misfire'),
        [{ ...misfired, reason: 'misfire' }],
      )
    }
  })

  test(`${name}: a slot too old to run is recorded once as the last of the misfired ones`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const misfired = { from: s.at(0), to: s.at(5), count: 6 }
    const move = { slotAt: s.at(6), dueAt: s.at(6), decidedTo: s.at(5) }
    assert.equal(await s.tryFire(job, 5, { skipped: missed(misfired), skip: 'misfire', move }), 'misfire')
    assert.equal(
      await s.tryFire(job, 5, { skipped: missed(misfired), skip: 'misfire', move }),
      'already_recorded',
    )
    assert.deepEqual(await s.skipsOf(job), [{ ...misfired, reason: 'misfire' }])
    const { lastRunAt, slotAt } = (await s.jobs.get(job.tenantId, job.jobId))!
    assert.deepEqual([lastRunAt, slotAt, (await s.list(job)).total], [null, s.at(6), 0])
    assert.equal(await s.tryFire(job, 6), 'fired')
  })

  test(`${name}: a slot too old to run hides nothing that is under way`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const misfired = { from: s.at(1), to: s.at(5), count: 5 }
    assert.equal(await s.tryFire(job, 5, { skipped: missed(misfired), skip: 'misfire' }), 'misfire')
    assert.equal(await s.tryFire(job, 5), 'already_recorded')
    assert.equal(await s.tryFire(job, 6), 'overlap')
  })

  test(`${name}: misfired slots are not recorded from a stale copy, nor twice`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const misfired = { from: s.at(0), to: s.at(4), count: 5 }
    assert.equal(await s.tryFire(job, 5, { version: 2, skipped: missed(misfired) }), 'stale')
    assert.deepEqual(await s.skipsOf(job), [])
    const move = { slotAt: s.at(6), dueAt: s.at(6), decidedTo: s.at(5) }
    await s.fire(job, 5, { skipped: missed(misfired), move })
    assert.equal(await s.tryFire(job, 5, { skipped: missed(misfired), move }), 'already_recorded')
    assert.equal((await s.skipsOf(job))!.length, 1)
  })
}

function testOwed(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  for (const { how, begin } of UNDER_WAY) {
    test(`${name}: a late slot is owed, not skipped, while an execution ${how}`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await begin(s, job)
      const move = { slotAt: s.at(60), dueAt: s.at(60), decidedTo: s.at(1) }
      assert.equal(await s.tryFire(job, 1, { late: true, move }), 'deferred')
      assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(1) })
      assert.deepEqual([await s.skipsOf(job), (await s.list(job)).total], [[], 1])
      assert.equal((await s.jobs.get(job.tenantId, job.jobId))!.slotAt, s.at(60))
    })
  }

  test(`${name}: a late slot is owed also while a later slot of its job runs`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 1)
    assert.equal(await s.tryFire(job, 0, { late: true }), 'deferred')
  })

  test(`${name}: a late slot of an idle job fires`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 1, { late: true })
    assert.equal(await s.owedBy(job), null)
  })

  test(`${name}: a late slot that has to wait is owed with the slots after it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 1, { late: true, owedTo: s.at(4) }), 'deferred')
    assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(4) })
  })

  test(`${name}: slots that come late meanwhile are owed too, and the owed range never shrinks`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 1, { late: true, owedTo: s.at(4) }), 'deferred')
    assert.equal(await s.tryFire(job, 6, { late: true }), 'deferred')
    assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(6) })
    assert.equal(await s.tryFire(job, 5, { late: true }), 'deferred')
    assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(6) })
  })

  test(`${name}: the slots after one that fires late are owed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 1, { late: true, owedTo: s.at(4) })
    assert.deepEqual(await s.owedBy(job), { from: epochMs(s.at(1) + 1), to: s.at(4) })
  })

  test(`${name}: a plan of late slots that another scheduler has begun to fire is to be made anew`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const partitionIds = [partitionOf(job.jobId)]
    await s.slots.takeChanges(partitionIds, 10)
    await s.fire(job, 1)
    const move = { slotAt: s.at(5), dueAt: s.at(5), decidedTo: s.at(4) }
    assert.equal(await s.tryFire(job, 1, { late: true, owedTo: s.at(4), move }), 'stale')
    assert.equal(await s.owedBy(job), null)
    const [cursor] = await s.slots.takeChanges(partitionIds, 10)
    assert.deepEqual([cursor!.jobId, cursor!.recordedAt], [job.jobId, s.at(1)])
  })

  test(`${name}: a slot on time is skipped while the job owes slots`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0, { late: true, owedTo: s.at(4) })
    await s.runAll()
    assert.equal(await s.tryFire(job, 5), 'overlap')
    assert.deepEqual(await s.owedBy(job), { from: epochMs(s.at(0) + 1), to: s.at(4) })
  })
}
