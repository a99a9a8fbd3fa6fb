// Executions as the API stops and repeats them.
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import type { ExecutionStatus } from '../domain/queue/execution.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { ExecutionQuery } from './executions.ts'

export interface Control {
  /** Ends an execution; one that is running once its worker has stopped it. It starts no attempt any more. */
  cancel(target: { tenantId: string; executionId: string; message: string }): Promise<CancelOutcome>
  /** The same for many. Ended executions are left alone. */
  cancelMany(target: {
    tenantId: string
    executionIds: readonly string[]
    message: string
  }): Promise<{ cancelled: SettledAttempt[]; cancelling: number }>
  /** Executions that match and have not ended, newest first. */
  findUnended(query: ExecutionQuery): Promise<{ executionIds: string[]; next: string | null }>
  /** A new execution of the job's current version in place of an ended one. Its dead letter, if any, is gone. */
  retry(order: RetryOrder): Promise<RetryOutcome>
}

export type CancelOutcome =
  /** It is CANCELLED: by this call, or by an earlier one, and then nothing was settled now. */
  | { kind: 'cancelled'; jobId: string; settled: SettledAttempt | null }
  /** It runs, and is being stopped, since this call or an earlier one. */
  | { kind: 'cancelling'; jobId: string }
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
