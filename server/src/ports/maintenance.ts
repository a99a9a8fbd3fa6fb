// What keeps the whole going when a part is lost or waits. Every scheduler runs it; none leads.

import type { Executor } from '../domain/jobs/job.ts'
import type { AttemptEnd, SettledAttempt } from '../domain/queue/attempt.ts'
import type { ExecutionKind, LiveState } from '../domain/queue/execution.ts'
import type { Beat } from '../domain/queue/lease-watch.ts'
import type { KeyCounts, ReleasePlan, WaitingJob } from '../domain/queue/release.ts'
import type { RetryPolicy } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Maintenance {
  /** The counters of all leases, at most `workersMax`. */
  watch(): Promise<Beat[]>
  /**
   * Ends the lease if its counter is still the one that was seen: a worker that beat meanwhile lives on. What it held
   * is recorded as lost and runs elsewhere, or is dead after too many losses. Returns the
   * attempts that it held.
   */
  reclaim(lease: Beat): Promise<SettledAttempt[] | 'alive'>
  /** Makes retries whose time has come claimable; returns how many. */
  wake(limit: number): Promise<number>
  /** When the next retry comes due; null: none is waiting. */
  nextWakeAt(): Promise<EpochMs | null>
  /**
   * Jobs behind `after` of which something waits: executions, owed slots, or a next slot that awaits an end. The first
   * page also has the jobs that have waited longest for a concurrency key.
   */
  findWaiting(after: string | null, limit: number): Promise<string[]>
  /** Locks the jobs, lets `decide` say what may go of each, and writes that. Jobs that others have locked are left out. */
  release(
    jobIds: readonly string[],
    decide: (job: WaitingJob, keys: KeyCounts) => ReleaseOrder,
  ): Promise<Released>
  /** Executions whose time is over: of an attempt, of its silence, of all attempts, or to stop after a cancel. */
  findOverdue(limit: number): Promise<Overdue[]>
  /** Ends those that are still overdue and as they were found; returns them. */
  timeOut(ends: readonly TimedOut[]): Promise<string[]>
}

export interface Overdue {
  executionId: string
  jobId: string
  kind: ExecutionKind
  /** What the version it runs says. */
  executor: Executor
  enqueuedAt: EpochMs
  /** running and awaiting: an attempt is under way. */
  state: LiveState
  attempt: number
  losses: number
  fence: number
  /** Of the attempt under way, when it was claimed unless it said otherwise; null: there is none. */
  startedAt: EpochMs | null
  /** Cancelled: somebody cancelled it and it did not stop in time. */
  cause: 'attempt' | 'silent' | 'total' | 'cancelled'
  timeoutSeconds: number
  totalTimeoutSeconds: number | null
  heartbeatTimeoutSeconds: number | null
  totalDeadline: EpochMs | null
  retryPolicy: RetryPolicy
}

export interface TimedOut {
  executionId: string
  attempt: number
  fence: number
  end: AttemptEnd
}

/** A plan with what the executions of owed slots need. */
export interface ReleaseOrder extends ReleasePlan {
  /** One for each of the owed slots; each goes on the route of its job. */
  executions: readonly { executionId: string; lane: string; priority: number; runId: string | null }[]
}

/** What came of it, for whoever is to be woken. */
export interface Released {
  /** Executions that became claimable. */
  ready: number
  /** Running executions were cancelled. */
  cancelled: boolean
  /** Jobs have a new next slot. */
  planned: boolean
  /** Executions wait that did not before, or what waited is gone: there may be more to release. */
  more: boolean
}
