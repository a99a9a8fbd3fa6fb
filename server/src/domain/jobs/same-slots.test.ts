import assert from 'node:assert/strict'
import test from 'node:test'
import { epochMs } from '../../lib/time/epoch.ts'
import { noSchedule, type StoredSchedule } from './job.ts'
import { hasSlotAt, haveSameSlots, KnownSchedules } from './same-slots.ts'

const [first, second] = ['0192abcd-ef01-7000-8000-000000000001', '0192abcd-ef01-7000-8000-000000000002']
const made = epochMs(1_767_225_600_000)

/** The same schedule in two jobs, the second made some seconds later. */
function isShared(schedule: object, laterSeconds = 5): boolean {
  const stored = schedule as StoredSchedule
  return haveSameSlots(
    { jobId: first, schedule: stored, anchorAt: made },
    { jobId: second, schedule: { ...stored }, anchorAt: epochMs(made + laterSeconds * 1_000) },
  )
}

test('two jobs with one cron text share their slots, whenever they were made', () => {
  assert(isShared({ type: 'CRON', cron_expression: '0 2 * * *', timezone: 'Europe/Berlin' }))
  assert(isShared({ type: 'CRON', cron_expression: '0 2 * * *', exclusions: [{ date: '2026-12-25' }] }))
  assert(isShared({ type: 'ONE_TIME', scheduled_time: '2031-05-05T05:05:05Z' }))
})

test('an interval is shared if it says its start, or the jobs were made in one second', () => {
  assert(!isShared({ type: 'INTERVAL', every_seconds: 60 }))
  assert(isShared({ type: 'INTERVAL', every_seconds: 60 }, 0))
  assert(isShared({ type: 'INTERVAL', every_seconds: 60, start_at: '2026-01-01T00:00:00Z' }))
  assert(isShared({ type: 'INTERVAL', interval: 'R/2026-01-01T00:00:00Z/P1D' }))
})

test('slots that count from an end, are spread by the job, differ or do not exist are not shared', () => {
  assert(!isShared({ type: 'INTERVAL', every_seconds: 60, after_completion: true }, 0))
  assert(!isShared({ type: 'CRON', cron_expression: 'H H * * *' }, 0))
  assert(!isShared(noSchedule, 0))
  const other = { type: 'CRON', cron_expression: '0 3 * * *' } as StoredSchedule
  const job = { jobId: first, schedule: other, anchorAt: made }
  assert(!haveSameSlots(job, { ...job, schedule: { ...other, cron_expression: '0 4 * * *' } }))
})

test('a job has the slots of its schedule and no others', () => {
  const has = (schedule: object, seconds: number) =>
    hasSlotAt(
      { jobId: first, schedule: schedule as StoredSchedule, anchorAt: made },
      epochMs(made + seconds * 1_000),
    )
  const [hourly, daily] = ['0 * * * *', '0 0 * * *'].map((cron_expression) => ({
    type: 'CRON',
    cron_expression,
  }))
  assert.deepEqual([has(hourly!, 86_400), has(daily!, 86_400)], [true, true])
  assert.deepEqual([has(hourly!, 3_600), has(daily!, 3_600)], [true, false])
  assert.deepEqual(
    [has({ type: 'INTERVAL', every_seconds: 90 }, 180), has({ type: 'INTERVAL', every_seconds: 90 }, 181)],
    [true, false],
  )
  assert(!has({ type: 'INTERVAL', every_seconds: 60, after_completion: true }, 60))
  assert(!has(noSchedule, 60))
})

test('the schedule of a known version is not read again, and says nothing of other versions and jobs', () => {
  const schedules = new KnownSchedules()
  let reads = 0
  const hourly = {
    type: 'CRON',
    get cron_expression() {
      reads += 1
      return '0 * * * *'
    },
  } as StoredSchedule
  const job = { jobId: first, version: 1, schedule: hourly, anchorAt: made }
  const slot = epochMs(made + 3_600_000)
  assert(schedules.hasSlotAt(job, slot))
  const once = reads
  assert(!schedules.hasSlotAt(job, epochMs(slot + 60_000)))
  assert(schedules.hasSlotAt(job, slot))
  assert.equal(reads, once)
  const daily = { type: 'CRON', cron_expression: '0 0 * * *' } as StoredSchedule
  assert(!schedules.hasSlotAt({ ...job, version: 2, schedule: daily }, slot))
  assert(!schedules.hasSlotAt({ ...job, jobId: second, schedule: daily }, slot))
  assert(!schedules.hasSlotAt({ ...job, version: 3, schedule: noSchedule }, slot))
})
