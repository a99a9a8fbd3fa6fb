// Executions as the API stops and repeats them.
import type { ExecutionStatus } from '../domain/execution.ts'
import type { EpochMs } from '../lib/epoch.ts'

export interface Control {
  /** Ends an execution that is not running; it starts no attempt any more. */
  cancel(target: { tenantId: string; executionId: string; message: string }): Promise<CancelOutcome>
  /** A new execution of the job's current version in place of one that has ended. Its dead letter, if any, is gone. */
  retry(order: RetryOrder): Promise<RetryOutcome>
}

export type CancelOutcome =
  /** Also when it was cancelled before. */
  | { kind: 'cancelled'; jobId: string }
  | { kind: 'running' }
  | { kind: 'finished'; status: ExecutionStatus }
  | { kind: 'not_found' }

export interface RetryOrder {
  tenantId: string
  executionId: string
  newExecutionId: string
  lane: string
  /** Replaces the payload; absent: that of the dead letter, else that of the execution if it had one of its own, else the job's. */
  payloadOverride?: unknown
}

export type RetryOutcome =
  | { kind: 'retried'; jobId: string; enqueuedAt: EpochMs; slot: EpochMs }
  | { kind: 'not_finished'; status: ExecutionStatus }
  | { kind: 'job_deleted' }
  | { kind: 'not_found' }
