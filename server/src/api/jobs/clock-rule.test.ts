// The clock rule as a client meets it: nothing that nobody gave is shown, and slots are judged by the version they were
// planned with.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { SlotList } from '@carillon/contract/slot.ts'
import { setupApp } from '../../../test/app.ts'
import { at } from '../../../test/fire.ts'
import { ClockRuleMover } from '../../maintenance/move-clock-rule.ts'

const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
const zone = 'America/New_York'

async function setup(t: TestContext, cron: string, changes: object = {}) {
  const parts = await setupApp(t)
  const { call, memory, world } = parts
  const goTo = (time: string) => world.advance(at(time) - world.clock.databaseNow())
  const schedule = { type: 'CRON', cron_expression: cron, timezone: zone, ...changes }
  const made = await call('POST', '/jobs', { name: 'a', key: 'a', schedule, execution })
  assert.equal(made.statusCode, 201, made.body)
  const jobId: string = made.json().job_id
  const stored = () => {
    const { version, versions } = memory.store.jobs.get(jobId)!
    return versions.get(version)!
  }
  /** As if a program from before clock rule 2 had written it. */
  const makeOlder = () => {
    const version = stored()
    for (const name of version.impliedDst!) delete version.schedule[name]
    version.impliedDst = null
  }
  const patch = async (body: object) => {
    const answer = await call('PATCH', `/jobs/${jobId}`, body, { 'if-match': '*' })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const slots = async (from: string, to: string): Promise<string[]> => {
    const answer = await call('GET', `/jobs/${jobId}/slots?from=${from}&to=${to}`)
    assert.equal(answer.statusCode, 200, answer.body)
    const { slots: listed }: SlotList = answer.json()
    return listed.map((one) => `${one.scheduled_time} ${one.status}`).toSorted()
  }
  return { ...parts, jobId, made, goTo, schedule, stored, makeOlder, patch, slots }
}

test('the fields that the rule fills in are stored and not shown', async (t) => {
  const { call, jobId, made, schedule, stored } = await setup(t, '*/15 2 * * *')
  const given = ({ next_run_at: _next, last_run_at: _last, ...rest }: Record<string, unknown>) => rest
  assert.deepEqual(given(made.json().schedule), schedule)
  const { dst_gap, dst_fold } = stored().schedule
  assert.deepEqual([dst_gap, dst_fold, stored().impliedDst], ['run_after', 'first', ['dst_gap', 'dst_fold']])
  assert.deepEqual(given((await call('GET', `/jobs/${jobId}`)).json().schedule), schedule)
  const { versions } = (await call('GET', `/jobs/${jobId}/versions`)).json()
  assert.deepEqual(versions[0].job.schedule, schedule)
  // The same job again is no change.
  const again = await call('PUT', '/jobs/by-key/a', { name: 'a', schedule, execution })
  assert.deepEqual([again.statusCode, again.json().version], [200, 1], again.body)
})

test('a new schedule gets the rule of its own, and a choice of the user stays', async (t) => {
  const { patch, stored } = await setup(t, '*/15 2 * * *', { dst_fold: 'first' })
  assert.deepEqual(stored().impliedDst, ['dst_gap'])
  const { schedule } = await patch({ schedule: { cron_expression: '*/15 * * * *' } })
  assert.deepEqual([schedule.dst_gap, schedule.dst_fold], [undefined, 'first'])
  assert.deepEqual([stored().schedule.dst_gap, stored().impliedDst], [undefined, []])
  const given = await patch({ schedule: { cron_expression: '*/15 2 * * *', dst_gap: 'run_after' } })
  assert.deepEqual([given.schedule.dst_gap, given.schedule.dst_fold], ['run_after', 'first'])
  assert.deepEqual(stored().impliedDst, [])
})

test('a schedule in UTC, and one for which no rule matters, is stored as it was given', async (t) => {
  const { stored, patch, schedule } = await setup(t, '0,30 2 * * *')
  assert.deepEqual([stored().schedule, stored().impliedDst], [schedule, []])
  await patch({ schedule: { cron_expression: '*/30 2 * * *', timezone: 'UTC' } })
  assert.deepEqual([stored().schedule.dst_gap, stored().impliedDst], [undefined, []])
})

test('slots and why judge an old slot by the rule it was planned with, and a slot to come by the new one', async (t) => {
  const { call, memory, jobId, goTo, makeOlder, slots } = await setup(t, '*/30 1 * * *')
  makeOlder()
  await goTo('2026-10-31T12:00:00Z')
  await call('PATCH', `/jobs/${jobId}/pause`, { reason: 'a test' })
  // 01:00 and 01:30 came twice that night, and by rule 1 the job had a slot each time.
  await goTo('2026-11-01T12:00:00Z')
  await call('PATCH', `/jobs/${jobId}/resume`)
  const { jobs, jobVersions } = memory
  await new ClockRuleMover({ jobs, jobVersions, onChanged: () => {} }).step()
  const job = (await call('GET', `/jobs/${jobId}`)).json()
  assert.deepEqual([job.version, job.updated_by, job.schedule.dst_fold], [2, 'carillon', undefined])
  assert.equal(job.schedule.next_run_at, '2026-11-02T06:00:00Z')
  const night = ['05:00', '05:30', '06:00', '06:30'].map((time) => `2026-11-01T${time}:00Z SKIPPED`)
  assert.deepEqual(await slots('2026-11-01T00:00:00Z', '2026-11-01T12:00:00Z'), night)
  const why = async (time: string) => (await call('GET', `/jobs/${jobId}/why?at=${time}`)).json()
  const old = await why('2026-11-01T06:30:00Z')
  assert.deepEqual(
    [old.status, old.reason, old.scheduled_time],
    ['SKIPPED', 'paused', '2026-11-01T06:30:00Z'],
  )
  // A year later the second pass has none.
  const later = ['05:00', '05:30'].map((time) => `2027-11-07T${time}:00Z SCHEDULED`)
  assert.deepEqual(await slots('2027-11-07T00:00:00Z', '2027-11-07T12:00:00Z'), later)
  assert.equal((await why('2027-11-07T06:30:00Z')).status, 'NO_SLOT')
})

test('an instant after a gap of the past, which was no slot by the old rule, does not become one', async (t) => {
  const { call, memory, jobId, goTo, makeOlder, slots } = await setup(t, '*/30 2 * * *')
  makeOlder()
  await goTo('2026-03-07T12:00:00Z')
  await call('PATCH', `/jobs/${jobId}/pause`, { reason: 'a test' })
  await goTo('2026-03-08T12:00:00Z')
  const { jobs, jobVersions } = memory
  await new ClockRuleMover({ jobs, jobVersions, onChanged: () => {} }).step()
  await call('PATCH', `/jobs/${jobId}/resume`)
  assert.deepEqual(await slots('2026-03-08T00:00:00Z', '2026-03-08T12:00:00Z'), [])
  const { status } = (await call('GET', `/jobs/${jobId}/why?at=2026-03-08T07:00:00Z`)).json()
  assert.equal(status, 'NO_SLOT')
})

test('an edit that leaves the schedule of an older version alone skips no late slot, and the move comes after it', async (t) => {
  const { call, memory, jobId, goTo, makeOlder, stored, patch, schedule } = await setup(t, '*/30 2 * * *')
  makeOlder()
  const first = memory.store.jobs.get(jobId)!.cursor.slotAt
  await goTo('2026-01-01T07:05:00Z')
  const same = await call('PUT', '/jobs/by-key/a', { name: 'a', schedule, execution })
  assert.deepEqual([same.statusCode, same.json().version], [200, 1], same.body)
  assert.equal((await patch({ name: 'b' })).version, 2)
  assert.deepEqual([stored().impliedDst, memory.store.jobs.get(jobId)!.cursor.slotAt], [null, first])
  // A new schedule is one by the present rule.
  await patch({ schedule: { cron_expression: '*/20 2 * * *' } })
  assert.deepEqual(stored().impliedDst, ['dst_gap', 'dst_fold'])
})
