// How an attempt ends in memory: its record, and the dead letter if it was the last one and in vain.

import type { ExecutionSkipReason } from '../../src/domain/graphs/graph-run.ts'
import { addEnded, type EndedExecution, healthMessageLengthMax } from '../../src/domain/jobs/job-health.ts'
import type { AttemptEnd, DeadReason, SettledAttempt } from '../../src/domain/queue/attempt.ts'
import { executionIdAt, idempotencyKeyOf } from '../../src/domain/queue/execution.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { makeLive } from './insert-live.ts'
import type { AttemptRow, BatchEntry, BatchRow, LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

export type RecordedEnd = Omit<AttemptEnd, 'outcome' | 'startedAt' | 'durationMs' | 'retryAt'> &
  Pick<AttemptRow, 'outcome' | 'startedAt' | 'durationMs'> & { final: boolean; skip?: Skip }

/** Why a node of a graph run did not run. */
interface Skip {
  reason: ExecutionSkipReason
  message: string
}

/** The end of a cancelled execution; `said`: the known facts about the attempt it was in. */
export function cancelledEnd(
  store: MemoryStore,
  message: string,
  said: Partial<
    Pick<RecordedEnd, 'startedAt' | 'finishedAt' | 'durationMs' | 'httpStatus' | 'preview' | 'usage'>
  > = {},
): RecordedEnd {
  const { startedAt = null, finishedAt = store.now() } = said
  const { durationMs = null, httpStatus = null, preview = null, usage } = said
  const error = { type: 'CANCELLED', message } as const
  const times = { startedAt, finishedAt, durationMs }
  const used = usage === undefined ? {} : { usage }
  return {
    outcome: 'cancelled',
    ...times,
    httpStatus,
    error,
    preview,
    ...used,
    final: true,
    deadReason: null,
  }
}

const unknownUsage = { cpuMs: null, bytesSent: null, bytesReceived: null }

/** How an execution ends that is never let go. */
export function skippedEnd(store: MemoryStore, skip: Skip): RecordedEnd {
  const times = { startedAt: null, finishedAt: store.now(), durationMs: null }
  const said = { httpStatus: null, error: null, preview: null }
  return { outcome: 'skipped', ...times, ...said, final: true, deadReason: null, skip }
}

/** Writes the record of the attempt that `row` is in, by the worker that holds it, if one does. */
export function recordAttempt(
  store: MemoryStore,
  row: LiveRow,
  workerId: string | null,
  end: RecordedEnd,
): AttemptRow {
  const job = store.jobs.get(row.jobId)!
  const recorded: AttemptRow = {
    recordedAt: store.now(),
    tenantId: row.tenantId,
    jobId: row.jobId,
    version: row.version,
    executionId: row.executionId,
    attempt: row.attempt,
    final: end.final,
    kind: row.kind,
    outcome: end.outcome,
    slot: row.slot,
    enqueuedAt: row.enqueuedAt,
    startedAt: end.startedAt,
    finishedAt: end.finishedAt,
    durationMs: end.durationMs,
    workerId,
    httpStatus: end.httpStatus,
    error: end.error,
    preview: end.preview,
    usage: end.usage ? { ...unknownUsage, ...end.usage } : null,
    deadLetter: end.deadReason !== null,
    ...('payloadOverride' in row ? { payloadOverride: row.payloadOverride } : {}),
    idempotencyKey: row.idempotencyKey,
    retryOf: row.retryOf,
    runId: row.runId,
    skipReason: end.skip?.reason ?? null,
    skipMessage: end.skip?.message ?? null,
  }
  store.log.add(recorded)
  if (end.final) {
    job.ended.add(row.executionId)
    job.health = addEnded(job.health, toEnded(recorded))
  }
  if (end.deadReason !== null) addDeadLetter(store, row, end.deadReason)
  return recorded
}

function toEnded({ error, ...row }: AttemptRow): EndedExecution {
  const { executionId, outcome, attempt, httpStatus } = row
  return {
    ...{ executionId, outcome, attempt, httpStatus },
    finishedAt: row.finishedAt ?? row.recordedAt,
    errorType: error?.type ?? null,
    errorMessage: error?.message.slice(0, healthMessageLengthMax) ?? null,
  }
}

/** The last recorded attempt of an execution, in the form sent to listeners that did not hear of it from its runner. */
export function settledOf(store: MemoryStore, executionId: string): SettledAttempt {
  return toSettled(store, store.log.of(executionId).at(-1)!)
}

export function toSettled(store: MemoryStore, recorded: AttemptRow): SettledAttempt {
  const { executionId, attempt, kind, jobId, version, outcome, final, enqueuedAt, recordedAt } = recorded
  const { execution } = store.jobs.get(jobId)!.versions.get(version)!
  const settled = outcome as SettledAttempt['outcome']
  const times = { enqueuedAt, recordedAt }
  return { executionId, attempt, kind, executor: execution.type, outcome: settled, isFinal: final, ...times }
}

function addDeadLetter(store: MemoryStore, row: LiveRow, reason: DeadReason): void {
  const { executionId, jobId, tenantId, slot } = row
  const { name, execution, retryPolicy } = store.jobs.get(jobId)!.versions.get(row.version)!
  const errors = store.log.of(executionId).filter(({ error }) => error !== null)
  const { auto_redrive_after_seconds: afterSeconds } = retryPolicy
  const diedAt = store.now()
  const from = 'payloadOverride' in row ? { payload: row.payloadOverride } : execution
  store.deadLetters.set(executionId, {
    executionId,
    jobId,
    tenantId,
    jobName: name,
    reason,
    diedAt,
    attempts: row.attempt,
    errors: errors.map(({ attempt, finishedAt, recordedAt, error, httpStatus }) => {
      return { attempt, at: finishedAt ?? recordedAt, type: error!.type, message: error!.message, httpStatus }
    }),
    ...('payload' in from ? { payload: from.payload } : {}),
    editedAt: null,
    // Once: an execution that was already redriven, automatically or by a person, waits for a person.
    redriveAt:
      afterSeconds === undefined || row.kind === 'redrive' ? null : epochMs(diedAt + afterSeconds * 1_000),
    runId: row.runId,
    idempotencyKey: row.idempotencyKey ?? idempotencyKeyOf(row.kind, row),
    slot,
  })
}

/** An execution as it leaves its batch: ready, no attempt spent, its rank and fence kept. */
export function leaveBatch(store: MemoryStore, batch: BatchRow, entry: BatchEntry): LiveRow {
  const { kind, route, lane, priority, enqueuedAt, rank, fence } = batch
  const { jobId, version, slot } = entry
  const executionId = executionIdAt(batch.batchId, entry.position)
  const job = store.jobs.get(jobId)!
  const { tenantId } = job
  const queued = { route, lane, priority, enqueuedAt, rank }
  job.batched.delete(entry)
  const own = 'payloadOverride' in entry ? { payloadOverride: entry.payloadOverride } : {}
  return makeLive({ executionId, jobId, version, tenantId, kind, slot, ...queued, fence, ...own })
}
