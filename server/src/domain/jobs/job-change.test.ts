// A job that gets dependencies, and a job that loses them. Other effects on slots are tested on the stores, in
// `jobs-change.ts` and `jobs-slots.ts`.
import assert from 'node:assert/strict'
import test from 'node:test'
import { at, job } from '../../../test/why-job.ts'
import type { Dependency } from '../graphs/graph.ts'
import { type JobVersion, noSchedule, type StoredSchedule } from './job.ts'
import {
  applyWrite,
  deleteJob,
  editJob,
  type JobState,
  type JobWrite,
  pauseJob,
  resumeJob,
} from './job-change.ts'

const others: Dependency[] = [{ jobId: 'a', on: 'success' }]
const counted: StoredSchedule = { type: 'INTERVAL', every_seconds: 60, after_completion: true }
const past: StoredSchedule = { type: 'ONE_TIME', scheduled_time: '2026-01-01T00:00:00Z' }
const noPause = { since: at('01:30:00'), by: 'ada', reason: null, until: null }

/** Hourly, with its slots decided up to 03:00; it is 06:30. */
function state(changes: Partial<JobState> = {}): JobState {
  const known = { decidedTo: at('03:00:00'), recordedAt: null, owed: null, owedDecided: [], graphId: null }
  return { ...job, now: at('06:30:00'), ...known, ...changes }
}

/** The same job after others, with no slot. */
const dependent = (changes: Partial<JobState> = {}): JobState =>
  state({ dependsOn: others, slotAt: null, graphId: 'a', ...changes })

function edit(before: JobState, changes: Partial<JobVersion>): JobWrite {
  const { jobId, tenantId, name, description, tags, schedule, anchorAt, execution, retryPolicy } = before
  const { priority, overlapPolicy, misfirePolicy, misfireWindowSeconds, jitterSeconds } = before
  const { concurrencyLimit, concurrencyKey, dependsOn, metadata, impliedDst } = before
  const version = {
    ...{ jobId, tenantId, name, description, tags, schedule, anchorAt, execution, retryPolicy },
    ...{ priority, overlapPolicy, misfirePolicy, misfireWindowSeconds, jitterSeconds },
    ...{ concurrencyLimit, concurrencyKey, dependsOn, metadata, impliedDst },
    version: before.version + 1,
    ...changes,
  }
  return editJob(before, { by: 'ann', key: before.key, version })
}

const standing = ({ status, slotAt }: JobWrite) => [status, slotAt]
const skipsOf = ({ skips }: JobWrite) => skips.map(({ from, to, count, reason }) => [from, to, count, reason])

test('a job that takes on dependencies has no slot, and its slots up to now are on record', () => {
  const write = edit(state(), { dependsOn: others })
  assert.deepEqual(standing(write), ['ACTIVE', null])
  assert.deepEqual(skipsOf(write), [[at('04:00:00'), at('06:00:00'), 3, 'edited']])
  assert.equal(write.decidedTo, at('06:30:00'))
})

test('owed slots of a job that gets dependencies are dropped, and recorded as skipped', () => {
  const owed = { from: at('01:00:00'), to: at('03:00:00') }
  const owedDecided = [{ from: at('02:00:00'), to: at('02:00:00') }]
  const write = edit(state({ owed, owedDecided }), { dependsOn: others })
  assert.equal(write.dropsOwed, true)
  assert.deepEqual(skipsOf(write), [
    [at('01:00:00'), at('01:00:00'), 1, 'edited'],
    [at('03:00:00'), at('03:00:00'), 1, 'edited'],
    [at('04:00:00'), at('06:00:00'), 3, 'edited'],
  ])
})

test('a paused job that takes on dependencies stays paused', () => {
  const write = edit(state({ status: 'PAUSED', pause: noPause }), { dependsOn: others })
  assert.deepEqual(standing(write), ['PAUSED', null])
  assert.equal(write.pause, noPause)
  assert.deepEqual(skipsOf(write), [[at('04:00:00'), at('06:00:00'), 3, 'paused']])
})

test('a completed job that takes on dependencies is active', () => {
  const write = edit(state({ status: 'COMPLETED', slotAt: null, schedule: past }), { dependsOn: others })
  assert.deepEqual([...standing(write), skipsOf(write)], ['ACTIVE', null, []])
})

test('a job that awaited the end of its last execution does not await it behind dependencies', () => {
  const awaiting = state({ schedule: counted, slotAt: null })
  assert.deepEqual(standing(edit(awaiting, { dependsOn: others })), ['ACTIVE', null])
  const back = edit(dependent({ schedule: counted, anchorAt: at('06:30:00') }), { dependsOn: [] })
  assert.deepEqual(standing(back), ['ACTIVE', at('06:31:00')])
})

test('without its dependencies it fires again, strictly after now', () => {
  const write = edit(dependent(), { dependsOn: [] })
  assert.deepEqual(standing(write), ['ACTIVE', at('07:00:00')])
  assert.deepEqual(skipsOf(write), [])
  const sharp = edit(dependent({ now: at('07:00:00') }), { dependsOn: [] })
  assert.deepEqual(standing(sharp), ['ACTIVE', at('08:00:00')])
  const paused = edit(dependent({ status: 'PAUSED', pause: noPause }), { dependsOn: [] })
  assert.deepEqual(standing(paused), ['PAUSED', at('07:00:00')])
})

test('without its dependencies it follows the schedule of the new version', () => {
  const bare = dependent({ schedule: noSchedule })
  const write = edit(bare, { dependsOn: [], schedule: job.schedule })
  assert.deepEqual(standing(write), ['ACTIVE', at('07:00:00')])
  assert.throws(() => edit(bare, { dependsOn: [] }), /has a schedule/)
})

test('without its dependencies it is completed when its schedule is over', () => {
  assert.deepEqual(standing(edit(dependent({ schedule: past }), { dependsOn: [] })), ['COMPLETED', null])
  const paused = edit(dependent({ schedule: past, status: 'PAUSED', pause: noPause }), { dependsOn: [] })
  assert.deepEqual([...standing(paused), paused.pause], ['COMPLETED', null, null])
  const ran = { ...job.schedule, max_runs: 5 }
  assert.deepEqual(standing(edit(dependent({ schedule: ran, runs: 5 }), { dependsOn: [] })), [
    'COMPLETED',
    null,
  ])
  const left = edit(dependent({ schedule: ran, runs: 4 }), { dependsOn: [] })
  assert.deepEqual([...standing(left), left.runs], ['ACTIVE', at('07:00:00'), 4])
})

test('other dependencies, or another schedule meanwhile, give it no slot', () => {
  for (const schedule of [job.schedule, noSchedule, past]) {
    for (const changes of [
      { dependsOn: [{ jobId: 'b', on: 'failure' } as const] },
      { schedule: { type: 'CRON', cron_expression: '*/5 * * * *' } as const },
      { schedule: noSchedule },
      { name: 'renamed' },
    ]) {
      const write = edit(dependent({ schedule }), changes)
      assert.deepEqual([...standing(write), skipsOf(write)], ['ACTIVE', null, []])
    }
  }
})

test('a job with dependencies is paused and resumed, and skips nothing', () => {
  for (const schedule of [job.schedule, noSchedule, counted, past]) {
    const active = dependent({ schedule })
    const write = pauseJob(active, { by: 'ann', reason: null, until: null })
    assert(typeof write === 'object')
    assert.deepEqual([...standing(write), skipsOf(write)], ['PAUSED', null, []])
    const paused = { ...active, ...applyWrite(active, write), now: at('08:00:00') }
    for (const from of [null, at('07:30:00')]) {
      const resumed = resumeJob(paused, { by: 'ann', at: from })
      assert(resumed !== null && typeof resumed === 'object')
      assert.deepEqual([...standing(resumed), skipsOf(resumed), resumed.pause], ['ACTIVE', null, [], null])
    }
  }
})

test('a job with dependencies is deleted, and skips nothing', () => {
  for (const schedule of [job.schedule, noSchedule]) {
    const write = deleteJob(dependent({ schedule }), { by: 'ann' })!
    assert.deepEqual([...standing(write), skipsOf(write)], ['DELETED', null, []])
    assert.equal(write.cancelsPending, true)
  }
})
