// Jobs as the API writes and reads them. Each method is one transaction.
import type { JobStatus, JobVersion, JobView } from '../domain/job.ts'
import type { EpochMs } from '../lib/epoch.ts'

export interface Jobs {
  /** The job, its first version and its cursor; with `immediate` also its one execution. */
  create(job: NewJob): Promise<void>
  get(tenantId: string, jobId: string): Promise<JobView | null>
  /** An execution now, never skipped: behind a live one of the same job it waits, unless overlap is allowed. */
  trigger(order: TriggerOrder): Promise<TriggerOutcome>
}

export interface NewJob extends JobVersion {
  version: 1
  createdAt: EpochMs
  status: JobStatus
  /** The first slot; null when there is none (left). */
  slotAt: EpochMs | null
  /** For IMMEDIATE: its execution, whose id ends in a zero byte, in this lane. */
  immediate: { executionId: string; slot: EpochMs; lane: string } | null
}

export interface TriggerOrder {
  tenantId: string
  jobId: string
  executionId: string
  lane: string
  /** Replaces the job's payload; absent: the job's own. */
  payloadOverride?: unknown
}

export type TriggerOutcome =
  | { kind: 'triggered'; enqueuedAt: EpochMs }
  | { kind: 'not_found' }
  | { kind: 'deleted' }
