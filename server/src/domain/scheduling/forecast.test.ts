import assert from 'node:assert/strict'
import test from 'node:test'
import { epochMs } from '../../lib/time/epoch.ts'
import type { StoredSchedule } from '../jobs/job.ts'
import { Forecast, forecastStepMs, type PlannedJob } from './forecast.ts'

const now = epochMs(Date.UTC(2026, 0, 1, 8, 3, 20))
const minute = 60_000

function plan(schedule: StoredSchedule, changes: Partial<PlannedJob> = {}): PlannedJob {
  const jobId = '0192abcd-ef01-7000-8000-000000000001'
  const times = { anchorAt: now, slotAt: epochMs(now + minute) }
  return { jobId, name: 'report', schedule, ...times, runs: 0, calendars: null, ...changes }
}

const cron = (text: string, more: Partial<StoredSchedule> = {}): StoredSchedule => ({
  ...{ type: 'CRON', cron_expression: text, ...more },
})

function forecastOf(...jobs: PlannedJob[]): Forecast {
  const forecast = new Forecast(now, 24)
  for (const job of jobs) forecast.add(job)
  return forecast
}

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)

test('slots are counted in ten minutes each, from the ten that it is in', () => {
  const { from, counts } = forecastOf(plan(cron('5 * * * *')))
  assert.equal(from, Date.UTC(2026, 0, 1, 8))
  assert.equal(counts.length, 144)
  assert.deepEqual(
    counts.map((count, bucket) => [count, bucket]).filter(([count]) => count !== 0),
    Array.from({ length: 24 }, (_, hour) => [1, hour * 6]),
  )
})

test('a dense schedule is counted like a sparse one, without past slots', () => {
  const { counts } = forecastOf(plan(cron('* * * * * *')))
  assert.equal(counts[0], 400 - 1)
  assert.equal(counts[1], 600)
  assert.equal(sum(counts), 86_400 - 201)
  const minutes = forecastOf(plan(cron('* * * * *'))).counts
  assert.deepEqual([minutes[0], minutes[1], minutes[143]], [6, 10, 10])
})

test('jobs that share a schedule count each', () => {
  const { counts, jobsSeen } = forecastOf(...Array.from({ length: 50 }, () => plan(cron('0 9 * * *'))))
  assert.deepEqual([counts[6], sum(counts), jobsSeen], [50, 50, 50])
})

test('intervals count from when each job was made', () => {
  const every = { type: 'INTERVAL', every_seconds: 43_200 } as const
  const shifted = plan(every, { anchorAt: epochMs(now + 30 * minute) })
  const { counts } = forecastOf(plan(every), shifted)
  assert.equal(counts[72], 1)
  assert.equal(counts[75], 1)
})

test('slots skipped by exclusions do not count as upcoming slots', () => {
  const exclusions = [{ calendar: 'holidays' }]
  const calendars = { holidays: [{ date: '2026-01-01' }] }
  const { counts } = forecastOf(plan(cron('0 * * * *', { exclusions }), { calendars }))
  // Eight hours of the next day are left.
  assert.equal(sum(counts), 8)
})

test('a job with runs left has no more slots than these', () => {
  const last = plan(cron('0 * * * *', { max_runs: 5 }), { runs: 2 })
  assert.equal(sum(forecastOf(last).counts), 3)
  assert.equal(sum(forecastOf({ ...last, runs: 5 }).counts), 0)
  assert.equal(sum(forecastOf(plan(cron('0 * * * *', { max_runs: 500 }))).counts), 23)
})

test('of a job that counts from its end only the next slot is known', () => {
  const after = { type: 'INTERVAL', every_seconds: 60, after_completion: true } as const
  assert.equal(sum(forecastOf(plan(after)).counts), 1)
})

test('peaks come fullest first, with the jobs that make them', () => {
  const name = (text: string) => ({ name: text, jobId: text })
  const forecast = forecastOf(
    plan(cron('* * * * *'), name('each minute')),
    plan(cron('0 9 * * *'), name('at nine')),
    plan(cron('0 9,12 * * *'), name('at nine and twelve')),
  )
  const [first, second, ...more] = forecast.peaks()
  assert.deepEqual([first!.at, first!.count], [now - (now % forecastStepMs) + 6 * forecastStepMs, 12])
  assert.deepEqual(
    first!.jobs.map((job) => job.name),
    ['at nine', 'at nine and twelve', 'each minute'],
  )
  assert.equal(second!.count, 11)
  assert.equal(more.length, 3)
  assert.deepEqual(forecastOf().peaks(), [])
})
