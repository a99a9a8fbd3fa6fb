// Executions under way and recorded, in memory.
import { batchIdOf, executionIdAt, statusOfLive, statusOfOutcome } from '../../domain/execution.ts'
import { historyDaysMax } from '../../domain/tenant.ts'
import type { EpochMs } from '../../lib/epoch.ts'
import {
  type AttemptView,
  type ExecutionPage,
  type ExecutionQuery,
  type ExecutionSummary,
  type ExecutionView,
  type History,
  type SkipRange,
  totalMax,
} from '../../ports/history.ts'
import type { AttemptRow, BatchEntry, BatchRow, JobRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

const dayMs = 86_400_000

export class MemoryHistory implements History {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async listExecutions(query: ExecutionQuery): Promise<ExecutionPage | null> {
    const { status, before, limit } = query
    const from = query.from ?? Number.NEGATIVE_INFINITY
    const to = query.to ?? Number.POSITIVE_INFINITY
    const job = this.#store.findJob(query.tenantId, query.jobId)
    if (job === null) return null
    const all = [...this.#underWay(job), ...this.#ended(job)]
      .filter((one) => (status === null || one.status === status) && one.slot >= from && one.slot < to)
      .toSorted((a, b) => compareText(b.executionId, a.executionId))
    const behind = before === null ? all : all.filter(({ executionId }) => executionId < before)
    return {
      executions: behind.slice(0, limit),
      more: behind.length > limit,
      total: Math.min(all.length, totalMax + 1),
    }
  }

  async getExecution(tenantId: string, executionId: string): Promise<ExecutionView | null> {
    const found = this.#find(executionId)
    const job = found === null ? null : this.#store.findJob(tenantId, found.summary.jobId)
    if (found === null || job === null) return null
    const { execution, metadata } = job.versions.get(found.summary.version)!
    const { idempotencyKey, retryOf } = found.row ?? { idempotencyKey: null, retryOf: null }
    return {
      ...found.summary,
      idempotencyKey,
      retryOf,
      ...(found.row !== null && 'payloadOverride' in found.row
        ? { payloadOverride: found.row.payloadOverride }
        : {}),
      callbackUrl: execution.callback_url,
      ...('payload' in execution ? { payload: execution.payload } : {}),
      metadata,
      attempts: this.#store.log.of(executionId).map(attemptView),
    }
  }

  async listSkips(query: {
    tenantId: string
    jobId: string
    from: EpochMs
    to: EpochMs
    limit: number
  }): Promise<SkipRange[] | null> {
    const job = this.#store.findJob(query.tenantId, query.jobId)
    if (job === null) return null
    const touching = job.skips.filter(({ from, to }) => from <= query.to && to >= query.from)
    return touching
      .toReversed()
      .slice(0, query.limit)
      .map((range) => ({ ...range }))
  }

  /** Drops executions that ended before an instant, and slots before it that no decision looks at any more. */
  prune(before: EpochMs): void {
    for (const row of this.#store.log.dropBefore(before))
      this.#store.jobs.get(row.jobId)!.ended.delete(row.executionId)
    for (const job of this.#store.jobs.values()) {
      const { decidedTo } = job.cursor
      for (const [slot, row] of job.slots) {
        if (slot >= before || decidedTo === null || slot > decidedTo) break
        if (row !== job.latest && (job.owed === null || slot < job.owed.from)) job.slots.delete(slot)
      }
    }
  }

  #find(executionId: string): { summary: ExecutionSummary; row: LiveRow | AttemptRow | null } | null {
    const live = this.#store.live.get(executionId)
    if (live !== undefined) return { summary: this.#summaryOfLive(live), row: live }
    const batch = this.#store.batches.get(batchIdOf(executionId))
    const entry = batch?.entries.find((one) => executionIdAt(batch.batchId, one.position) === executionId)
    if (entry !== undefined) return { summary: summaryOfEntry(batch!, entry), row: null }
    const last = this.#store.log.of(executionId).at(-1)
    if (last === undefined || last.recordedAt < this.#retainedFrom()) return null
    return { summary: summaryOfFinal(last), row: last }
  }

  #underWay(job: JobRow): ExecutionSummary[] {
    const batched = [...this.#store.batches.values()].flatMap((batch) =>
      batch.entries.filter(({ jobId }) => jobId === job.jobId).map((entry) => summaryOfEntry(batch, entry)),
    )
    return [...batched, ...[...job.live].map((row) => this.#summaryOfLive(row))]
  }

  #ended(job: JobRow): ExecutionSummary[] {
    const from = this.#retainedFrom()
    const finals = [...job.ended].map((executionId) => this.#store.log.of(executionId).at(-1)!)
    return finals.filter(({ recordedAt }) => recordedAt >= from).map(summaryOfFinal)
  }

  #retainedFrom(): number {
    return this.#store.now() - historyDaysMax * dayMs
  }

  #summaryOfLive(row: LiveRow): ExecutionSummary {
    // Between two attempts it shows what the last one did.
    const last = row.state === 'running' ? undefined : this.#store.log.of(row.executionId).at(-1)
    return {
      executionId: row.executionId,
      jobId: row.jobId,
      version: row.version,
      kind: row.kind,
      status: statusOfLive(row.state, row.attempt),
      slot: row.slot,
      attempt: row.attempt,
      enqueuedAt: row.enqueuedAt,
      startedAt: row.startedAt ?? last?.startedAt ?? null,
      finishedAt: last?.finishedAt ?? null,
      durationMs: last?.durationMs ?? null,
      workerId: row.workerId ?? last?.workerId ?? null,
      httpStatus: last?.httpStatus ?? null,
      error: last?.error ?? null,
      deadLetter: false,
      retryAt: row.readyAt,
    }
  }
}

function summaryOfEntry(batch: BatchRow, { position, jobId, version, slot }: BatchEntry): ExecutionSummary {
  const { batchId, workerId, enqueuedAt } = batch
  return {
    executionId: executionIdAt(batchId, position),
    jobId,
    version,
    kind: 'slot',
    status: workerId === null ? 'PENDING' : 'RUNNING',
    slot,
    attempt: workerId === null ? 0 : 1,
    enqueuedAt,
    startedAt: null,
    finishedAt: null,
    durationMs: null,
    workerId,
    httpStatus: null,
    error: null,
    deadLetter: false,
    retryAt: null,
  }
}

function summaryOfFinal(row: AttemptRow): ExecutionSummary {
  const { executionId, jobId, version, kind, slot, enqueuedAt, deadLetter } = row
  const { attempt, startedAt, finishedAt, durationMs, workerId, httpStatus, error } = row
  return {
    executionId,
    jobId,
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
  }
}

function attemptView(row: AttemptRow): AttemptView {
  const { attempt, outcome, workerId, enqueuedAt, startedAt, finishedAt, durationMs } = row
  const { httpStatus, error, preview } = row
  const times = { enqueuedAt, startedAt, finishedAt, durationMs }
  return { attempt, outcome, workerId, ...times, httpStatus, error, preview }
}
