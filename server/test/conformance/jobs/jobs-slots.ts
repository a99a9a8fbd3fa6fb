// Conformance of the slots of a job that is changed: each has one record, whether it was owed, late or being fired at
// that moment.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { JobView } from '../../../src/domain/jobs/job.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { missed } from '../scenario.ts'
import { ledgerOf, secondOf } from '../scheduling/ledger.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit, editSchedule, otherSchedule, pause, remove, resume } from './changes.ts'
import { makeActive, oweSlots, takeAllChanges } from './job-states.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testJobsSlots(name: string, setup: Setup): void {
  testSlots(name, setup)
  testResumeAt(name, setup)
}

function testSlots(name: string, setup: Setup): void {
  test(`${name}: a new schedule begins strictly after the edit`, async (t) => {
    const s = await setup(t)
    const job = await makeActive(s)
    const { slotAt, updatedAt, version } = await change(s, job, editSchedule())
    const next = Math.floor(updatedAt / 2_000) * 2_000 + 2_000
    assert.deepEqual([slotAt, version], [next, 2])
    const [cursor] = await takeAllChanges(s)
    const { schedule, anchorAt } = cursor!
    assert.deepEqual([cursor!.slotAt, cursor!.version, schedule], [next, 2, otherSchedule])
    assert.equal(anchorAt, updatedAt)
  })

  test(`${name}: skips are listed under the schedule that they were skipped under`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ status: 'PAUSED' })
    await change(s, job, editSchedule())
    await s.tick()
    await change(s, job, remove)
    const { tenantId, jobId, schedule, anchorAt } = job
    const ranges = await s.slotLedger.listSkips({ tenantId, jobId, from: s.at(0), to: s.at(9_999), limit: 9 })
    const first = ranges!.at(-1)!
    assert.deepEqual([first.version, first.schedule, first.anchorAt], [1, schedule, anchorAt])
    assert.deepEqual([first.from, first.count], [s.at(0), secondOf(s, first.to) + 1])
  })

  test(`${name}: slots skipped before and after an edit are two ranges`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 1, { previousSlot: s.at(0) }), 'overlap')
    await change(s, job, edit({ name: 'renamed' }))
    for (const second of [2, 3]) {
      const item = { version: 2, previousSlot: s.at(second - 1) }
      assert.equal(await s.tryFire(job, second, item), 'overlap')
    }
    const { tenantId, jobId } = job
    const ranges = await s.slotLedger.listSkips({ tenantId, jobId, from: s.at(0), to: s.at(9), limit: 9 })
    assert.deepEqual(
      ranges!.map(({ from, to, count, version }) => [from, to, count, version]),
      [
        [s.at(2), s.at(3), 2, 2],
        [s.at(1), s.at(1), 1, 1],
      ],
    )
  })

  for (const { title, decide, reason } of [
    { title: 'edited', decide: editSchedule(), reason: 'edited' },
    { title: 'paused', decide: pause(), reason: 'paused' },
    { title: 'deleted', decide: remove, reason: 'deleted' },
  ] as const) {
    test(`${name}: slots that a job owes when it is ${title} are skipped, except slots that have a record`, async (t) => {
      const s = await setup(t)
      const { job } = await oweSlots(s)
      const { updatedAt } = await change(s, job, decide)
      assert.equal(await s.owedBy(job), null)
      assert.deepEqual(await ledgerOf(s, job), [
        { from: 0, to: 0, fate: 'fired' },
        { from: 1, to: 4, fate: reason },
        { from: 5, to: 5, fate: 'overlap' },
        { from: 6, to: 8, fate: 'misfire' },
        { from: 9, to: secondOf(s, updatedAt), fate: reason },
      ])
    })
  }

  test(`${name}: slots that ran beside owed slots, while overlap was allowed, are not skipped`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const to = (second: number) => {
      return { slotAt: s.at(second + 1), dueAt: s.at(second + 1), decidedTo: s.at(second) }
    }
    await s.fire(job, 0)
    const first = { late: true, owedTo: s.at(3), move: to(3) }
    assert.equal(await s.tryFire(job, 1, first), 'deferred')
    await change(s, job, edit({ overlapPolicy: 'ALLOW' }))
    for (const second of [4, 5]) {
      const item = { version: 2, overlapPolicy: 'ALLOW' as const, move: to(second) }
      assert.equal(await s.tryFire(job, second, item), 'fired')
    }
    await change(s, job, edit({ overlapPolicy: 'SKIP' }))
    assert.equal(await s.tryFire(job, 6, { version: 3, late: true, move: to(6) }), 'deferred')
    assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(6) })
    const { updatedAt } = await change(s, job, pause())
    assert.deepEqual(await ledgerOf(s, job), [
      { from: 0, to: 0, fate: 'fired' },
      { from: 1, to: 3, fate: 'paused' },
      { from: 4, to: 5, fate: 'fired' },
      { from: 6, to: secondOf(s, updatedAt), fate: 'paused' },
    ])
  })

  test(`${name}: an edit that leaves the schedule alone leaves owed slots alone`, async (t) => {
    const s = await setup(t)
    const { job, workerId, batch } = await oweSlots(s)
    await change(s, job, edit({ name: 'renamed' }))
    assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(10) })
    await s.finishBatch(workerId, batch, s.succeeded())
    assert.equal((await s.release(job)).ready, 1)
    const { slot, version } = await s.claimLive(workerId)
    assert.deepEqual([slot, version], [s.at(1), 2])
  })

  test(`${name}: a late plan from before a change is not carried out`, async (t) => {
    const s = await setup(t)
    for (const decide of [pause(), edit({ name: 'renamed' }), editSchedule(), remove]) {
      const job = await s.createJob()
      const { updatedAt } = await change(s, job, decide)
      const last = secondOf(s, updatedAt)
      const move = { slotAt: s.at(last + 1), dueAt: s.at(last + 1), decidedTo: s.at(last) }
      const skipped = missed({ from: s.at(0), to: s.at(last - 31), count: last - 30 })
      const late = { late: true, skipped, owedTo: s.at(last), move }
      assert.equal(await s.tryFire(job, last - 30, late), 'stale')
    }
  })

  test(`${name}: a late plan from before a pause that is over is made anew`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await change(s, job, pause())
    const { updatedAt } = await change(s, job, resume())
    const last = secondOf(s, updatedAt)
    const next = s.at(last + 2)
    const late = {
      late: true,
      owedTo: s.at(last + 1),
      move: { slotAt: next, dueAt: next, decidedTo: s.at(last + 1) },
    }
    assert.equal(await s.tryFire(job, last - 30, late), 'stale')
    assert.equal(await s.owedBy(job), null)
    assert.deepEqual(await ledgerOf(s, job), [{ from: 0, to: last, fate: 'paused' }])
  })

  test(`${name}: a change and fires that meet leave each slot with one record`, async (t) => {
    const s = await setup(t)
    for (const decide of [pause(), editSchedule(), remove]) {
      const job = await s.createJob()
      const [view, fired] = await Promise.all([change(s, job, decide), fireOn(s, job)])
      const runs = await ledgerOf(s, job)
      assert.equal(runs[0]!.from, 0)
      for (const [n, { from }] of runs.entries()) if (n > 0) assert.equal(from, runs[n - 1]!.to + 1)
      assert.equal(runs.at(-1)!.to, secondOf(s, view.updatedAt))
      assert.equal((await s.list(job)).total, fired)
    }
  })
}

/** Fires slot after slot, as a scheduler does, until the job is no longer as it was. Returns how many fired. */
async function fireOn(s: StoreScenario, job: NewJob): Promise<number> {
  let fired = 0
  for (let second = 0; ; ) {
    const answer = await s.tryFire(job, second, { previousSlot: s.at(second - 1) })
    if (answer === 'stale') return fired
    if (answer === 'fired') fired += 1
    if (answer !== 'busy') second += 1
  }
}

function testResumeAt(name: string, setup: Setup): void {
  test(`${name}: a job resumed as of a moment in the past fires the slots since then, late`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ status: 'PAUSED' })
    const { status, slotAt } = await change(s, job, resume(s.at(590)))
    assert.deepEqual([status, slotAt], ['ACTIVE', s.at(590)])
    assert.deepEqual(await ledgerOf(s, job), [{ from: 0, to: 589, fate: 'paused' }])
    assert.equal(await s.tryFire(job, 589), 'already_recorded')
    assert.equal(await s.tryFire(job, 590, { late: true }), 'fired')
  })

  test(`${name}: a moment in the past that is not on a slot decides nothing after it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ status: 'PAUSED' })
    const { slotAt } = await change(s, job, resume(epochMs(s.at(590) - 1)))
    assert.equal(slotAt, s.at(590))
    assert.deepEqual(await ledgerOf(s, job), [{ from: 0, to: 589, fate: 'paused' }])
  })

  test(`${name}: a moment before the pause gives back nothing that the pause has skipped`, async (t) => {
    const s = await setup(t)
    const job = await makeActive(s)
    const { updatedAt } = await change(s, job, pause())
    const { slotAt } = await change(s, job, resume(s.at(100)))
    assert(slotAt! > updatedAt)
    assert.deepEqual(await ledgerOf(s, job), [
      { from: 0, to: 2, fate: 'fired' },
      { from: 3, to: secondOf(s, updatedAt), fate: 'paused' },
    ])
  })

  test(`${name}: a job with a last slot inside its pause is completed when it is resumed`, async (t) => {
    const s = await setup(t)
    const end_at = new Date(s.at(300)).toISOString()
    const schedule = { type: 'CRON', cron_expression: '* * * * * *', end_at } as const
    const job = await s.createJob({ status: 'PAUSED', schedule })
    const { status, slotAt, pause: none } = await change(s, job, resume())
    assert.deepEqual([status, slotAt, none], ['COMPLETED', null, null])
    assert.deepEqual(await ledgerOf(s, job), [{ from: 0, to: 300, fate: 'paused' }])
  })

  test(`${name}: paused and resumed again and again, each slot is skipped once`, async (t) => {
    const s = await setup(t)
    const job = await makeActive(s)
    let last: JobView | null = null
    for (let i = 0; i < 3; i++) {
      await change(s, job, pause())
      await s.tick()
      last = await change(s, job, resume())
      await s.tick()
    }
    assert.deepEqual(await ledgerOf(s, job), [
      { from: 0, to: 2, fate: 'fired' },
      { from: 3, to: secondOf(s, last!.updatedAt), fate: 'paused' },
    ])
  })
}
