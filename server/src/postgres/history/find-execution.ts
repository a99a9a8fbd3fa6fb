// One execution with its attempts, wherever it is: in a batch, in `live`, or recorded.

import type { ExecutionSkipReason } from '../../domain/graphs/graph-run.ts'
import type { Execution } from '../../domain/jobs/job.ts'
import {
  type AttemptOutcome,
  type LiveState,
  type Outcome,
  statusOfLive,
  statusOfOutcome,
} from '../../domain/queue/execution.ts'
import type { ErrorType } from '../../domain/queue/retry.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { dayMs, hourMs } from '../../lib/time/units.ts'
import type { AttemptView, ExecutionSummary, ExecutionView, UsageView } from '../../ports/executions.ts'
import type { Queries } from '../connection/database.ts'
import * as statements from './executions.sql.ts'

/** How far the clock that made an id may have been from the database's. */
const clockErrorMs = hourMs

/** Null: the tenant has none with this id, or none any more. */
export async function findExecution(
  queries: Queries,
  tenantId: string,
  executionId: string,
): Promise<ExecutionView | null> {
  const madeAtMs = Number.parseInt(executionId.replaceAll('-', '').slice(0, 12), 16)
  // An id that we did not make may stand for any year; the database bounds it by its own clock.
  const since = toRfc3339(epochMs(Math.min(madeAtMs, farFutureMs) - clockErrorMs))
  const values = [tenantId, executionId, since, clockErrorMs]
  const { rows } = await queries.query<ExecutionRow>(statements.selectExecution, values)
  const { batch, live, attempts: recorded, history_days: days, now } = rows[0]!
  const last = recorded?.at(-1)
  const known = live ?? batch ?? last
  if (known === undefined || known === null) return null
  if (live === null && batch === null && (last!.finishedAt ?? 0) < now - (days ?? 0) * dayMs) return null
  const version = await queries.query<VersionRow>(statements.selectVersion, [known.jobId, known.version])
  const { execution, metadata, job_name: jobName } = version.rows[0]!
  const override = (live ?? batch ?? last)?.payloadOverride ?? null
  return {
    executionId,
    ...currentState(batch, live, last),
    jobId: known.jobId,
    jobName,
    version: known.version,
    slot: known.slot,
    enqueuedAt: known.enqueuedAt,
    idempotencyKey: live?.idempotencyKey ?? last?.idempotencyKey ?? null,
    retryOf: live?.retryOf ?? last?.retryOf ?? null,
    execution,
    ...saidIn(live),
    metadata,
    ...(override !== null && { payloadOverride: JSON.parse(override) as unknown }),
    attempts: (recorded ?? []).filter(isAttempt).map(toAttempt),
  }
}

const farFutureMs = Date.UTC(2200, 0, 1)

/** An end between attempts is no attempt: a cancel, a skip, or the time limit of all attempts together. */
function isAttempt({ outcome, startedAt, workerId }: AttemptPart): boolean {
  if (outcome === 'skipped') return false
  return startedAt !== null || (outcome === 'timed_out' ? workerId !== null : outcome !== 'cancelled')
}

function saidIn(live: LivePart | null): Pick<ExecutionView, 'progress' | 'checkpoint'> {
  if (live === null) return { progress: null }
  const { heardAt, progress: fraction, progressText: message, checkpoint } = live
  return {
    progress: heardAt === null ? null : { fraction, message, at: heardAt },
    ...(checkpoint !== null && { checkpoint: JSON.parse(checkpoint) as unknown }),
  }
}

type State = Omit<ExecutionSummary, 'executionId' | 'jobId' | 'jobName' | 'version' | 'slot' | 'enqueuedAt'>

function currentState(batch: BatchPart | null, live: LivePart | null, last: AttemptPart | undefined): State {
  const ended = {
    startedAt: last?.startedAt ?? null,
    finishedAt: last?.finishedAt ?? null,
    durationMs: last?.durationMs ?? null,
    httpStatus: last?.httpStatus ?? null,
    error: last === undefined ? null : errorOf(last.errorType, last.errorMessage),
  }
  const unended = { startedAt: null, finishedAt: null, durationMs: null, httpStatus: null, error: null }
  if (live !== null) {
    const running = live.state === 'running' || live.state === 'awaiting'
    return {
      ...(running ? unended : ended),
      ...(running && { startedAt: live.startedAt }),
      kind: live.kind,
      status: statusOfLive(live.state, live.attempt, live.cancelled),
      attempt: live.attempt,
      workerId: live.workerId ?? last?.workerId ?? null,
      deadLetter: false,
      retryAt: live.retryAt,
      runId: live.runId,
      skipped: null,
    }
  }
  if (batch !== null) {
    const { kind, claimed, cancelled, workerId, startedAt } = batch
    const status = statusOfLive(claimed ? 'running' : 'ready', 0, cancelled)
    return {
      ...unended,
      startedAt,
      kind,
      status,
      attempt: claimed ? 1 : 0,
      workerId,
      deadLetter: false,
      retryAt: null,
      runId: null,
      skipped: null,
    }
  }
  const { kind, outcome, attempt, workerId, deadLetter, runId } = last!
  const status = statusOfOutcome(outcome)
  const skipped = skippedOf(last!.skipReason, last!.errorMessage)
  return { ...ended, kind, status, attempt, workerId, deadLetter, retryAt: null, runId, skipped }
}

function toAttempt(part: AttemptPart): AttemptView {
  return {
    attempt: part.attempt,
    // Others are left out: see isAttempt.
    outcome: part.outcome as AttemptOutcome,
    workerId: part.workerId,
    enqueuedAt: part.enqueuedAt,
    startedAt: part.startedAt,
    finishedAt: part.finishedAt,
    durationMs: part.durationMs,
    httpStatus: part.httpStatus,
    error: errorOf(part.errorType, part.errorMessage),
    preview: part.preview,
    usage: toUsage(part),
  }
}

function toUsage({ cpuMs, bytesSent, bytesReceived }: UsageView): UsageView | null {
  const isKnown = cpuMs !== null || bytesSent !== null || bytesReceived !== null
  return isKnown ? { cpuMs, bytesSent, bytesReceived } : null
}

export function errorOf(
  type: ErrorType | null,
  message: string | null,
): { type: ErrorType; message: string } | null {
  return type === null ? null : { type, message: message ?? '' }
}

export function skippedOf(
  reason: ExecutionSkipReason | null,
  message: string | null,
): ExecutionSummary['skipped'] {
  return reason === null ? null : { reason, message: message ?? '' }
}

/** The fields that an execution has wherever it is. */
interface AnyPart
  extends Pick<
    ExecutionSummary,
    'jobId' | 'version' | 'kind' | 'workerId' | 'enqueuedAt' | 'startedAt' | 'slot'
  > {
  payloadOverride: string | null
}

interface BatchPart extends AnyPart {
  claimed: boolean
  cancelled: boolean
}

interface LivePart
  extends AnyPart,
    Pick<ExecutionView, 'attempt' | 'retryAt' | 'idempotencyKey' | 'retryOf' | 'runId'> {
  state: LiveState
  cancelled: boolean
  heardAt: EpochMs | null
  progress: number | null
  progressText: string | null
  checkpoint: string | null
}

interface AttemptPart
  extends AnyPart,
    Omit<AttemptView, 'outcome' | 'error' | 'usage'>,
    UsageView,
    Pick<ExecutionView, 'deadLetter' | 'idempotencyKey' | 'retryOf' | 'runId'> {
  final: boolean
  outcome: Outcome
  errorType: ErrorType | null
  errorMessage: string | null
  skipReason: ExecutionSkipReason | null
}

interface ExecutionRow {
  batch: BatchPart | null
  live: LivePart | null
  attempts: AttemptPart[] | null
  history_days: number | null
  now: EpochMs
}

interface VersionRow {
  execution: Execution
  metadata: Record<string, string>
  job_name: string
}
