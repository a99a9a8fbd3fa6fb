// How a job behaves beside itself and others (overlap, limits, jitter), and the optional parts of a schedule: as fields
// on the wire.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { MISFIRE_POLICIES, OVERLAP_POLICIES } from '@carillon/contract/constants.ts'
import type { ErrorCode } from '@carillon/contract/errors.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { withoutHealth } from '../../../test/without-health.ts'
import { dueAtOf } from '../../domain/schedule/jitter.ts'
import { epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { hourMs } from '../../lib/time/units.ts'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call } = parts
  const job = { name: 'a', schedule: '@hourly', execution: { callback_url: 'http://127.0.0.1:7420/echo' } }
  const create = (changes: object) => call('POST', '/jobs', { ...job, ...changes })
  /** Creates a job that must be taken, and that is shown as it was answered. */
  const createJob = async (changes: object) => {
    const answer = await create(changes)
    assert.equal(answer.statusCode, 201, answer.body)
    const { execution_id: _, ...made } = answer.json()
    assert.deepEqual(withoutHealth((await call('GET', `/jobs/${made.job_id}`)).json()), made)
    assert.deepEqual((await call('GET', '/jobs?limit=1')).json().jobs.map(withoutHealth), [made])
    return made
  }
  const patch = async (jobId: string, changes: object) => {
    const answer = await call('PATCH', `/jobs/${jobId}`, changes, { 'if-match': '*' })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const nextRun = async (jobId: string) => (await call('GET', `/jobs/${jobId}`)).json().schedule.next_run_at
  return { ...parts, job, create, createJob, patch, nextRun }
}

test('a scheduled_time with a fraction of a second is refused, and why answers for the time that a job shows', async (t) => {
  const { call, create, createJob } = await setup(t)
  const pointer = '/schedule/scheduled_time'
  const refused = await create({ schedule: { scheduled_time: '2099-01-01T09:00:00.250Z' } })
  assertProblem(refused, 'INVALID_SCHEDULE', pointer)
  assert.match(refused.json().errors[0].detail, /has a fraction of a second/)
  const body = { schedule: { scheduled_time: '2099-01-01T09:00:00.250Z' } }
  assertProblem(await call('POST', '/schedules/preview', body), 'INVALID_SCHEDULE', pointer)
  for (const scheduled_time of ['2099-01-01T09:00:00.000Z', '2099-01-01T10:00:00+01:00']) {
    const { job_id: jobId, schedule } = await createJob({ schedule: { scheduled_time } })
    const at = encodeURIComponent(schedule.scheduled_time)
    const why = (await call('GET', `/jobs/${jobId}/why?at=${at}`)).json()
    assert.deepEqual([why.status, why.scheduled_time], ['SCHEDULED', '2099-01-01T09:00:00Z'])
  }
})

test('every policy is taken, changed and shown', async (t) => {
  const { createJob, patch } = await setup(t)
  const { job_id: jobId } = await createJob({})
  for (const overlap_policy of OVERLAP_POLICIES) {
    await createJob({ overlap_policy })
    assert.equal((await patch(jobId, { overlap_policy })).overlap_policy, overlap_policy)
  }
  for (const misfire_policy of MISFIRE_POLICIES) {
    await createJob({ misfire_policy })
    assert.equal((await patch(jobId, { misfire_policy })).misfire_policy, misfire_policy)
  }
})

test('limits and jitter are taken, merged by a patch, and taken away by null', async (t) => {
  const { createJob, patch } = await setup(t)
  const options = {
    jitter_seconds: 90,
    concurrency_limit: 10_000,
    concurrency_key: { key: 'k'.repeat(128), limit: 1 },
  }
  const made = await createJob(options)
  const { jitter_seconds, concurrency_limit, concurrency_key } = made
  assert.deepEqual({ jitter_seconds, concurrency_limit, concurrency_key }, options)
  const same = await patch(made.job_id, options)
  assert.equal(same.version, 1)
  const merged = await patch(made.job_id, { concurrency_key: { limit: 7 } })
  assert.deepEqual(merged.concurrency_key, { key: options.concurrency_key.key, limit: 7 })
  assert.deepEqual([merged.version, merged.jitter_seconds, merged.concurrency_limit], [2, 90, 10_000])
  const gone = await patch(made.job_id, {
    jitter_seconds: null,
    concurrency_limit: null,
    concurrency_key: null,
  })
  assert.deepEqual([gone.jitter_seconds, gone.concurrency_limit, gone.concurrency_key], [0, null, null])
  assert.deepEqual(gone.schedule, { ...made.schedule, next_run_at: '2026-01-01T01:00:00Z' })
})

test('the next run is the slot and its jitter, also when the slot itself is over', async (t) => {
  const { world, createJob, nextRun } = await setup(t)
  const made = await createJob({ jitter_seconds: 3_599 })
  const dueAt = (slot: number) =>
    dueAtOf({ jobId: made.job_id, jitterSeconds: 3_599 }, epochMs(Date.UTC(2026, 0, 1, slot)))
  const [first, second] = [dueAt(1), dueAt(2)]
  assert(first > Date.UTC(2026, 0, 1, 1), 'this job has no jitter to speak of; take another id')
  assert.equal(made.schedule.next_run_at, toRfc3339(first))
  await world.advance(first - 1 - world.clock.databaseNow())
  assert.equal(await nextRun(made.job_id), toRfc3339(first))
  await world.advance(1)
  assert.equal(await nextRun(made.job_id), toRfc3339(second))
})

test('the next run passes over excluded slots', async (t) => {
  const { createJob, patch } = await setup(t)
  const exclusions = [{ date: '2026-01-01' }, { from: '2026-01-02T00:00:00', to: '2026-01-02T05:30:00' }]
  const schedule = { cron_expression: '@hourly', timezone: 'Europe/Berlin', exclusions }
  const made = await createJob({ schedule })
  assert.deepEqual(made.schedule.exclusions, exclusions)
  assert.equal(made.schedule.next_run_at, '2026-01-02T05:00:00Z')
  const kept = await patch(made.job_id, { priority: 1 })
  assert.deepEqual(kept.schedule, made.schedule)
  const without = await patch(made.job_id, { schedule: { exclusions: null } })
  assert.equal('exclusions' in without.schedule, false)
  assert.equal(without.schedule.next_run_at, '2026-01-01T01:00:00Z')
  const once = { scheduled_time: '2026-01-05T12:00:00Z', exclusions: [{ date: '2026-01-05' }] }
  const never = await createJob({ schedule: once })
  assert.deepEqual([never.status, never.schedule.next_run_at], ['ACTIVE', null])
})

test('a job with a number of runs says how many it has had, and is over when they are used up', async (t) => {
  const { createJob, patch, call, memory } = await setup(t)
  const made = await createJob({ schedule: { cron_expression: '@hourly', max_runs: 3 } })
  assert.deepEqual([made.schedule.max_runs, made.schedule.runs], [3, 0])
  const row = memory.store.jobs.get(made.job_id)!
  memory.store.changeCursor(row.cursor, { runs: 2 })
  assert.equal((await call('GET', `/jobs/${made.job_id}`)).json().schedule.runs, 2)
  const fewer = await patch(made.job_id, { schedule: { max_runs: 2 } })
  assert.deepEqual([fewer.status, fewer.schedule.runs, fewer.schedule.next_run_at], ['COMPLETED', 2, null])
  const more = await patch(made.job_id, { schedule: { max_runs: 4 } })
  assert.deepEqual([more.status, more.schedule.runs], ['ACTIVE', 2])
  const endless = await patch(made.job_id, { schedule: { max_runs: null } })
  assert.equal('runs' in endless.schedule, false)
  const { schedule: plain } = await createJob({})
  assert.equal('runs' in plain, false)
})

test('an interval after completion has a next run when its last one has ended, not before', async (t) => {
  const { world, createJob, nextRun, patch, memory } = await setup(t)
  const schedule = { every_seconds: 600, after_completion: true }
  const made = await createJob({ schedule, jitter_seconds: 599 })
  const due = dueAtOf({ jobId: made.job_id, jitterSeconds: 599 }, epochMs(Date.UTC(2026, 0, 1, 0, 10)))
  assert.equal(made.schedule.next_run_at, toRfc3339(due))
  // It fires, and is under way.
  const { cursor } = memory.store.jobs.get(made.job_id)!
  memory.store.changeCursor(cursor, { slotAt: null, dueAt: null })
  await world.advance(hourMs)
  assert.equal(await nextRun(made.job_id), null)
  // It has ended, at a second that is on no grid.
  const slotAt = epochMs(Date.UTC(2026, 0, 1, 1, 17, 43))
  memory.store.changeCursor(cursor, { slotAt, dueAt: slotAt })
  const next = dueAtOf({ jobId: made.job_id, jitterSeconds: 599 }, slotAt)
  assert.equal(await nextRun(made.job_id), toRfc3339(next))
  // Another interval begins now; so does the change to a grid.
  const grid = await patch(made.job_id, { schedule: { after_completion: null }, jitter_seconds: 0 })
  assert.equal(grid.schedule.next_run_at, '2026-01-01T01:10:00Z')
  await world.advance(30_000)
  const again = await patch(made.job_id, { schedule: { after_completion: true } })
  assert.equal(again.schedule.next_run_at, '2026-01-01T01:10:30Z')
})

test('an IMMEDIATE job with a limit waits to be released', async (t) => {
  const { createJob, woken } = await setup(t)
  await createJob({ schedule: { type: 'IMMEDIATE' }, concurrency_key: { key: 'a', limit: 1 } })
  assert.deepEqual(woken, ['waiting'])
})

const interval = { every_seconds: 60 }
const refused: [string, object, string, ErrorCode?][] = [
  ['negative jitter', { jitter_seconds: -1 }, '/jitter_seconds'],
  ['more than a day of jitter', { jitter_seconds: 86_401, schedule: '@weekly' }, '/jitter_seconds'],
  ['jitter of half a second', { jitter_seconds: 0.5 }, '/jitter_seconds'],
  ['jitter as long as its slots are apart', { jitter_seconds: 3_600 }, '/jitter_seconds'],
  ['jitter for now', { jitter_seconds: 1, schedule: { type: 'IMMEDIATE' } }, '/jitter_seconds'],
  [
    'jitter as long as its interval after completion',
    { jitter_seconds: 60, schedule: { ...interval, after_completion: true } },
    '/jitter_seconds',
  ],
  ['no concurrency', { concurrency_limit: 0 }, '/concurrency_limit'],
  ['too much concurrency', { concurrency_limit: 10_001 }, '/concurrency_limit'],
  ['a text as concurrency', { concurrency_limit: '1' }, '/concurrency_limit'],
  ['a key that is a text', { concurrency_key: 'a' }, '/concurrency_key'],
  ['a key without a limit', { concurrency_key: { key: 'a' } }, '/concurrency_key/limit'],
  ['a limit without a key', { concurrency_key: { limit: 1 } }, '/concurrency_key/key'],
  ['an empty key', { concurrency_key: { key: '', limit: 1 } }, '/concurrency_key/key'],
  ['a long key', { concurrency_key: { key: 'x'.repeat(129), limit: 1 } }, '/concurrency_key/key'],
  ['a limit of 0', { concurrency_key: { key: 'a', limit: 0 } }, '/concurrency_key/limit'],
  ['a limit beyond limits', { concurrency_key: { key: 'a', limit: 10_001 } }, '/concurrency_key/limit'],
  ['an unknown field in it', { concurrency_key: { key: 'a', limit: 1, per: 's' } }, '/concurrency_key/per'],
  ['no runs', { schedule: { ...interval, max_runs: 0 } }, '/schedule/max_runs'],
  ['runs of its own', { schedule: { ...interval, max_runs: 1, runs: 1 } }, '/schedule/runs'],
  [
    'after_completion as a text',
    { schedule: { ...interval, after_completion: 'yes' } },
    '/schedule/after_completion',
  ],
  [
    'after_completion without an interval',
    { schedule: { cron_expression: '@hourly', after_completion: true } },
    '/schedule/after_completion',
    'INVALID_SCHEDULE',
  ],
  [
    'after_completion and repetitions',
    { schedule: { interval: 'R3/PT1H', after_completion: true } },
    '/schedule/interval',
    'INVALID_SCHEDULE',
  ],
  [
    'a day that does not exist',
    { schedule: { ...interval, exclusions: [{ date: '2026-01-01' }, { date: '2026-02-30' }] } },
    '/schedule/exclusions/1/date',
    'INVALID_SCHEDULE',
  ],
  [
    'a calendar that is not there',
    { schedule: { ...interval, exclusions: [{ calendar: 'none' }] } },
    '/schedule/exclusions/0/calendar',
    'INVALID_SCHEDULE',
  ],
  [
    'now, when that is excluded',
    { schedule: { type: 'IMMEDIATE', exclusions: [{ date: '2026-01-01' }] } },
    '/schedule/exclusions',
    'INVALID_SCHEDULE',
  ],
]
for (const [what, changes, pointer, code = 'INVALID_REQUEST'] of refused) {
  test(`a job with ${what} is refused at the right pointer`, async (t) => {
    const { create, woken } = await setup(t)
    assertProblem(await create(changes), code, pointer)
    assert.deepEqual(woken, [])
  })
}
