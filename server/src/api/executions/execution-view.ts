// Executions and dead letters as clients see them.
import type { DeadLetter as DeadLetterReply } from '@carillon/contract/dead-letter.ts'
import type { Attempt, Execution, ExecutionItem, ExecutionSearch } from '@carillon/contract/execution.ts'
import { EXECUTOR_FACTS, type TargetName } from '@carillon/contract/executors/list.ts'
import type { Execution as JobExecution } from '../../domain/jobs/job.ts'
import { idempotencyKeyOf } from '../../domain/queue/execution.ts'
import { type EpochMs, epochMs, toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { DeadLetter } from '../../ports/dead-letters.ts'
import type { AttemptView, ExecutionSummary, ExecutionView } from '../../ports/executions.ts'
import type { ParentResult } from '../../ports/graph-runs.ts'
import { rawField } from '../http/raw-json.ts'
import { toParents } from './parent-view.ts'

export function toExecutionItem(one: ExecutionSummary): ExecutionItem {
  return {
    execution_id: one.executionId,
    status: one.status,
    scheduled_time: toScheduledTime(one.slot),
    attempt_number: one.attempt,
    kind: one.kind,
    job_version: one.version,
    enqueued_at: toRfc3339(one.enqueuedAt),
    started_at: toRfc3339OrNull(one.startedAt),
    finished_at: toRfc3339OrNull(one.finishedAt),
    duration_ms: one.durationMs,
    error: errorOf(one),
    worker_id: one.workerId,
    dead_letter: one.deadLetter,
    retry_at: one.status === 'RETRYING' ? toRfc3339OrNull(one.retryAt) : null,
    graph_run_id: one.runId,
    skipped: one.skipped,
  }
}

/** In a list of several jobs. */
export function toFoundExecution(one: ExecutionSummary): ExecutionSearch['executions'][number] {
  return { ...toExecutionItem(one), job_id: one.jobId, job_name: one.jobName }
}

/** `parents`: the executions it runs after. */
export function toExecution(one: ExecutionView, parents: readonly ParentResult[]): Execution {
  const { executionId, jobId, slot } = one
  const { execution, progress } = one
  const payload = one.payloadOverride === undefined ? execution.payload : one.payloadOverride
  return {
    ...toExecutionItem(one),
    job_id: jobId,
    idempotency_key: one.idempotencyKey ?? idempotencyKeyOf(one.kind, { jobId, executionId, slot }),
    callback_response: responseOf(one),
    executor: execution.type,
    callback_url: null,
    ...calledOf(execution),
    progress: progress === null ? null : { ...progress, at: toRfc3339(progress.at) },
    ...(one.checkpoint === undefined ? {} : { checkpoint: one.checkpoint }),
    metadata: { ...one.metadata },
    ...(payload === undefined ? {} : { payload }),
    retry_of: one.retryOf,
    parents: toParents(parents),
    attempts: one.attempts.map(toAttempt),
  }
}

/** The called address, handler, command or artifact. */
function calledOf(execution: JobExecution): Partial<Record<TargetName, string>> {
  const { target } = EXECUTOR_FACTS[execution.type]
  return { [target]: (execution as { [Name in TargetName]?: string })[target] }
}

export function toDeadLetter(one: DeadLetter): DeadLetterReply {
  return {
    execution_id: one.executionId,
    job_id: one.jobId,
    job_name: one.jobName,
    dlq_reason: one.reason,
    dlq_timestamp: toRfc3339(one.diedAt),
    total_attempts: one.attempts,
    error_history: one.errors.map(({ attempt, at, type, message, httpStatus }) => ({
      attempt_number: attempt,
      at: toRfc3339(at),
      type,
      message,
      http_status: httpStatus,
    })),
    ...rawField('payload', one.payload),
    edited_at: toRfc3339OrNull(one.editedAt),
    auto_redrive_at: toRfc3339OrNull(one.redriveAt),
    graph_run_id: one.runId,
  }
}

/** Always in whole seconds: this text is part of idempotency keys. */
export function toScheduledTime(slot: EpochMs): string {
  return toRfc3339(epochMs(Math.floor(slot / 1_000) * 1_000))
}

function toAttempt(one: AttemptView): Attempt {
  return {
    attempt_number: one.attempt,
    outcome: one.outcome,
    worker_id: one.workerId,
    enqueued_at: toRfc3339(one.enqueuedAt),
    started_at: toRfc3339OrNull(one.startedAt),
    finished_at: toRfc3339OrNull(one.finishedAt),
    duration_ms: one.durationMs,
    http_status: one.httpStatus,
    error: errorOf(one),
    response_preview: one.preview,
    usage: one.usage && {
      cpu_ms: one.usage.cpuMs,
      bytes_sent: one.usage.bytesSent,
      bytes_received: one.usage.bytesReceived,
    },
  }
}

/** Of the latest attempt; while that one runs there is none. */
function responseOf({ attempt, attempts }: ExecutionView): Execution['callback_response'] {
  const latest = attempts.at(-1)
  if (latest === undefined || latest.attempt !== attempt || latest.httpStatus === null) return null
  return { http_status: latest.httpStatus, body_preview: latest.preview }
}

function errorOf({ error, httpStatus }: Pick<AttemptView, 'error' | 'httpStatus'>): Attempt['error'] {
  return error === null ? null : { ...error, http_status: httpStatus }
}
