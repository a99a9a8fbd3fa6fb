// The summary of an execution in lists, in memory, wherever it is stored.
import {
  type AttemptOutcome,
  executionIdAt,
  statusOfLive,
  statusOfOutcome,
} from '../../src/domain/queue/execution.ts'
import type { AttemptView, ExecutionSummary, ExecutionView } from '../../src/ports/executions.ts'
import type { AttemptRow, BatchEntry, BatchRow, JobRow, LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

export function summaryOfLive(store: MemoryStore, row: LiveRow): ExecutionSummary {
  // Between two attempts it shows the result of the last one.
  const isRunning = row.state === 'running' || row.state === 'awaiting'
  const last = isRunning ? undefined : store.log.of(row.executionId).at(-1)
  return {
    executionId: row.executionId,
    jobId: row.jobId,
    jobName: nameOf(store.jobs.get(row.jobId)!),
    version: row.version,
    kind: row.kind,
    status: statusOfLive(row.state, row.attempt, row.cancelledAt !== null),
    slot: row.slot,
    attempt: row.attempt,
    enqueuedAt: row.enqueuedAt,
    startedAt: row.startedAt ?? last?.startedAt ?? null,
    finishedAt: last?.finishedAt ?? null,
    durationMs: last?.durationMs ?? null,
    workerId: row.workerId ?? row.callerId ?? last?.workerId ?? null,
    httpStatus: last?.httpStatus ?? null,
    error: last?.error ?? null,
    deadLetter: false,
    retryAt: row.readyAt,
    runId: row.runId,
    skipped: null,
  }
}

export function summaryOfEntry(
  store: MemoryStore,
  { batchId, kind, workerId, claimedAt, enqueuedAt, cancels }: BatchRow,
  { position, jobId, version, slot }: BatchEntry,
): ExecutionSummary {
  return {
    executionId: executionIdAt(batchId, position),
    jobId,
    jobName: nameOf(store.jobs.get(jobId)!),
    version,
    kind,
    status: statusOfLive(workerId === null ? 'ready' : 'running', 0, cancels.has(position)),
    slot,
    attempt: workerId === null ? 0 : 1,
    enqueuedAt,
    startedAt: claimedAt,
    finishedAt: null,
    durationMs: null,
    workerId,
    httpStatus: null,
    error: null,
    deadLetter: false,
    retryAt: null,
    runId: null,
    skipped: null,
  }
}

export function summaryOfFinal(store: MemoryStore, row: AttemptRow): ExecutionSummary {
  const { executionId, jobId, version, kind, slot, enqueuedAt, deadLetter } = row
  const { attempt, startedAt, finishedAt, durationMs, workerId, httpStatus, error } = row
  const { runId, skipReason, skipMessage } = row
  return {
    executionId,
    jobId,
    jobName: nameOf(store.jobs.get(jobId)!),
    version,
    kind,
    status: statusOfOutcome(row.outcome),
    slot,
    attempt,
    enqueuedAt,
    startedAt,
    finishedAt,
    durationMs,
    workerId,
    httpStatus,
    error,
    deadLetter,
    retryAt: null,
    runId,
    skipped: skipReason === null ? null : { reason: skipReason, message: skipMessage ?? '' },
  }
}

/** The last progress and checkpoint that an unended execution reported. */
export function saidOf(row: LiveRow | undefined): Pick<ExecutionView, 'progress' | 'checkpoint'> {
  if (row === undefined) return { progress: null }
  const { heardAt, progress: fraction, progressText: message } = row
  return {
    progress: heardAt === null ? null : { fraction, message, at: heardAt },
    ...('checkpoint' in row ? { checkpoint: row.checkpoint } : {}),
  }
}

export function attemptsOf(store: MemoryStore, executionId: string): AttemptView[] {
  return store.log.of(executionId).filter(isAttempt).map(attemptView)
}

/**
 * The end of an execution between attempts is no attempt: a cancel, a skip, or the time limit of all attempts together.
 */
function isAttempt({ outcome, startedAt, workerId }: AttemptRow): boolean {
  if (outcome === 'skipped') return false
  return startedAt !== null || (outcome === 'timed_out' ? workerId !== null : outcome !== 'cancelled')
}

function attemptView(row: AttemptRow): AttemptView {
  const { attempt, workerId, enqueuedAt, startedAt, finishedAt, durationMs } = row
  const { httpStatus, error, preview, usage } = row
  const times = { enqueuedAt, startedAt, finishedAt, durationMs }
  // Others are left out: see isAttempt.
  const outcome = row.outcome as AttemptOutcome
  return { attempt, outcome, workerId, ...times, httpStatus, error, preview, usage }
}

function nameOf({ versions, version }: JobRow): string {
  return versions.get(version)!.name
}
