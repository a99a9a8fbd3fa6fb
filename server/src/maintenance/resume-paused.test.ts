import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { pauseJob } from '../domain/jobs/job-change.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import { type EpochMs, epochMs } from '../lib/time/epoch.ts'
import { minuteMs } from '../lib/time/units.ts'
import type { NewJob } from '../ports/jobs.ts'
import { resumePaused } from './resume-paused.ts'

async function setup() {
  const world = createVirtualWorld()
  const { store: _, ...ports } = openMemoryStore(world.clock)
  const { jobs } = ports
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const changed: string[] = []
  const deps = { jobs, onChanged: () => void changed.push('changed') }
  const soon = (ms: number) => epochMs(world.clock.databaseNow() + ms)
  const pause = async ({ jobId }: NewJob, until: EpochMs | null) => {
    const order = { by: 'ann', reason: null, until }
    await jobs.change({ tenantId: defaultTenantId, jobId }, (job) => {
      const write = pauseJob(job, order)
      return typeof write === 'string' ? null : write
    })
  }
  const show = async ({ jobId }: NewJob) => (await jobs.get(defaultTenantId, jobId))!
  const minutely = { schedule: { type: 'CRON', cron_expression: '* * * * *' } } as const
  const createJob = () => scenario.createJob({ ...minutely, slotAt: soon(minuteMs) })
  return {
    ...scenario,
    world,
    jobs,
    deps,
    changed,
    soon,
    pause,
    show,
    createJob,
    resume: () => resumePaused(deps),
  }
}

test('a job resumes when its pause is over, not before, and by nobody', async () => {
  const { createJob, pause, soon, world, resume, show, changed } = await setup()
  const job = await createJob()
  const forever = await createJob()
  await pause(job, soon(5.5 * minuteMs))
  await pause(forever, null)
  await world.advance(5.5 * minuteMs - 1)
  assert.equal(await resume(), 'idle')
  assert.equal((await show(job)).status, 'PAUSED')
  assert.deepEqual(changed, [])
  await world.advance(1)
  assert.equal(await resume(), 'idle')
  const { status, pause: left, updatedBy } = await show(job)
  assert.deepEqual([status, left, updatedBy], ['ACTIVE', null, 'carillon'])
  assert.equal((await show(forever)).status, 'PAUSED')
  assert.deepEqual(changed, ['changed'])
})

test('a slot after the end of the pause is late, not skipped', async () => {
  const { createJob, pause, soon, world, resume, show, slotLedger } = await setup()
  const job = await createJob()
  const until = soon(2.5 * minuteMs)
  await pause(job, until)
  await world.advance(4.5 * minuteMs)
  await resume()
  const { slotAt } = await show(job)
  assert.equal(slotAt, until + minuteMs / 2)
  const query = { tenantId: defaultTenantId, jobId: job.jobId, from: epochMs(0), to: soon(0), limit: 10 }
  const skips = (await slotLedger.listSkips(query))!
  assert.deepEqual(
    skips.map((one) => [one.reason, one.count, one.to < until]),
    [['paused', 2, true]],
  )
})

test('a pause that was prolonged meanwhile goes on', async () => {
  const { createJob, pause, soon, world, jobs, deps, show, changed } = await setup()
  const job = await createJob()
  await pause(job, soon(minuteMs))
  await world.advance(minuteMs)
  const findResumable = async (limit: number) => {
    const found = await jobs.findResumable(limit)
    await pause(job, soon(minuteMs))
    return found
  }
  const change = jobs.change.bind(jobs)
  assert.equal(await resumePaused({ ...deps, jobs: { findResumable, change } }), 'idle')
  assert.equal((await show(job)).status, 'PAUSED')
  assert.deepEqual(changed, [])
})

test('more than twenty at once are resumed in several goes', async () => {
  const { createJob, pause, soon, world, resume, show } = await setup()
  const made: NewJob[] = []
  for (let i = 0; i < 21; i++) made.push(await createJob())
  for (const job of made) await pause(job, soon(minuteMs))
  await world.advance(minuteMs)
  assert.equal(await resume(), 'more')
  assert.equal(await resume(), 'idle')
  for (const job of made) assert.equal((await show(job)).status, 'ACTIVE')
})
