// Conformance of the job versions port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { compileStored } from '../../../src/domain/schedule/compile-schedule.ts'
import { nextSlot } from '../../../src/domain/schedule/next-run.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { ClockRuleMover } from '../../../src/maintenance/move-clock-rule.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { leanPage } from '../../../src/ports/pages.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit, pause, remove } from './changes.ts'

export function testJobVersions(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: every version is kept as it was, with its author and time`, async (t) => {
    const s = await setup(t)
    const made = await s.createJob({ name: 'first' })
    const { tenantId, jobId, createdAt } = made
    const before = await s.now()
    await change(s, made, edit({ name: 'second' }))
    // Of the job and not of a version of it.
    await change(s, made, pause())
    await change(s, made, edit({ name: 'third', tags: ['a'] }))
    const page = await s.jobVersions.list({ tenantId, jobId, before: null, limit: 10, ...leanPage })
    assert.deepEqual(
      page!.versions.map(({ job, createdBy }) => [job.version, job.name, job.tags, createdBy]),
      [
        [3, 'third', ['a'], 'editor'],
        [2, 'second', [], 'editor'],
        [1, 'first', [], 'tester'],
      ],
    )
    const [third, , first] = page!.versions
    assert.equal(first!.createdAt, createdAt)
    assert(third!.createdAt! >= before && third!.createdAt! <= (await s.now()))
    assert.deepEqual([page!.more, page!.total], [false, 3])
  })

  test(`${name}: versions come in pages, the latest first`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const { tenantId, jobId } = job
    for (const one of ['b', 'c', 'd']) await change(s, job, edit({ name: one }))
    const page = (before: number | null) =>
      s.jobVersions.list({ tenantId, jobId, before, limit: 2, ...leanPage })
    const numbersOf = (one: Awaited<ReturnType<typeof page>>) => one!.versions.map((each) => each.job.version)
    const first = await page(null)
    assert.deepEqual([numbersOf(first), first!.more, first!.total], [[4, 3], true, 4])
    const second = await page(3)
    assert.deepEqual([numbersOf(second), second!.more], [[2, 1], false])
  })

  test(`${name}: a job that is not there, or another tenant's, has none`, async (t) => {
    const s = await setup(t)
    const { tenantId, jobId } = await s.createJob()
    const list = (of: string, id: string) =>
      s.jobVersions.list({ tenantId: of, jobId: id, before: null, limit: 10, ...leanPage })
    assert.equal(await list(tenantId, s.ids.next()), null)
    assert.equal(await list(await s.addTenant(1), jobId), null)
  })

  test(`${name}: versions of an older program are found until they are settled, in order and in pages`, async (t) => {
    const s = await setup(t)
    const schedule = { type: 'CRON', cron_expression: '*/15 2 * * *', timezone: 'Europe/Berlin' } as const
    const older = { schedule, impliedDst: null }
    const jobs = [await s.createJob(older), await s.createJob(older), await s.createJob(older)]
    jobs.sort((a, b) => (a.jobId < b.jobId ? -1 : 1))
    const [edited, paused, deleted] = jobs as [NewJob, NewJob, NewJob]
    await change(s, edited, edit({ name: 'again', impliedDst: null }))
    await change(s, paused, pause())
    await change(s, deleted, remove)
    // A program that spells out its choices writes none of these, and no rule touches UTC.
    await s.createJob({ schedule, impliedDst: [] })
    await s.createJob({ schedule: { ...schedule, timezone: 'UTC' }, impliedDst: null })
    await s.createJob({ schedule: { ...schedule, cron_expression: '30 2 * * *' }, impliedDst: null })
    const all = await s.jobVersions.findOlder(null, 10)
    assert.deepEqual(
      all.map(({ tenantId, jobId, version, isInUse }) => [tenantId, jobId, version, isInUse]),
      [
        [edited.tenantId, edited.jobId, 1, false],
        [edited.tenantId, edited.jobId, 2, true],
        [paused.tenantId, paused.jobId, 1, true],
        [deleted.tenantId, deleted.jobId, 1, false],
      ],
    )
    assert.deepEqual(await s.jobVersions.findOlder(null, 2), all.slice(0, 2))
    assert.deepEqual(await s.jobVersions.findOlder(all[1]!, 10), all.slice(2))
    await s.jobVersions.settleOlder(all.slice(1))
    await s.jobVersions.settleOlder(all.slice(1))
    assert.deepEqual(await s.jobVersions.findOlder(null, 10), all.slice(0, 1))
    const { versions } = (await s.jobVersions.list({ ...edited, before: null, limit: 10, ...leanPage }))!
    assert.deepEqual(
      versions.map(({ job }) => [job.version, job.impliedDst, job.schedule]),
      [
        [2, [], schedule],
        [1, null, schedule],
      ],
    )
  })

  test(`${name}: the fields that nobody gave are kept with the version`, async (t) => {
    const s = await setup(t)
    const schedule = { type: 'CRON', cron_expression: '*/15 2 * * *', timezone: 'Europe/Berlin' } as const
    const spelled = { ...schedule, dst_gap: 'run_after', dst_fold: 'first' } as const
    const job = await s.createJob({ schedule: spelled, impliedDst: ['dst_gap', 'dst_fold'] })
    const shown = async () => {
      const { schedule: stored, impliedDst } = (await s.jobs.get(job.tenantId, job.jobId))!
      return { stored, impliedDst }
    }
    assert.deepEqual(await shown(), { stored: spelled, impliedDst: ['dst_gap', 'dst_fold'] })
    await change(s, job, edit({ schedule: spelled, impliedDst: ['dst_fold'] }))
    assert.deepEqual(await shown(), { stored: spelled, impliedDst: ['dst_fold'] })
    assert.deepEqual(await s.jobVersions.findOlder(null, 10), [])
  })

  test(`${name}: processes that move a job to the present clock rule at once move it once`, async (t) => {
    const s = await setup(t)
    const schedule = { type: 'CRON', cron_expression: '*/15 2 * * *', timezone: 'Europe/Berlin' } as const
    const slotAt = epochMs((await s.now()) + 7_200_000)
    const older = { schedule, impliedDst: null, slotAt }
    const jobs = [await s.createJob(older), await s.createJob(older)]
    const step = () => new ClockRuleMover({ ...s, onChanged: () => {} }).step()
    await Promise.all([step(), step(), step()])
    for (const job of jobs) {
      const moved = (await s.jobs.get(job.tenantId, job.jobId))!
      assert.deepEqual([moved.version, moved.impliedDst], [2, ['dst_gap', 'dst_fold']])
      assert.equal(moved.slotAt, nextSlot(compileStored(moved)!, moved.updatedAt))
      // A scheduler that still has the slot of the version before in its memory does not fire it.
      const [answer] = await s.slots.fire([s.slotOf(job, 0)])
      assert.equal(answer?.answer, 'stale')
    }
    assert.deepEqual(await s.jobVersions.findOlder(null, 10), [])
  })
}
