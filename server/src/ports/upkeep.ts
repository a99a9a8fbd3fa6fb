// What keeps the whole going when a part is lost or waits. Every scheduler runs it; none leads.

import type { Beat } from '../domain/lease-watch.ts'
import type { KeyCounts, ReleasePlan, WaitingJob } from '../domain/release.ts'
import type { EpochMs } from '../lib/epoch.ts'

export interface Upkeep {
  /** The counters of all leases, at most `workersMax`. */
  watch(): Promise<Beat[]>
  /**
   * Ends the lease if its counter is still the one that was seen: a worker that beat meanwhile lives on. What it held
   * is recorded as lost and runs elsewhere, or is dead after too many losses.
   */
  reclaim(lease: Beat): Promise<'reclaimed' | 'alive'>
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
}

/** A plan with what the executions of owed slots need. */
export interface ReleaseOrder extends ReleasePlan {
  /** One for each of the owed slots. */
  executions: readonly { executionId: string; route: string; lane: string; priority: number }[]
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
