// A job as clients see it. Values of headers and of the environment are left out: they are secrets more often than not.
import { pairsOf } from '@carillon/contract/executors/list.ts'
import type { Job, JobDetails, ListedJob as JobOfList, JobState } from '@carillon/contract/job.ts'
import type { JobVersionList } from '@carillon/contract/job-version.ts'
import { asGiven } from '../../domain/jobs/clock-rule.ts'
import {
  type Execution,
  hasSchedule,
  type JobVersion,
  type JobView,
  partitionOf,
  shownStatus,
} from '../../domain/jobs/job.ts'
import { healthOf, type JobHealth, type LastExecution, statusOfLast } from '../../domain/jobs/job-health.ts'
import { isAfterCompletion } from '../../domain/schedule/after-completion.ts'
import { compileStored } from '../../domain/schedule/compile-schedule.ts'
import type { Calendars } from '../../domain/schedule/exclusions.ts'
import { dueAtOf } from '../../domain/schedule/jitter.ts'
import { isExcluded, nextRun } from '../../domain/schedule/next-run.ts'
import { type EpochMs, toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { ListedJob, NewJob } from '../../ports/jobs.ts'
import type { JobStats } from '../../ports/rollups.ts'
import { rawField } from '../http/raw-json.ts'

/** Shown instead of the value of a header or a variable, and taken for it when a job is changed. */
export const hiddenValue = '***'

export interface ShapeContext {
  now: EpochMs
  /** The entries of the calendars that the job names. */
  calendars: Calendars
}

export function toJob(job: JobView, context: ShapeContext): Job {
  return {
    job_id: job.jobId,
    key: job.key,
    status: shownStatus(job),
    pause: pauseOf(job),
    ...toDefinition(job),
    schedule: hasSchedule(job) ? showSchedule(job, context) : null,
    version: job.version,
    created_at: toRfc3339(job.createdAt),
    created_by: job.createdBy,
    updated_at: toRfc3339(job.updatedAt),
    updated_by: job.updatedBy,
    partition_id: partitionOf(job.jobId),
  }
}

/** In a list: its payload, if there is one, is written as it is stored. */
export function toListedJob({ payload, health, ...job }: ListedJob, context: ShapeContext): JobOfList {
  const shown = toJob(job, context)
  const execution = { ...shown.execution, ...rawField('payload', payload) }
  return { ...shown, execution, ...showHealth(job, health, context) }
}

function showHealth(job: JobView, health: JobHealth | null, { now }: ShapeContext) {
  return {
    health: healthOf(job, health, now),
    last_execution: health === null ? null : showLast(health.last),
    consecutive_failures: health?.failures ?? 0,
    failing_since: toRfc3339OrNull(health?.failingSince ?? null),
    recovered_at: toRfc3339OrNull(health?.recoveredAt ?? null),
  }
}

function showLast(last: LastExecution): NonNullable<JobOfList['last_execution']> {
  const { executionId, outcome, finishedAt, httpStatus, errorType, errorMessage } = last
  const isBad = outcome !== 'succeeded'
  return {
    execution_id: executionId,
    status: statusOfLast(last),
    finished_at: toRfc3339(finishedAt),
    http_status: httpStatus,
    error: isBad ? { type: errorType, message: errorMessage ?? '' } : null,
  }
}

/** A version of a job, in the form of a request that could have made it. */
export function toDefinition(job: JobVersion): JobVersionList['versions'][number]['job'] {
  return {
    name: job.name,
    description: job.description,
    schedule: hasSchedule(job) ? asGiven(job) : null,
    depends_on: job.dependsOn.map(({ jobId, on }) => ({ job_id: jobId, on })),
    execution: showExecution(job.execution),
    retry_policy: { ...job.retryPolicy },
    priority: job.priority,
    tags: [...job.tags],
    overlap_policy: job.overlapPolicy,
    misfire_policy: job.misfirePolicy,
    misfire_window_seconds: job.misfireWindowSeconds,
    jitter_seconds: job.jitterSeconds,
    concurrency_limit: job.concurrencyLimit,
    concurrency_key: job.concurrencyKey === null ? null : { ...job.concurrencyKey },
    metadata: { ...job.metadata },
  }
}

function showSchedule(job: JobView, context: ShapeContext): Job['schedule'] {
  const schedule = asGiven(job)
  return {
    ...schedule,
    ...(schedule.max_runs === undefined ? {} : { runs: job.runs }),
    next_run_at: toRfc3339OrNull(nextRunAt(job, context)),
    last_run_at: toRfc3339OrNull(job.lastRunAt),
  }
}

function showExecution(execution: Execution): Job['execution'] {
  const shown = { ...execution } as Job['execution']
  for (const { name } of pairsOf(execution.type)) shown[name] = toShown(shown[name] ?? {})
  return shown
}

/** Values that are never read back, as they are shown. */
export function toShown(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(texts).map((name) => [name, hiddenValue]))
}

export function toJobDetails(
  job: JobView,
  { stats, health }: { stats: JobStats; health: JobHealth | null },
  context: ShapeContext,
): JobDetails {
  const { succeeded, failed, timedOut, averageDurationMs, lastStatus } = stats
  const runs = succeeded + failed + timedOut
  return {
    ...toJob(job, context),
    ...showHealth(job, health, context),
    stats: {
      total_runs: runs,
      success_rate: runs === 0 ? null : succeeded / runs,
      avg_duration_ms: averageDurationMs === null ? null : Math.round(averageDurationMs),
      last_status: lastStatus,
    },
  }
}

/** The answer to pause, resume and delete. */
export function toJobState(job: JobView, context: ShapeContext): JobState {
  return {
    job_id: job.jobId,
    status: shownStatus(job),
    pause: pauseOf(job),
    next_run_at: toRfc3339OrNull(nextRunAt(job, context)),
    version: job.version,
    updated_at: toRfc3339(job.updatedAt),
  }
}

/** The view that the store would return of a job that it has just accepted. */
export function viewOf(job: NewJob): JobView {
  const { createdAt: updatedAt, createdBy: updatedBy } = job
  const lastRunAt = job.immediate?.slot ?? null
  const isUnderWay = job.immediate !== null
  return { ...job, pause: null, runs: 0, lastRunAt, isUnderWay, updatedAt, updatedBy }
}

function pauseOf({ pause }: JobView): Job['pause'] {
  if (pause === null) return null
  const { since, reason, by, until } = pause
  return { since: toRfc3339(since), reason, by, until: toRfc3339OrNull(until) }
}

function nextRunAt(job: JobView, { now, calendars }: ShapeContext): EpochMs | null {
  const { slotAt } = job
  if (job.status !== 'ACTIVE' || slotAt === null) return null
  // It has one slot at a time, and the one after it is not known before its end.
  if (isAfterCompletion(job.schedule)) return dueAtOf(job, slotAt)
  const schedule = compileStored(job, calendars)
  if (schedule === null) return null
  // A single slot that is late has not run yet: it is still the next run.
  if (schedule.kind === 'once') return isExcluded(schedule, slotAt) ? null : dueAtOf(job, slotAt)
  // The stored slot may lag behind, and after a change it may lie far ahead. With jitter a slot that is over may still
  // be due.
  let slot = nextRun(schedule, Math.max(now - job.jitterSeconds * 1_000, slotAt - 1) as EpochMs)
  while (slot !== null && dueAtOf(job, slot) <= now) slot = nextRun(schedule, slot)
  return slot === null ? null : dueAtOf(job, slot)
}
