// An execution in the test kit, as a test sees it.
import type { JobParent } from './define-job.ts'
import type { LogLevel } from './run-job.ts'

export type RunStatus =
  | 'WAITING_DEPENDENCIES'
  | 'PENDING'
  | 'RUNNING'
  | 'RETRYING'
  | 'SUCCEEDED'
  | 'FAILED'
  | 'TIMED_OUT'
  | 'CANCELLED'
  | 'SKIPPED'

export interface TestAttempt {
  readonly attempt: number
  readonly startedAt: Date
  /** Null while it runs. */
  finishedAt: Date | null
  outcome: 'running' | 'succeeded' | 'failed' | 'timed_out' | 'cancelled'
  error: { type: string; message: string } | null
}

/** An execution, as it stands now. */
export interface TestRun {
  readonly executionId: string
  readonly key: string
  /** dependency: it runs after others, in a graph run. */
  readonly kind: 'slot' | 'trigger' | 'dependency'
  readonly scheduledTime: Date
  readonly payload: unknown
  readonly status: RunStatus
  /** The return value of the handler, as JSON would deliver it. */
  readonly result: unknown
  /** Of the latest attempt that ended. */
  readonly error: { type: string; message: string } | null
  /** When the next attempt starts; null unless RETRYING. */
  readonly retryAt: Date | null
  readonly attempts: readonly TestAttempt[]
  readonly checkpoint: unknown
  readonly progress: { fraction: number; text: string | null } | null
  /** The graph run it belongs to; null: it runs alone. */
  readonly graphRunId: string | null
  /** The executions it runs after, as its handler gets them; empty before its turn. */
  readonly parents: readonly JobParent[]
  /** Why an execution of a graph run was skipped; null: it was not. */
  readonly skipMessage: string | null
  readonly logs: readonly { attempt: number; at: Date; level: LogLevel; message: string }[]
}
