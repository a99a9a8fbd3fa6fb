// Recovery from lost workers, and the release of waiting work. Every scheduler runs it; there is no leader.

import type { Executor } from '../domain/jobs/job.ts'
import type { AttemptEnd, SettledAttempt } from '../domain/queue/attempt.ts'
import type { ExecutionKind, LiveState } from '../domain/queue/execution.ts'
import type { Beat } from '../domain/queue/lease-watch.ts'
import type { KeyCounts, ReleasePlan, WaitingJob } from '../domain/queue/release.ts'
import type { RetryPolicy } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Maintenance {
  /** The counters of all leases: one that is left out would never be reclaimed. */
  watch(): Promise<Beat[]>
  /**
   * Ends the lease if its counter has not changed since it was read: a worker that has sent a heartbeat since then
   * keeps its lease. The attempts it held are recorded as lost; their executions run elsewhere, or are dead after too
   * many losses. Returns the attempts that it held. The worker is shown as DEAD for an hour.
   */
  reclaim(lease: Beat): Promise<SettledAttempt[] | 'alive'>
  /** Makes due retries claimable; returns their number. */
  wake(limit: number): Promise<number>
  /** When the next retry comes due; null: none is waiting. */
  nextWakeAt(): Promise<EpochMs | null>
  /**
   * Jobs after `after`, by id, that have waiting executions, owed slots, or a next slot that awaits an end; and deleted
   * jobs with executions still to end. The first page also has the jobs that have waited longest for a concurrency key.
   */
  findWaiting(after: string | null, limit: number): Promise<string[]>
  /**
   * Of the next tenants after `after`, by id, the first jobs that have waiting executions, and the first with a next slot that
   * awaits an end. `last`: the last of these tenants; null: there are no further ones.
   */
  findWaitingOfTenants(
    after: string | null,
    limits: WaitingOfTenants,
  ): Promise<{ jobIds: string[]; last: string | null }>
  /**
   * Locks the jobs, lets `decide` choose the executions to release of each, and writes that. Jobs locked by others are
   * left out. Executions that deleted jobs left behind end, in transactions of their own: at most `endedWithJobMax` in
   * batches and as many alone.
   */
  release(
    jobIds: readonly string[],
    decide: (job: WaitingJob, keys: KeyCounts) => ReleaseOrder,
  ): Promise<Released>
  /** Executions past a deadline: for an attempt, its heartbeats, all attempts together, or the stop after a cancel. */
  findOverdue(limit: number): Promise<Overdue[]>
  /**
   * Ends the executions that are still overdue and unchanged since they were found; returns them. Running ones whose
   * worker has not beaten for `workerLeaseMs` are left to the reclaim.
   */
  timeOut(ends: readonly TimedOut[]): Promise<string[]>
}

export interface Overdue {
  executionId: string
  jobId: string
  kind: ExecutionKind
  /** The executor from the version it runs. */
  executor: Executor
  enqueuedAt: EpochMs
  /** running and awaiting: an attempt is under way. */
  state: LiveState
  attempt: number
  losses: number
  fence: number
  /** Start of the running attempt: as it reported, else the time of its claim; null: no attempt runs. */
  startedAt: EpochMs | null
  /** The missed deadline: of the attempt, its heartbeats, all attempts together, or the stop after a cancel. */
  cause: 'attempt' | 'silent' | 'total' | 'cancelled'
  timeoutSeconds: number
  totalTimeoutSeconds: number | null
  heartbeatTimeoutSeconds: number | null
  totalDeadline: EpochMs | null
  retryPolicy: RetryPolicy
}

export interface TimedOut extends Pick<Overdue, 'executionId' | 'attempt' | 'fence'> {
  end: AttemptEnd
}

/** A plan with the data that executions of owed slots need. */
export interface ReleaseOrder extends ReleasePlan {
  /** One execution for each owed slot, on the route of its job. */
  executions: readonly { executionId: string; lane: string; priority: number; runId: string | null }[]
}

/** The result of a release, for the loops to wake. */
export interface Released {
  /** Executions that became claimable. */
  ready: number
  /** Running executions were cancelled. */
  cancelled: boolean
  /** Jobs have a new next slot. */
  planned: boolean
  /** New executions wait, or waiting ones are gone: there may be more to release. */
  more: boolean
  /** Executions that were cancelled before they ran. Absent: none. */
  settled?: readonly SettledAttempt[]
}

export interface WaitingOfTenants {
  tenants: number
  /** Of each tenant: waiting executions, and jobs that await an end. */
  each: number
}
