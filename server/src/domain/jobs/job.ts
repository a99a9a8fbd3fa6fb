// A job: the durable definition of work and its times. Versions are append-only; an execution runs the version it was
// fired with.
import type { JobStatus, MisfirePolicy, OverlapPolicy } from '@carillon/contract/constants.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { Execution } from '../executors/list.ts'
import type { Dependency } from '../graphs/graph.ts'
import type { RetryPolicy } from '../queue/retry.ts'
import type { ScheduleAnswer } from '../schedule/compile-schedule.ts'
import type { DstField } from '../schedule/cron-pattern.ts'

export type { JobStatus, MisfirePolicy, OverlapPolicy } from '@carillon/contract/constants.ts'
export type { Executor } from '@carillon/contract/executors/list.ts'
export type { Execution } from '../executors/list.ts'

/** As the schedule engine returns it: always an object with its type. */
export type StoredSchedule = ScheduleAnswer['definition']

/** Of a job that runs only after others. The schedule engine refuses it, so no slot is ever read out of it. */
export const noSchedule = { type: 'NONE' } as unknown as StoredSchedule

export function hasSchedule({ schedule }: { schedule: StoredSchedule }): boolean {
  return schedule.type !== noSchedule.type
}

/** Whether it has a single slot. `runsOnce` of the SQL fragments is the same. */
export function runsOnce({ schedule }: { schedule: StoredSchedule }): boolean {
  return schedule.type === 'IMMEDIATE' || schedule.type === 'ONE_TIME'
}

export const partitionsCount = 64

/** The fields of every kind of executor; domain/executors has their own ones. */
export interface AnyExecution {
  /** Absent: none. */
  payload?: unknown
  /** Per attempt. */
  timeout_seconds: number
  /** Of all attempts together, from the start of the first; absent: no limit. */
  total_timeout_seconds?: number
  /** An attempt of which nothing is heard for longer is over; absent: it may be silent. */
  heartbeat_timeout_seconds?: number
}

/** One version of a job, in the form it is stored. */
export interface JobVersion {
  jobId: string
  version: number
  tenantId: string
  name: string
  description: string | null
  tags: readonly string[]
  /** With its behaviour at clock changes spelled out where clock rules differ: see clock-rule.ts. */
  schedule: StoredSchedule
  /** The fields of `schedule` that nobody gave. Null: the version was written by a program that spells out nothing. */
  impliedDst: readonly DstField[] | null
  /** When the job was created or its interval edited: where an interval without a start begins. */
  anchorAt: EpochMs
  execution: Execution
  retryPolicy: RetryPolicy
  /** 1 (highest) to 10. */
  priority: number
  overlapPolicy: OverlapPolicy
  misfirePolicy: MisfirePolicy
  /** Null: by the grain of the schedule. */
  misfireWindowSeconds: number | null
  /** A slot fires up to this much later, always the same for one slot. */
  jitterSeconds: number
  /** Executions of the job that may run at once; null: no limit but the overlap policy. */
  concurrencyLimit: number | null
  /** Executions of all the tenant's jobs with this key that may run at once. */
  concurrencyKey: ConcurrencyKey | null
  /** The jobs it runs after; while there are any, it has no slots of its own. Each job once. */
  dependsOn: readonly Dependency[]
  metadata: Readonly<Record<string, string>>
}

export interface ConcurrencyKey {
  key: string
  limit: number
}

/** Maximum slots of a job that wait behind others; further slots are skipped. */
export const bufferMax = 1_000

/** How many slots of a job may wait behind others; under ALLOW, the slots that a limit holds back. */
export const bufferRoom: Record<OverlapPolicy, number> = {
  ALLOW: bufferMax,
  SKIP: 0,
  BUFFER_ONE: 1,
  BUFFER_ALL: bufferMax,
  CANCEL_RUNNING: bufferMax,
}

/** Whether its executions must be counted before they start: such a job pays for it, others do not. */
export function isLimited(
  job: Pick<JobVersion, 'overlapPolicy' | 'concurrencyLimit' | 'concurrencyKey'>,
): boolean {
  return job.concurrencyKey !== null || (job.overlapPolicy === 'ALLOW' && job.concurrencyLimit !== null)
}

/**
 * Whether its executions are rows of their own from the start instead of positions in a batch: others of the job may wait
 * behind them and must find them by the job, or they have a deadline that maintenance must find.
 */
export function hasOwnRows(
  job: Pick<JobVersion, 'overlapPolicy' | 'concurrencyLimit' | 'concurrencyKey' | 'execution'>,
): boolean {
  const { overlapPolicy, execution } = job
  return (
    isLimited(job) ||
    (overlapPolicy !== 'ALLOW' && bufferRoom[overlapPolicy] > 0) ||
    execution.total_timeout_seconds !== undefined ||
    execution.heartbeat_timeout_seconds !== undefined
  )
}

export interface Pause {
  since: EpochMs
  reason: string | null
  by: string
  /** When it resumes by itself; null: when somebody says so. */
  until: EpochMs | null
}

/** The pause that skipped a slot, which may be over. */
export type SkippingPause = Omit<Pause, 'until'>

/** A job as the API shows it: its current version and where its schedule stands. */
export interface JobView extends JobVersion {
  /** The client's own name for it, unique among the tenant's undeleted jobs. */
  key: string | null
  status: JobStatus
  /** Null unless PAUSED. */
  pause: Pause | null
  /** The slot that fires next as far as the store knows; it may lag behind for dense schedules. */
  slotAt: EpochMs | null
  /** Slots that ran, counted while the schedule has a `max_runs`. */
  runs: number
  /** The latest slot that became an execution. */
  lastRunAt: EpochMs | null
  /** Of a COMPLETED job that runs once: whether its execution has not ended. False for all others. */
  isUnderWay: boolean
  createdAt: EpochMs
  createdBy: string
  updatedAt: EpochMs
  updatedBy: string
}

/** A job that runs once has no slot left when its execution begins; it is shown as COMPLETED when that has ended. */
export function shownStatus({ status, isUnderWay }: Pick<JobView, 'status' | 'isUnderWay'>): JobStatus {
  return status === 'COMPLETED' && isUnderWay ? 'ACTIVE' : status
}

/** The text that lists search in: name, key and tags, a line each. */
export function searchTextOf(job: { name: string; key: string | null; tags: readonly string[] }): string {
  return [job.name, job.key ?? '', ...job.tags].join('\n').toLowerCase()
}

/** The slice of all jobs a job belongs to; the same on every server for ever. */
export function partitionOf(jobId: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < jobId.length; i++) hash = Math.imul(hash ^ jobId.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % partitionsCount
}
