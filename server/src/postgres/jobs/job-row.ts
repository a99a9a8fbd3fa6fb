// A job as PostgreSQL returns it, and as it takes a new one.

import type { DependencyRule } from '../../domain/graphs/graph.ts'
import {
  type Execution,
  hasOwnRows,
  isLimited,
  type JobVersion,
  type JobView,
  partitionOf,
  searchTextOf,
} from '../../domain/jobs/job.ts'
import { routeOf } from '../../domain/queue/route.ts'
import { calendarNames } from '../../domain/schedule/exclusions.ts'
import { dueAtOf } from '../../domain/schedule/jitter.ts'
import { lookAheadMs } from '../../domain/scheduling/look-ahead.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { NewJob } from '../../ports/jobs.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import { jobItem } from './items.ts'

/** A job due sooner is recorded as changed for its scheduler; a later one is found by the next load of the window. */
export const noticeMs = 2 * lookAheadMs

/** A version in its columns: some fields are made of several. */
export type VersionRow = Columns<Omit<JobVersion, 'concurrencyKey' | 'dependsOn'>> & {
  concurrency_key: string | null
  concurrency_key_limit: number | null
  depends_on: { job_id: string; on: DependencyRule }[] | null
}

type OwnRow = Columns<Omit<JobView, keyof JobVersion | 'pause'>>

interface PauseRow {
  paused_at: EpochMs | null
  pause_reason: string | null
  paused_by: string | null
  resume_at: EpochMs | null
}

export type JobRow = VersionRow & OwnRow & PauseRow

export function toJobVersion(row: VersionRow): JobVersion {
  const { concurrency_key, concurrency_key_limit, depends_on, ...same } = row
  return {
    ...fromColumns<Omit<JobVersion, 'concurrencyKey' | 'dependsOn'>>(same),
    concurrencyKey: concurrencyKeyOf({ concurrency_key, concurrency_key_limit }),
    dependsOn: (depends_on ?? []).map(({ job_id, on }) => ({ jobId: job_id, on })),
  }
}

export function toJobView({ paused_at, pause_reason, paused_by, resume_at, ...row }: JobRow): JobView {
  const pause = pauseOf({ paused_at, pause_reason, paused_by, resume_at })
  return { ...(toJobVersion(row) as Omit<JobView, 'pause'>), pause }
}

function concurrencyKeyOf({
  concurrency_key: key,
  concurrency_key_limit: limit,
}: Pick<JobRow, 'concurrency_key' | 'concurrency_key_limit'>) {
  return key === null ? null : { key, limit: limit! }
}

function pauseOf({ paused_at: since, pause_reason: reason, paused_by: by, resume_at: until }: PauseRow) {
  return since === null ? null : { since, reason, by: by!, until }
}

/** One element of the parameter of insertJobs. */
export function toJobItem(job: NewJob): string {
  const { immediate, slotAt, concurrencyKey } = job
  return jobItem.encodeOne({
    ...job,
    ...leanColumns(job.execution),
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

/** The columns of a version that lists read instead of its payload. */
export function leanColumns({ payload, ...execution }: Execution): {
  leanExecution: object | null
  payloadBytes: number
} {
  if (payload === undefined) return { leanExecution: null, payloadBytes: 0 }
  return { leanExecution: execution, payloadBytes: Buffer.byteLength(JSON.stringify(payload)) }
}

/** The column of a version; null: it depends on nothing. */
export function toDependsOn({ dependsOn }: Pick<NewJob, 'dependsOn'>): JobRow['depends_on'] {
  return dependsOn.length === 0 ? null : dependsOn.map(({ jobId, on }) => ({ job_id: jobId, on }))
}

export function isKeyTaken(error: unknown): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string }
  return code === '23505' && constraint === 'jobs_by_key'
}
