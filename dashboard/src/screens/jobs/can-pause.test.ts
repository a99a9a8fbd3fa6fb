import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job } from '@carillon/contract/job.ts'
import { canPause } from './can-pause.ts'

const nextRunAt = '2026-11-17T12:00:00Z'

function jobOf(status: Job['status'], type: string, next: string | null): Pick<Job, 'status' | 'schedule'> {
  return { status, schedule: { type, next_run_at: next, last_run_at: null } as Job['schedule'] }
}

test('a pause is offered for jobs with slots to come, and not for a job that runs once and has begun', () => {
  assert(canPause(jobOf('ACTIVE', 'CRON', nextRunAt)))
  // After completion the next slot is not known before the end.
  assert(canPause(jobOf('ACTIVE', 'INTERVAL', null)))
  assert(canPause({ status: 'ACTIVE', schedule: null }), 'it runs after other jobs')
  assert(canPause(jobOf('ACTIVE', 'ONE_TIME', nextRunAt)))
  assert(canPause(jobOf('PAUSED', 'ONE_TIME', null)), 'its reason can be changed')
  for (const type of ['IMMEDIATE', 'ONE_TIME']) assert(!canPause(jobOf('ACTIVE', type, null)), type)
  for (const status of ['COMPLETED', 'DELETED'] as const) assert(!canPause(jobOf(status, 'CRON', null)))
})
