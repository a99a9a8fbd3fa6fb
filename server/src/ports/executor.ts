// Runs an attempt on this machine: a shell command, an artifact, a handler. (HTTP calls have their own, leaner way.)
// The worker keeps the time, the lease and the records; an executor only runs the attempt, and stops when its signal aborts.

import type { LogLevel } from '../domain/history/log.ts'
import type { Execution } from '../domain/jobs/job.ts'
import type { AttemptError } from '../domain/queue/attempt.ts'
import type { ExecutionKind } from '../domain/queue/execution.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { ParentResult } from './graph-runs.ts'

export interface LocalExecutor {
  /** Never rejects. When the signal aborts it stops and resolves; its result then counts for nothing. */
  run(call: LocalCall, context: CallContext): Promise<ExecutorResult>
}

export interface LocalCall {
  execution: Execution
  tenantId: string
  jobId: string
  jobName: string
  executionId: string
  kind: ExecutionKind
  slot: EpochMs
  attempt: number
  idempotencyKey: string
  /** JSON; null: it has none. */
  payload: string | null
  /** The checkpoint that the attempt before left; absent: none. */
  checkpoint?: unknown
  timeoutMs: number
  /** The graph run it belongs to; null: it runs alone. */
  runId: string | null
  /** The parents it runs after; not needed for a shell command. */
  parents: readonly CallParent[]
}

export interface CallParent extends Omit<ParentResult, 'result'> {
  /** The returned value, parsed if it is JSON, else as text; absent: nothing, or it was too large. */
  result?: unknown
}

export interface CallContext {
  /** Aborted when the time is over, the execution was cancelled, or this worker no longer holds it. */
  signal: AbortSignal
  log(level: LogLevel, message: string): void
  /** A sign of life, perhaps with progress and a checkpoint for the next attempt. */
  note(said: { progress?: number; message?: string; checkpoint?: unknown }): void
  /** The CPU time of the attempt, at most once, before its result. Never said: not known. */
  used(cpuMs: number): void
}

export interface ExecutorResult {
  /** Null: it succeeded. */
  error: AttemptError | null
  /** Head of the result, at most `previewBytesMax`. */
  preview: string | null
  isFinal?: boolean
  retryAfterMs?: number
}
