// Conformance: a schedule that counts from the end of the last execution knows its next slot only then.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { toRfc3339 } from '../../../src/lib/time/epoch.ts'
import { change, editSchedule, pause, resume } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { takeNote } from './slots-skips.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testAwaits(name: string, setup: Setup): void {
  const schedule = { type: 'INTERVAL', every_seconds: 60, after_completion: true } as const
  const awaits = (s: StoreScenario, second: number) => ({
    move: { slotAt: null, dueAt: null, decidedTo: s.at(second), awaits: true },
  })
  const secondsAfter = (s: StoreScenario, second: number) => ({ slotAt: s.at(second), dueAt: s.at(second) })

  test(`${name}: a job that awaits the end of its execution has no slot until then`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.fire(job, 0, awaits(s, 0))
    const { status, slotAt } = (await s.jobs.get(job.tenantId, job.jobId))!
    assert.deepEqual([status, slotAt], ['ACTIVE', null])
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [job.jobId])
    const turns = { tenants: 2, each: 2 }
    const inTurn = { jobIds: [job.jobId], last: null }
    assert.deepEqual(await s.maintenance.findWaitingOfTenants(null, turns), inTurn)
    assert.deepEqual((await s.look(job)).awaits, { endedAt: null })
    assert.equal((await s.release(job)).planned, false)
    assert.equal(await takeNote(s, job), null)
    await s.runAll()
    assert.deepEqual((await s.look(job)).awaits, { endedAt: s.at(301) })
    assert.deepEqual(await s.release(job), { ready: 0, cancelled: false, planned: true, more: false })
    const { slotAt: next, dueAt } = (await takeNote(s, job))!
    assert.deepEqual({ slotAt: next, dueAt }, secondsAfter(s, 361))
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
    assert.equal((await s.look(job)).awaits, null)
  })

  test(`${name}: an edit of the interval while it is under way holds from its end on`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.fire(job, 0, awaits(s, 0))
    const edited = await change(s, job, editSchedule({ ...schedule, every_seconds: 90 }))
    assert.deepEqual([edited.status, edited.slotAt], ['ACTIVE', null])
    assert.equal((await s.release(job)).planned, false)
    const before = await s.now()
    await s.runAll()
    assert.equal((await s.release(job)).planned, true)
    const { slotAt } = (await s.jobs.get(job.tenantId, job.jobId))!
    assert(slotAt !== null && slotAt >= before + 90_000 - 1_000, `${slotAt}`)
    const toGrid = await change(s, job, editSchedule())
    assert.notEqual(toGrid.slotAt, null)
  })

  test(`${name}: the next slot awaits the last attempt`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.fire(job, 0, awaits(s, 0))
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    assert.deepEqual((await s.look(job)).awaits, { endedAt: null })
    await s.maintenance.wake(10)
    await s.finishLive(workerId, await s.claimLive(workerId), s.died({ finishedAt: s.at(400) }))
    assert.deepEqual((await s.look(job)).awaits, { endedAt: s.at(400) })
  })

  test(`${name}: when no slot is left after the end the job is completed`, async (t) => {
    const s = await setup(t)
    const bounded = { ...schedule, end_at: toRfc3339(s.at(310)) }
    const job = await s.createJob({ schedule: bounded })
    await s.fire(job, 0, awaits(s, 0))
    await s.runAll()
    assert.equal((await s.release(job)).planned, false)
    const { status, slotAt } = (await s.jobs.get(job.tenantId, job.jobId))!
    assert.deepEqual([status, slotAt], ['COMPLETED', null])
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
  })

  test(`${name}: after a slot that was skipped the next one comes later, though nothing ended since`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.fire(job, 0, awaits(s, 0))
    await s.runAll()
    await s.release(job)
    await s.trigger(job)
    await takeNote(s, job)
    assert.equal(await s.tryFire(job, 500, awaits(s, 500)), 'overlap')
    assert.equal((await s.release(job)).planned, true)
    assert((await takeNote(s, job))!.slotAt > s.at(500))
  })

  test(`${name}: an owed slot comes first, and then the end of its execution is awaited`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.trigger(job)
    assert.equal(await s.tryFire(job, 0, { late: true, ...awaits(s, 0) }), 'deferred')
    assert.deepEqual((await s.look(job)).awaits, { endedAt: null })
    await s.runAll()
    assert.deepEqual(await s.release(job), { ready: 1, cancelled: false, planned: false, more: false })
    assert.deepEqual((await s.look(job)).awaits, { endedAt: null })
    await s.runAll()
    assert.equal((await s.release(job)).planned, true)
    assert.equal((await takeNote(s, job))!.slotAt, s.at(361))
  })

  test(`${name}: while it is paused nothing is planned`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.fire(job, 0, awaits(s, 0))
    await change(s, job, pause())
    await s.runAll()
    assert.equal((await s.look(job)).awaits, null)
    assert.equal((await s.release(job)).planned, false)
    const resumedAt = await s.now()
    await change(s, job, resume())
    assert.equal((await s.release(job)).planned, true)
    assert((await takeNote(s, job))!.slotAt > resumedAt, 'none of the time of the pause')
  })
}
