// A job as PostgreSQL returns it, and as it takes a new one.

import type { DependencyRule } from '../../domain/graphs/graph.ts'
import {
  type Execution,
  hasOwnRows,
  isLimited,
  type JobStatus,
  type JobVersion,
  type JobView,
  type MisfirePolicy,
  type OverlapPolicy,
  partitionOf,
  type StoredSchedule,
  searchTextOf,
} from '../../domain/jobs/job.ts'
import type { RetryPolicy } from '../../domain/queue/retry.ts'
import { routeOf } from '../../domain/queue/route.ts'
import { calendarNames } from '../../domain/schedule/exclusions.ts'
import { dueAtOf } from '../../domain/schedule/jitter.ts'
import { lookAheadMs } from '../../domain/scheduling/look-ahead.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { NewJob } from '../../ports/jobs.ts'
import { jobItem } from './items.ts'

/** A job due sooner is recorded as changed for its scheduler; a later one is found by the next load of the window. */
export const noticeMs = 2 * lookAheadMs

export interface JobRow {
  job_id: string
  version: number
  tenant_id: string
  key: string | null
  name: string
  description: string | null
  tags: string[]
  schedule: StoredSchedule
  anchor_at: EpochMs
  execution: Execution
  retry_policy: RetryPolicy
  priority: number
  overlap_policy: OverlapPolicy
  misfire_policy: MisfirePolicy
  misfire_window_seconds: number | null
  jitter_seconds: number
  concurrency_limit: number | null
  concurrency_key: string | null
  concurrency_key_limit: number | null
  depends_on: { job_id: string; on: DependencyRule }[] | null
  metadata: Record<string, string>
  status: JobStatus
  paused_at: EpochMs | null
  pause_reason: string | null
  paused_by: string | null
  resume_at: EpochMs | null
  slot_at: EpochMs | null
  runs: number
  last_run_at: EpochMs | null
  created_at: EpochMs
  created_by: string
  updated_at: EpochMs
  updated_by: string
}

export function toJobVersion(row: Omit<JobRow, 'created_at' | 'created_by'>): JobVersion {
  return {
    jobId: row.job_id,
    version: row.version,
    tenantId: row.tenant_id,
    name: row.name,
    description: row.description,
    tags: row.tags,
    schedule: row.schedule,
    anchorAt: row.anchor_at,
    execution: row.execution,
    retryPolicy: row.retry_policy,
    priority: row.priority,
    overlapPolicy: row.overlap_policy,
    misfirePolicy: row.misfire_policy,
    misfireWindowSeconds: row.misfire_window_seconds,
    jitterSeconds: row.jitter_seconds,
    concurrencyLimit: row.concurrency_limit,
    concurrencyKey: concurrencyKeyOf(row),
    dependsOn: (row.depends_on ?? []).map(({ job_id, on }) => ({ jobId: job_id, on })),
    metadata: row.metadata,
  }
}

export function toJobView(row: JobRow): JobView {
  return {
    ...toJobVersion(row),
    key: row.key,
    status: row.status,
    pause: pauseOf(row),
    slotAt: row.slot_at,
    runs: row.runs,
    lastRunAt: row.last_run_at,
    createdAt: row.created_at,
    createdBy: row.created_by,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  }
}

function concurrencyKeyOf({
  concurrency_key: key,
  concurrency_key_limit: limit,
}: Pick<JobRow, 'concurrency_key' | 'concurrency_key_limit'>) {
  return key === null ? null : { key, limit: limit! }
}

function pauseOf({ paused_at: since, pause_reason: reason, paused_by: by, resume_at: until }: JobRow) {
  return since === null ? null : { since, reason, by: by!, until }
}

/** One element of the parameter of insertJobs. */
export function toJobItem(job: NewJob): string {
  const { immediate, slotAt, concurrencyKey } = job
  return jobItem.encodeOne({
    ...job,
    createdMs: job.createdAt,
    search: searchTextOf(job),
    anchorMs: job.anchorAt,
    concurrencyKey: concurrencyKey?.key ?? null,
    concurrencyKeyLimit: concurrencyKey?.limit ?? null,
    calendars: calendarNames(job.schedule),
    limited: isLimited(job),
    route: routeOf(job),
    ownRows: hasOwnRows(job),
    dependsOn: toDependsOn(job),
    partitionId: partitionOf(job.jobId),
    slotMs: slotAt,
    dueMs: slotAt === null ? null : dueAtOf(job, slotAt),
    firstSlotMs: immediate?.slot ?? null,
    executionId: immediate?.executionId ?? null,
    lane: immediate?.lane ?? null,
  })
}

/** The column of a version; null: it depends on nothing. */
export function toDependsOn({ dependsOn }: Pick<NewJob, 'dependsOn'>): JobRow['depends_on'] {
  return dependsOn.length === 0 ? null : dependsOn.map(({ jobId, on }) => ({ job_id: jobId, on }))
}

export function isKeyTaken(error: unknown): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string }
  return code === '23505' && constraint === 'jobs_by_key'
}
