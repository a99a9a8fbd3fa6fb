// History on PostgreSQL.
import {
  type ExecutionKind,
  type ExecutionStatus,
  type LiveState,
  OUTCOMES,
  type Outcome,
  type SkipReason,
  statusOfLive,
  statusOfOutcome,
} from '../domain/execution.ts'
import type { HttpExecution } from '../domain/job.ts'
import type { ErrorType } from '../domain/retry.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../lib/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import {
  type AttemptView,
  type ExecutionPage,
  type ExecutionQuery,
  type ExecutionSummary,
  type ExecutionView,
  type History,
  type SkipRange,
  totalMax,
} from '../ports/history.ts'
import type { Database } from './database.ts'
import * as statements from './history.sql.ts'

const dayMs = 86_400_000
/** How far the clock that made an id may have been from the database's. */
const clockErrorMs = 3_600_000
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const beginning = '-infinity'
const end = 'infinity'

export class StoredHistory implements History {
  readonly #database: Database
  readonly #clock: Pick<Clock, 'databaseNow'>

  constructor(database: Database, clock: Pick<Clock, 'databaseNow'>) {
    this.#database = database
    this.#clock = clock
  }

  async listExecutions(query: ExecutionQuery): Promise<ExecutionPage | null> {
    const { tenantId, jobId, status, from, to, before, limit } = query
    const job = await this.#database.query<{ history_days: number }>(statements.selectJobExists, [
      tenantId,
      jobId,
    ])
    if (job.rows[0] === undefined) return null
    const keptSince = this.#clock.databaseNow() - job.rows[0].history_days * dayMs
    const since = toRfc3339(epochMs(Math.max(keptSince, from ?? 0)))
    const outcomes =
      status === null ? null : OUTCOMES.filter((outcome) => statusOfOutcome(outcome) === status)
    const filter = [
      jobId,
      status,
      outcomes,
      from === null ? beginning : toRfc3339(from),
      to === null ? end : toRfc3339(to),
    ]
    const [listed, counted] = await Promise.all([
      this.#database.query<SummaryRow>(statements.selectExecutions, [
        ...filter,
        before ?? lastId,
        limit + 1,
        since,
      ]),
      this.#database.query<{ total: number }>(statements.countExecutions, [...filter, totalMax + 1, since]),
    ])
    return {
      executions: listed.rows.slice(0, limit).map((row) => toSummary(jobId, row)),
      more: listed.rows.length > limit,
      total: Math.min(counted.rows[0]!.total, totalMax + 1),
    }
  }

  async getExecution(tenantId: string, executionId: string): Promise<ExecutionView | null> {
    const madeAtMs = Number.parseInt(executionId.replaceAll('-', '').slice(0, 12), 16)
    // An id that we did not make may stand for any year.
    const since = Math.min(madeAtMs, this.#clock.databaseNow()) - clockErrorMs
    const values = [tenantId, executionId, toRfc3339(epochMs(since))]
    const { rows } = await this.#database.query<ExecutionRow>(statements.selectExecution, values)
    const { batch, live, attempts: recorded, history_days: days } = rows[0]!
    const last = recorded?.at(-1)
    const known = live ?? batch ?? last
    if (known === undefined || known === null) return null
    if (live === null && batch === null && (last!.finishedAt ?? 0) < this.#clock.databaseNow() - days * dayMs)
      return null
    const version = await this.#database.query<VersionRow>(statements.selectVersion, [
      known.jobId,
      known.version,
    ])
    const { execution, metadata } = version.rows[0]!
    const override = live?.payloadOverride ?? last?.payloadOverride ?? null
    return {
      executionId,
      ...currentState(batch, live, last),
      jobId: known.jobId,
      version: known.version,
      slot: known.slot,
      enqueuedAt: known.enqueuedAt,
      idempotencyKey: live?.idempotencyKey ?? last?.idempotencyKey ?? null,
      retryOf: live?.retryOf ?? last?.retryOf ?? null,
      callbackUrl: execution.callback_url,
      metadata,
      ...(override !== null && { payloadOverride: JSON.parse(override) as unknown }),
      ...('payload' in execution && { payload: execution.payload }),
      attempts: (recorded ?? []).map(toAttempt),
    }
  }

  async listSkips(query: {
    tenantId: string
    jobId: string
    from: EpochMs
    to: EpochMs
    limit: number
  }): Promise<SkipRange[] | null> {
    const { tenantId, jobId, from, to, limit } = query
    const job = await this.#database.query(statements.selectJobExists, [tenantId, jobId])
    if (job.count === 0) return null
    const { rows } = await this.#database.query<SkipRow>(statements.selectSkips, [jobId, from, to, limit])
    return rows.map((row) => ({
      from: row.from_slot,
      to: row.to_slot,
      count: row.slot_count,
      reason: row.reason,
    }))
  }
}

type State = Omit<ExecutionSummary, 'executionId' | 'jobId' | 'version' | 'slot' | 'enqueuedAt'>

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
    const running = live.state === 'running'
    return {
      ...(running ? unended : ended),
      ...(running && { startedAt: live.startedAt }),
      kind: live.kind,
      status: statusOfLive(live.state, live.attempt),
      attempt: live.attempt,
      workerId: live.workerId ?? last?.workerId ?? null,
      deadLetter: false,
      retryAt: live.retryAt,
    }
  }
  if (batch !== null) {
    const { claimed, workerId } = batch
    const status = claimed ? 'RUNNING' : 'PENDING'
    return {
      ...unended,
      kind: 'slot',
      status,
      attempt: claimed ? 1 : 0,
      workerId,
      deadLetter: false,
      retryAt: null,
    }
  }
  const { kind, outcome, attempt, workerId, deadLetter } = last!
  return { ...ended, kind, status: statusOfOutcome(outcome), attempt, workerId, deadLetter, retryAt: null }
}

function toAttempt(part: AttemptPart): AttemptView {
  return {
    attempt: part.attempt,
    outcome: part.outcome,
    workerId: part.workerId,
    enqueuedAt: part.enqueuedAt,
    startedAt: part.startedAt,
    finishedAt: part.finishedAt,
    durationMs: part.durationMs,
    httpStatus: part.httpStatus,
    error: errorOf(part.errorType, part.errorMessage),
    preview: part.preview,
  }
}

function errorOf(
  type: ErrorType | null,
  message: string | null,
): { type: ErrorType; message: string } | null {
  return type === null ? null : { type, message: message ?? '' }
}

function toSummary(jobId: string, row: SummaryRow): ExecutionSummary {
  return {
    executionId: row.execution_id,
    jobId,
    version: row.version,
    kind: row.kind,
    status: row.status,
    slot: row.slot,
    attempt: row.attempt,
    enqueuedAt: row.enqueued_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    durationMs: row.duration_ms,
    workerId: row.worker_id,
    httpStatus: row.http_status,
    error: errorOf(row.error_type, row.error_message),
    deadLetter: row.dead_letter,
    retryAt: row.retry_at,
  }
}

interface SummaryRow {
  execution_id: string
  version: number
  kind: ExecutionKind
  status: ExecutionStatus
  slot: EpochMs
  attempt: number
  enqueued_at: EpochMs
  started_at: EpochMs | null
  finished_at: EpochMs | null
  duration_ms: number | null
  worker_id: string | null
  http_status: number | null
  error_type: ErrorType | null
  error_message: string | null
  dead_letter: boolean
  retry_at: EpochMs | null
}

interface BatchPart {
  jobId: string
  version: number
  claimed: boolean
  workerId: string | null
  enqueuedAt: EpochMs
  slot: EpochMs
}

interface LivePart {
  jobId: string
  version: number
  kind: ExecutionKind
  state: LiveState
  workerId: string | null
  enqueuedAt: EpochMs
  slot: EpochMs
  attempt: number
  startedAt: EpochMs | null
  retryAt: EpochMs | null
  idempotencyKey: string | null
  retryOf: string | null
  payloadOverride: string | null
}

interface AttemptPart {
  attempt: number
  final: boolean
  jobId: string
  version: number
  kind: ExecutionKind
  outcome: Outcome
  slot: EpochMs
  enqueuedAt: EpochMs
  startedAt: EpochMs | null
  finishedAt: EpochMs | null
  durationMs: number | null
  workerId: string | null
  httpStatus: number | null
  errorType: ErrorType | null
  errorMessage: string | null
  preview: string | null
  deadLetter: boolean
  payloadOverride: string | null
  idempotencyKey: string | null
  retryOf: string | null
}

interface ExecutionRow {
  batch: BatchPart | null
  live: LivePart | null
  attempts: AttemptPart[] | null
  history_days: number
}

interface VersionRow {
  execution: HttpExecution
  metadata: Record<string, string>
}

interface SkipRow {
  from_slot: EpochMs
  to_slot: EpochMs
  slot_count: number
  reason: SkipReason
}
