// Conformance: slots that are skipped for an exclusion, several ranges at once, calendars that change, and schedules with
// `max_runs`.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { OVERLAP_POLICIES } from '@carillon/contract/constants.ts'
import { partitionOf } from '../../../src/domain/jobs/job.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change, edit } from '../jobs/changes.ts'
import { missed } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testSkips(name: string, setup: Setup): void {
  testExclusions(name, setup)
  testRanges(name, setup)
  testCalendars(name, setup)
  testMaxRuns(name, setup)
}

/** Takes the note that the job changed, if there is one. */
export async function takeNote(s: StoreScenario, { jobId }: NewJob) {
  const cursors = await s.slots.takeChanges([partitionOf(jobId)], 100)
  return cursors.find((cursor) => cursor.jobId === jobId) ?? null
}

function testExclusions(name: string, setup: Setup): void {
  for (const overlapPolicy of OVERLAP_POLICIES) {
    test(`${name}: ${overlapPolicy}: excluded slots are one range, and nothing of them runs`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy })
      for (const second of [0, 1, 2]) {
        const answer = await s.tryFire(job, second, { skip: 'exclusion', previousSlot: s.at(second - 1) })
        assert.equal(answer, 'exclusion')
      }
      assert.equal(await s.tryFire(job, 2, { skip: 'exclusion', previousSlot: s.at(1) }), 'already_recorded')
      assert.deepEqual(await s.skipsOf(job), [{ from: s.at(0), to: s.at(2), count: 3, reason: 'exclusion' }])
      assert.equal((await s.list(job)).total, 0)
      assert.equal((await s.jobs.get(job.tenantId, job.jobId))!.lastRunAt, null)
      assert.equal(await s.tryFire(job, 3, { previousSlot: s.at(2) }), 'fired')
    })
  }

  for (const reason of ['misfire', 'exclusion'] as const) {
    test(`${name}: a recorded slot that the scheduler does not know of is not put into a range of ${reason} too`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      await s.fire(job, 0)
      await s.runAll()
      for (const second of [1, 2])
        await s.tryFire(job, second, { skip: 'exclusion', previousSlot: s.at(second - 1) })
      const before = await s.skipsOf(job)
      for (const second of [0, 2]) {
        // Tried again, late by now: the range that would end with it is that slot alone.
        const skipped = [{ from: s.at(second), to: s.at(second), count: 1, reason }]
        assert.equal(await s.tryFire(job, second, { skip: reason, skipped }), 'already_recorded')
      }
      assert.deepEqual(await s.skipsOf(job), before)
    })
  }

  test(`${name}: a range of excluded slots ends where a slot ran, was skipped otherwise or the version is new`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const exclude = (second: number, changes = {}) =>
      s.tryFire(job, second, { skip: 'exclusion', previousSlot: s.at(second - 1), ...changes })
    await exclude(0)
    await s.fire(job, 1, { previousSlot: s.at(0) })
    await exclude(2)
    assert.equal(await s.tryFire(job, 3, { previousSlot: s.at(2) }), 'overlap')
    await exclude(4)
    await change(s, job, edit({ name: 'renamed' }))
    await exclude(5, { version: 2 })
    await exclude(6, { version: 2 })
    const ranges = (await s.skipsOf(job))!.map(({ from, to, reason }) => [from, to, reason])
    assert.deepEqual(ranges, [
      [s.at(5), s.at(6), 'exclusion'],
      [s.at(4), s.at(4), 'exclusion'],
      [s.at(3), s.at(3), 'overlap'],
      [s.at(2), s.at(2), 'exclusion'],
      [s.at(0), s.at(0), 'exclusion'],
    ])
  })

  test(`${name}: an excluded slot hides nothing that is under way`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 1, { skip: 'exclusion', previousSlot: s.at(0) }), 'exclusion')
    assert.equal(await s.tryFire(job, 2), 'overlap')
    await s.runAll()
    assert.equal(await s.tryFire(job, 3), 'fired')
  })
}

function testRanges(name: string, setup: Setup): void {
  const several = (s: StoreScenario) =>
    [
      { from: s.at(0), to: s.at(2), count: 3, reason: 'misfire' },
      { from: s.at(3), to: s.at(4), count: 2, reason: 'exclusion' },
      { from: s.at(5), to: s.at(5), count: 1, reason: 'misfire' },
    ] as const

  test(`${name}: ranges of several reasons are recorded with the slot that runs after them`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 6, { late: true, skipped: several(s) })
    assert.deepEqual(await s.skipsOf(job), several(s).toReversed())
    assert.equal((await s.list(job)).total, 1)
  })

  test(`${name}: ranges are recorded however the slot is answered, unless it is not decided`, async (t) => {
    const s = await setup(t)
    const skipped = missed({ from: s.at(1), to: s.at(3), count: 3 })
    const policies = {
      overlap: 'SKIP',
      buffered: 'BUFFER_ONE',
      deferred: 'SKIP',
      stale: 'SKIP',
      early: 'SKIP',
    } as const
    const changes = {
      overlap: {},
      buffered: {},
      deferred: { late: true },
      stale: { version: 7 },
      early: { dueAt: s.at(86_400) },
    }
    for (const answer of ['overlap', 'buffered', 'deferred', 'stale', 'early'] as const) {
      const job = await s.createJob({ overlapPolicy: policies[answer] })
      await s.fire(job, 0)
      assert.equal(await s.tryFire(job, 4, { skipped, ...changes[answer] }), answer)
      const misfired = (await s.skipsOf(job))!.filter(({ reason }) => reason === 'misfire')
      assert.equal(misfired.length, answer === 'stale' || answer === 'early' ? 0 : 1, answer)
    }
  })

  for (const skip of ['misfire', 'exclusion'] as const) {
    test(`${name}: a slot that ends a range of ${skip}s is counted once`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      const skipped = [
        { from: s.at(0), to: s.at(1), count: 2, reason: skip === 'misfire' ? 'exclusion' : 'misfire' },
        { from: s.at(2), to: s.at(4), count: 3, reason: skip },
      ] as const
      const move = { slotAt: s.at(5), dueAt: s.at(5), decidedTo: s.at(4) }
      assert.equal(await s.tryFire(job, 4, { skipped, skip, previousSlot: s.at(3), move }), skip)
      assert.deepEqual(await s.skipsOf(job), skipped.toReversed())
      assert.equal((await s.jobs.get(job.tenantId, job.jobId))!.slotAt, s.at(5))
    })
  }
}

function testCalendars(name: string, setup: Setup): void {
  const exclusions = [{ calendar: 'holidays' }, { calendar: 'fairs' }]
  const schedule = { type: 'CRON' as const, cron_expression: '* * * * * *', exclusions }
  const names = ['fairs', 'holidays']

  async function put(s: StoreScenario, tenantId: string, calendar: string, day: string): Promise<void> {
    const entries = [{ date: day }]
    await s.calendars.put({ tenantId, name: calendar, description: null, entries, by: 'tester' })
  }

  test(`${name}: a cursor carries the contents of its calendars, and a missing calendar is empty`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    const none = { entries: { fairs: [], holidays: [] }, revision: 0 }
    assert.deepEqual((await takeNote(s, job))!.calendars, none)
    await put(s, job.tenantId, 'holidays', '2026-12-25')
    const { calendars } = (await takeNote(s, job))!
    assert.deepEqual(calendars, { entries: { fairs: [], holidays: [{ date: '2026-12-25' }] }, revision: 1 })
    assert.deepEqual((await s.look(job)).calendars, calendars!.entries)
  })

  test(`${name}: a slot that was planned with other calendars is planned anew`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    const { tenantId } = job
    await put(s, tenantId, 'holidays', '2026-12-25')
    await takeNote(s, job)
    assert.equal(await s.tryFire(job, 0, { calendars: { names, revision: 0 } }), 'stale')
    assert.equal((await takeNote(s, job))!.calendars!.revision, 1, 'whoever planned it reads it again')
    assert.equal(await s.tryFire(job, 0, { calendars: { names, revision: 1 } }), 'fired')
    await s.runAll()
    await put(s, tenantId, 'holidays', '2026-12-26')
    await put(s, tenantId, 'fairs', '2026-12-27')
    assert.equal(await s.tryFire(job, 1, { calendars: { names, revision: 1 } }), 'stale')
    assert.deepEqual([(await s.list(job)).total, await s.skipsOf(job)], [1, []])
    assert.equal(await s.tryFire(job, 1, { calendars: { names, revision: 3 } }), 'fired')
  })

  test(`${name}: calendars of another tenant, or others of the own, change nothing`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await put(s, await s.addTenant(1), 'holidays', '2026-12-25')
    await put(s, job.tenantId, 'birthdays', '2026-12-25')
    assert.equal(await s.tryFire(job, 0, { calendars: { names, revision: 0 } }), 'fired')
  })
}

function testMaxRuns(name: string, setup: Setup): void {
  const schedule = { type: 'CRON', cron_expression: '* * * * * *', max_runs: 3 } as const
  const moveTo = (s: StoreScenario, second: number) => ({
    slotAt: s.at(second),
    dueAt: s.at(second),
    decidedTo: s.at(second - 1),
  })
  const once = { runs: { max: 3, count: 1 } }

  test(`${name}: slots that run are counted, and with the last run the job is completed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule, overlapPolicy: 'BUFFER_ALL' })
    const { tenantId, jobId } = job
    const answers = []
    for (const second of [0, 1, 2]) {
      answers.push(await s.tryFire(job, second, { ...once, move: moveTo(s, second + 1) }))
      const { runs, status, slotAt } = (await s.jobs.get(tenantId, jobId))!
      const isOver = second === 2
      const expected = [second + 1, isOver ? 'COMPLETED' : 'ACTIVE', isOver ? null : s.at(second + 1)]
      assert.deepEqual([runs, status, slotAt], expected)
    }
    assert.deepEqual(answers, ['fired', 'buffered', 'buffered'])
    assert.equal(await s.tryFire(job, 3, once), 'stale')
  })

  test(`${name}: skipped slots are not counted`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.fire(job, 0, { ...once, move: moveTo(s, 1) })
    assert.equal(await s.tryFire(job, 1, { ...once, move: moveTo(s, 2) }), 'overlap')
    const none = { runs: { max: 3, count: 0 } }
    assert.equal(await s.tryFire(job, 2, { ...none, skip: 'exclusion', move: moveTo(s, 3) }), 'exclusion')
    const { runs, status, slotAt } = (await s.jobs.get(job.tenantId, job.jobId))!
    assert.deepEqual([runs, status, slotAt], [1, 'ACTIVE', s.at(3)])
    assert.equal((await s.slots.load(everything(s))).find((one) => one.jobId === job.jobId)!.runs, 1)
  })

  test(`${name}: owed slots are counted when they are owed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.trigger(job)
    const owes = { late: true, owedTo: s.at(2), runs: { max: 3, count: 3 }, move: moveTo(s, 3) }
    assert.equal(await s.tryFire(job, 0, owes), 'deferred')
    const { runs, status } = (await s.jobs.get(job.tenantId, job.jobId))!
    assert.deepEqual([runs, status, await s.owedBy(job)], [3, 'COMPLETED', { from: s.at(0), to: s.at(2) }])
    for (let i = 0; i < 3; i++) {
      await s.runAll()
      assert.equal((await s.release(job)).ready, 1)
    }
    assert.equal(await s.owedBy(job), null)
  })

  test(`${name}: more than are left do not fire: the job is planned anew`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule })
    await s.fire(job, 0, { ...once, move: moveTo(s, 1) })
    await s.runAll()
    await takeNote(s, job)
    const skipped = missed({ from: s.at(1), to: s.at(1), count: 1 })
    const many = { late: true, skipped, owedTo: s.at(4), runs: { max: 3, count: 3 }, move: moveTo(s, 5) }
    assert.equal(await s.tryFire(job, 2, many), 'stale')
    assert.equal((await takeNote(s, job))!.runs, 1)
    assert.deepEqual([await s.skipsOf(job), await s.owedBy(job)], [[], null])
  })

  test(`${name}: of a job with a limit of runs one slot is decided in a fire, though overlap is allowed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ schedule, overlapPolicy: 'ALLOW' })
    const items = [s.slotOf(job, 0, { ...once, move: moveTo(s, 1) }), s.slotOf(job, 1, once)]
    assert.deepEqual(await s.slots.fire(items), [{ jobId: job.jobId, slot: s.at(1), answer: 'busy' }])
    assert.equal((await s.jobs.get(job.tenantId, job.jobId))!.runs, 1)
  })
}

function everything(s: StoreScenario) {
  const partitions = Array.from({ length: 64 }, (_, partitionId) => ({ partitionId, after: null }))
  return { partitions, dueBefore: s.at(3_600), limit: 100 }
}
