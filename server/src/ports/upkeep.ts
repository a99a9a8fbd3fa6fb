// What keeps the whole going when a part is lost or waits. Every scheduler runs it; none leads.

import type { OverlapPolicy, StoredSchedule } from '../domain/job.ts'
import type { Beat } from '../domain/lease-watch.ts'
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
  /** Jobs behind `after` that have something waiting: a trigger, or owed slots. */
  findWaiting(after: string | null, limit: number): Promise<WaitingJob[]>
  /** Lets the next one of each job go if nothing of the job is live. Returns the jobs of which one was let go. */
  release(orders: readonly ReleaseOrder[]): Promise<string[]>
}

export interface WaitingJob {
  jobId: string
  version: number
  tenantId: string
  priority: number
  overlapPolicy: OverlapPolicy
  schedule: StoredSchedule
  anchorAt: EpochMs
  /** The owed slots, from and to included; null: only triggers wait. */
  owed: { from: EpochMs; to: EpochMs } | null
}

export interface ReleaseOrder {
  jobId: string
  version: number
  /** The next owed slot and the one after it; a slot past the owed range ends it. A waiting trigger goes before it: a person is waiting. */
  owed: {
    slot: EpochMs
    next: EpochMs | null
    executionId: string
    route: string
    lane: string
    priority: number
  } | null
}
