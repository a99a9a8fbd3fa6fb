// A job as clients see it. Header values are left out: they are secrets more often than not.
import type { Job, JobDetails, JobState } from '@carillon/contract/job.ts'
import type { JobView } from '../domain/job.ts'
import { compileSchedule } from '../domain/schedule/compile-schedule.ts'
import { type CompiledSchedule, nextRun } from '../domain/schedule/next-run.ts'
import { type EpochMs, toRfc3339 } from '../lib/epoch.ts'
import type { JobStats } from '../ports/history.ts'
import type { NewJob } from '../ports/jobs.ts'

/** Shown instead of a header value, and taken for it when a job is changed. */
export const hiddenValue = '***'

export function toJob(job: JobView, now: EpochMs): Job {
  const { execution } = job
  const names = Object.keys(execution.headers)
  return {
    job_id: job.jobId,
    name: job.name,
    key: job.key,
    description: job.description,
    status: job.status,
    pause: pauseOf(job),
    schedule: {
      ...job.schedule,
      next_run_at: instantOf(nextRunAt(job, now)),
      last_run_at: instantOf(job.lastRunAt),
    },
    execution: {
      type: execution.type,
      callback_url: execution.callback_url,
      method: execution.method as Job['execution']['method'],
      headers: Object.fromEntries(names.map((name) => [name, hiddenValue])),
      ...(execution.payload === undefined ? {} : { payload: execution.payload }),
      timeout_seconds: execution.timeout_seconds,
    },
    retry_policy: { ...job.retryPolicy },
    priority: job.priority,
    tags: [...job.tags],
    overlap_policy: job.overlapPolicy,
    misfire_policy: job.misfirePolicy,
    misfire_window_seconds: job.misfireWindowSeconds,
    metadata: { ...job.metadata },
    version: job.version,
    created_at: toRfc3339(job.createdAt),
    created_by: job.createdBy,
    updated_at: toRfc3339(job.updatedAt),
    updated_by: job.updatedBy,
  }
}

export function toJobDetails(job: JobView, stats: JobStats, now: EpochMs): JobDetails {
  const { succeeded, failed, timedOut, averageDurationMs, lastStatus } = stats
  const runs = succeeded + failed + timedOut
  return {
    ...toJob(job, now),
    stats: {
      total_runs: runs,
      success_rate: runs === 0 ? null : succeeded / runs,
      avg_duration_ms: averageDurationMs === null ? null : Math.round(averageDurationMs),
      last_status: lastStatus,
    },
  }
}

/** The answer to pause, resume and delete. */
export function toJobState(job: JobView, now: EpochMs): JobState {
  return {
    job_id: job.jobId,
    status: job.status,
    pause: pauseOf(job),
    next_run_at: instantOf(nextRunAt(job, now)),
    version: job.version,
    updated_at: toRfc3339(job.updatedAt),
  }
}

/** What the store would answer about a job that it has just taken. */
export function viewOf(job: NewJob): JobView {
  const { createdAt: updatedAt, createdBy: updatedBy } = job
  return { ...job, pause: null, lastRunAt: job.immediate?.slot ?? null, updatedAt, updatedBy }
}

/** The schedule of a stored job. Null when it cannot be read any more, as when its zone has left the zone data. */
export function scheduleOf({
  schedule,
  anchorAt,
  jobId,
}: Pick<JobView, 'schedule' | 'anchorAt' | 'jobId'>): CompiledSchedule | null {
  const answer = compileSchedule(schedule, { createdAt: anchorAt, jobId })
  return answer.ok ? answer.value.compiled : null
}

function pauseOf({ pause }: JobView): Job['pause'] {
  if (pause === null) return null
  const { since, reason, by, until } = pause
  return { since: toRfc3339(since), reason, by, until: instantOf(until) }
}

function nextRunAt(job: JobView, now: EpochMs): EpochMs | null {
  if (job.status !== 'ACTIVE' || job.slotAt === null) return null
  const schedule = scheduleOf(job)
  if (schedule === null) return null
  // A single slot that is late has not run yet: it is still what comes next.
  if (schedule.kind === 'once') return job.slotAt
  // The stored slot may lag behind, and after a change it may lie far ahead.
  return nextRun(schedule, Math.max(now, job.slotAt - 1) as EpochMs)
}

function instantOf(at: EpochMs | null): string | null {
  return at === null ? null : toRfc3339(at)
}
