// Operations: long work in bounded steps. A step and how far it came are one transaction, so that nothing of it is done
// twice or left out, wherever a process dies.
import type { NewOperation, Operation, SteppedOperation } from '../domain/jobs/operation.ts'
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { WriteStores } from './requests.ts'

export interface Operations {
  /** 'too_many': the tenant has as many unfinished ones as it may have. */
  create(operation: NewOperation): Promise<'created' | 'too_many'>
  get(tenantId: string, operationId: string): Promise<Operation | null>
  /** Newest first, behind `before`. */
  list(query: { tenantId: string; before: string | null; limit: number }): Promise<{
    operations: Operation[]
    more: boolean
    total: number
  }>
  /**
   * Completed work stays done; executions of a backfill that do not run end. An operation about the end of a tenant, or its
   * restore, is not cancelled. Returns the operation as it is then.
   */
  cancel(tenantId: string, operationId: string): Promise<CancelledOperation | null>
  /**
   * Takes one due operation that no other scheduler holds, lets `work` do a part of it, and writes its progress. Null:
   * none is due. An error thrown by `work` undoes the step; it is tried again later, and after many failures given up.
   */
  step(work: OperationWork): Promise<Operation | null>
  /** When the next one is due; null: none is under way. */
  nextAt(): Promise<EpochMs | null>
  /** Deletes operations that ended `operationDaysKept` ago, at most so many. Returns how many. */
  prune(limit: number): Promise<number>
}

export type CancelledOperation = Operation & {
  /** Executions of a backfill that this cancelled before they ran. Absent: none. */
  cancelled?: readonly SettledAttempt[]
}

/** The stores write in the step's transaction. */
export type OperationWork = (operation: SteppedOperation, stores: WriteStores) => Promise<OperationProgress>

export interface OperationProgress {
  /** Since the step before. */
  done: number
  skipped: number
  /** Everything down to this id is done; null: all is. */
  after: string | null
  /** How long the next step waits. */
  waitMs: number
  /** Why it cannot go on: it has FAILED then. */
  error?: string
}
