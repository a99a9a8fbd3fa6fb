// A job as clients see it. Header values are left out: they are secrets more often than not.
import type { Job } from '@carillon/contract/job.ts'
import type { JobView } from '../domain/job.ts'
import { compileSchedule } from '../domain/schedule/compile-schedule.ts'
import { type CompiledSchedule, nextRun } from '../domain/schedule/next-run.ts'
import { type EpochMs, toRfc3339 } from '../lib/epoch.ts'
import type { NewJob } from '../ports/jobs.ts'

const hidden = '***'

export function toJob(job: JobView, now: EpochMs): Job {
  const { execution } = job
  const names = Object.keys(execution.headers)
  return {
    job_id: job.jobId,
    name: job.name,
    description: job.description,
    status: job.status,
    schedule: {
      ...job.schedule,
      next_run_at: instantOf(nextRunAt(job, now)),
      last_run_at: instantOf(job.lastRunAt),
    },
    execution: {
      type: execution.type,
      callback_url: execution.callback_url,
      method: execution.method as Job['execution']['method'],
      headers: Object.fromEntries(names.map((name) => [name, hidden])),
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
    updated_at: toRfc3339(job.updatedAt),
  }
}

/** What the store would answer about a job that it has just taken. */
export function viewOf(job: NewJob): JobView {
  return { ...job, lastRunAt: job.immediate?.slot ?? null, updatedAt: job.createdAt }
}

/** The schedule of a stored job. Null when it cannot be read any more, as when its zone has left the zone data. */
export function scheduleOf(job: JobView): CompiledSchedule | null {
  const answer = compileSchedule(job.schedule, { createdAt: job.anchorAt, jobId: job.jobId })
  return answer.ok ? answer.value.compiled : null
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
