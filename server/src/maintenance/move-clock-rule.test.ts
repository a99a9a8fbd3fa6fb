import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { pauseJob } from '../domain/jobs/job-change.ts'
import { compileStored } from '../domain/schedule/compile-schedule.ts'
import { nextSlot } from '../domain/schedule/next-run.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import { type EpochMs, epochMs, toRfc3339OrNull } from '../lib/time/epoch.ts'
import type { JobVersions } from '../ports/job-versions.ts'
import type { NewJob } from '../ports/jobs.ts'
import { ClockRuleMover } from './move-clock-rule.ts'

const at = (text: string) => epochMs(Date.parse(text))
/** The clock skips 02:00 to 03:00 the night after. */
const beforeGap = '2026-03-07T12:00:00Z'

async function setup(now = beforeGap) {
  const world = createVirtualWorld()
  const { store: _, ...ports } = openMemoryStore(world.clock)
  const { jobs, jobVersions } = ports
  const scenario = await createScenario({
    ...ports,
    ids: world.ids,
    now: async () => world.clock.databaseNow(),
  })
  const goTo = (time: string) => world.advance(at(time) - world.clock.databaseNow())
  await goTo(now)
  const changed: string[] = []
  const deps = { jobs, jobVersions, onChanged: () => void changed.push('changed') }
  /** As a program from before clock rule 2 made it. */
  const createOlder = (cron: string, changes: Partial<NewJob> = {}, timezone = 'America/New_York') => {
    const schedule = { type: 'CRON', cron_expression: cron, timezone } as const
    const compiled = compileStored({ schedule, anchorAt: epochMs(0), jobId: '' })!
    const slotAt = nextSlot(compiled, world.clock.databaseNow())
    return scenario.createJob({ schedule, impliedDst: null, slotAt, ...changes })
  }
  const show = async ({ jobId }: NewJob) => {
    const { version, slotAt, status, updatedBy, impliedDst, schedule } = (await jobs.get(
      defaultTenantId,
      jobId,
    ))!
    const { dst_gap, dst_fold } = schedule
    return { version, slotAt: toRfc3339OrNull(slotAt), status, updatedBy, impliedDst, dst_gap, dst_fold }
  }
  const left = async () => (await jobVersions.findOlder(null, 1_000)).length
  return {
    ...scenario,
    jobs,
    jobVersions,
    deps,
    changed,
    createOlder,
    show,
    left,
    goTo,
    slotLedger: ports.slotLedger,
  }
}

const moved = { version: 2, status: 'ACTIVE', updatedBy: 'carillon', impliedDst: ['dst_gap', 'dst_fold'] }
const spelled = { dst_gap: 'run_after', dst_fold: 'first' }

test('a job that an older program wrote gets a version by the present rule, and its next slot with it', async () => {
  const { deps, createOlder, show, changed, left } = await setup()
  const job = await createOlder('*/15 2 * * *')
  assert.equal((await show(job)).slotAt, '2026-03-09T06:00:00Z')
  const mover = new ClockRuleMover(deps)
  assert.equal(await mover.step(), 'idle')
  assert.deepEqual(await show(job), { ...moved, ...spelled, slotAt: '2026-03-08T07:00:00Z' })
  assert.deepEqual([changed.length, await left()], [1, 0])
  // Again, and by another process: there is nothing left to do.
  assert.equal(await mover.step(), 'idle')
  assert.equal(await new ClockRuleMover(deps).step(), 'idle')
  assert.deepEqual([(await show(job)).version, changed.length], [2, 1])
})

test('a choice that the user made stays, and only the other one is spelled out', async () => {
  const { deps, createOlder, show } = await setup()
  const schedule = { type: 'CRON', cron_expression: '*/15 2 * * *', timezone: 'America/New_York' } as const
  const job = await createOlder('*/15 2 * * *', { schedule: { ...schedule, dst_gap: 'skip' } })
  await new ClockRuleMover(deps).step()
  const { dst_gap, dst_fold, impliedDst, slotAt } = await show(job)
  assert.deepEqual(
    [dst_gap, dst_fold, impliedDst, slotAt],
    ['skip', 'first', ['dst_fold'], '2026-03-09T06:00:00Z'],
  )
})

test('jobs for which the rules do not differ, or that are over, keep their version', async () => {
  const { deps, createOlder, show, changed, left } = await setup()
  const jobs = [
    await createOlder('*/15 * * * *'),
    await createOlder('30 2 * * *'),
    await createOlder('0,30 2 * * *'),
    await createOlder('*/15 2 * * *', {}, 'UTC'),
    await createOlder('*/15 2 * * *', { status: 'COMPLETED', slotAt: null }),
  ]
  await new ClockRuleMover(deps).step()
  for (const job of jobs) assert.equal((await show(job)).version, 1)
  assert.deepEqual([changed, await left()], [[], 0])
})

test('a job with a slot that is due, late or near is left alone until the slot has its record', async () => {
  const { deps, createOlder, show, left, jobs, goTo } = await setup('2026-03-09T05:00:00Z')
  const job = await createOlder('*/15 2 * * *')
  const mover = new ClockRuleMover(deps)
  for (const time of ['2026-03-09T05:59:58Z', '2026-03-09T06:00:00Z', '2026-03-09T06:07:00Z']) {
    await goTo(time)
    assert.equal(await mover.step(), 'idle')
    assert.deepEqual([(await show(job)).version, await left()], [1, 1], time)
  }
  // A scheduler decides it.
  const decidedTo = at('2026-03-09T06:00:00Z')
  await jobs.change({ tenantId: defaultTenantId, jobId: job.jobId }, (state) => {
    const { key, status, runs, pause } = state
    const none = { version: null, skips: [], dropsOwed: false, cancelsPending: false, cancelsRunning: false }
    return {
      by: 'a scheduler',
      key,
      status,
      runs,
      pause,
      slotAt: at('2026-03-09T06:15:00Z'),
      decidedTo,
      ...none,
    }
  })
  await mover.step()
  assert.deepEqual(await show(job), { ...moved, ...spelled, slotAt: '2026-03-09T06:15:00Z' })
})

test('a paused job keeps its pause; its slots so far are skipped by the rule they were planned with', async () => {
  const { deps, createOlder, show, jobs, goTo, slotLedger } = await setup('2026-10-31T12:00:00Z')
  const job = await createOlder('*/30 1 * * *')
  await jobs.change({ tenantId: defaultTenantId, jobId: job.jobId }, (state) => {
    const write = pauseJob(state, { by: 'ann', reason: null, until: null })
    return typeof write === 'string' ? null : write
  })
  // 01:00 and 01:30 come twice that night.
  await goTo('2026-11-01T12:00:00Z')
  await new ClockRuleMover(deps).step()
  assert.deepEqual(await show(job), {
    ...moved,
    ...spelled,
    status: 'PAUSED',
    slotAt: '2026-11-02T06:00:00Z',
  })
  const range = { from: epochMs(0), to: at('2026-11-03T00:00:00Z') as EpochMs }
  const skips = await slotLedger.listSkips({
    tenantId: defaultTenantId,
    jobId: job.jobId,
    ...range,
    limit: 10,
  })
  assert.deepEqual(
    skips!.map(({ reason, count, version }) => [reason, count, version]),
    [['paused', 4, 1]],
  )
})

test('a process that dies between the new version and its note moves no job twice', async () => {
  const { deps, createOlder, show, left } = await setup()
  const job = await createOlder('*/15 2 * * *')
  const jobVersions: Pick<JobVersions, 'findOlder' | 'settleOlder'> = {
    findOlder: (after, limit) => deps.jobVersions.findOlder(after, limit),
    settleOlder: () => Promise.reject(new Error('killed')),
  }
  await assert.rejects(new ClockRuleMover({ ...deps, jobVersions }).step(), /killed/)
  assert.deepEqual([(await show(job)).version, await left()], [2, 1])
  await new ClockRuleMover(deps).step()
  assert.deepEqual([(await show(job)).version, await left()], [2, 0])
})

test('two processes at once move a job once', async () => {
  const { deps, createOlder, show } = await setup()
  const jobs = [await createOlder('*/15 2 * * *'), await createOlder('* 3 * * *')]
  await Promise.all([new ClockRuleMover(deps).step(), new ClockRuleMover(deps).step()])
  for (const job of jobs) assert.equal((await show(job)).version, 2)
})

test('many older versions are visited in bounded steps, also past jobs that have to wait', async () => {
  const { deps, createOlder, left } = await setup('2026-03-09T06:05:00Z')
  const late = at('2026-03-09T06:00:00Z')
  for (let i = 0; i < 130; i++) await createOlder('*/15 2 * * *', { slotAt: late })
  for (let i = 0; i < 30; i++) await createOlder('*/15 2 * * *')
  const mover = new ClockRuleMover(deps)
  assert.equal(await mover.step(), 'more')
  assert.equal(await mover.step(), 'idle')
  assert.equal(await left(), 130)
})

test('a version that an older program writes after the move is found by a later round', async () => {
  const { deps, createOlder, show } = await setup()
  const mover = new ClockRuleMover(deps)
  await mover.step()
  const job = await createOlder('*/15 2 * * *')
  await mover.step()
  assert.equal((await show(job)).version, 2)
})
