// Executions under way and recorded, in memory.

import type { SkippedRange } from '../../src/domain/jobs/job-change.ts'
import { batchIdOf, statusOfOutcome } from '../../src/domain/queue/execution.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import {
  type ExecutionPage,
  type ExecutionQuery,
  type ExecutionSummary,
  type ExecutionView,
  type History,
  type JobStats,
  type SkipRange,
  type SlotBounds,
  type SlotCount,
  type SlotPage,
  type SlotQuery,
  totalMax,
  type UnderWay,
} from '../../src/ports/history.ts'
import { findInBatch } from './cancel.ts'
import { attemptsOf, saidOf, summaryOfEntry, summaryOfFinal, summaryOfLive } from './execution-summary.ts'
import { hasText } from './jobs.ts'
import type { AttemptRow, BatchEntry, JobRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'
import { owedOf, underWayOf } from './under-way.ts'

export class MemoryHistory implements History {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async listExecutions(query: ExecutionQuery): Promise<ExecutionPage | null> {
    const { tenantId, jobId, before, limit } = query
    const job = jobId === null ? null : this.#store.findJob(tenantId, jobId)
    if (jobId !== null && job === null) return null
    const own = [...this.#store.jobs.values()].filter((one) => one.tenantId === tenantId)
    const jobs = new Map((job === null ? own : [job]).map((one) => [one.jobId, one]))
    const all = [...this.#underWay(jobs), ...this.#ended(jobs)]
      .filter((one) => this.#isWanted(one, jobs.get(one.jobId)!, query))
      .toSorted((a, b) => compareText(b.executionId, a.executionId))
    const behind = before === null ? all : all.filter(({ executionId }) => executionId < before)
    const executions = behind.slice(0, limit)
    return {
      executions,
      next: behind.length > limit ? (executions.at(-1)?.executionId ?? null) : null,
      total: Math.min(all.length, totalMax),
      capped: all.length > totalMax,
    }
  }

  /** Those that match and have not ended, newest first, behind `before`. */
  findUnended(query: ExecutionQuery): { executionIds: string[]; next: string | null } {
    const { tenantId, jobId, before, limit } = query
    const own = [...this.#store.jobs.values()].filter((one) => one.tenantId === tenantId)
    const wanted = own.filter((one) => jobId === null || one.jobId === jobId)
    const jobs = new Map(wanted.map((one) => [one.jobId, one]))
    const behind = this.#underWay(jobs)
      .filter((one) => this.#isWanted(one, jobs.get(one.jobId)!, query))
      .map(({ executionId }) => executionId)
      .filter((executionId) => before === null || executionId < before)
      .toSorted((a, b) => compareText(b, a))
    const executionIds = behind.slice(0, limit)
    return { executionIds, next: behind.length > limit ? (executionIds.at(-1) ?? null) : null }
  }

  async getExecution(tenantId: string, executionId: string): Promise<ExecutionView | null> {
    const found = this.#find(executionId)
    const job = found === null ? null : this.#store.findJob(tenantId, found.summary.jobId)
    if (found === null || job === null) return null
    const { execution, metadata } = job.versions.get(found.summary.version)!
    const { row } = found
    const { idempotencyKey, retryOf } = 'position' in row ? { idempotencyKey: null, retryOf: null } : row
    return {
      ...found.summary,
      idempotencyKey,
      retryOf,
      ...('payloadOverride' in row ? { payloadOverride: row.payloadOverride } : {}),
      execution,
      ...saidOf(this.#store.live.get(executionId)),
      metadata,
      attempts: attemptsOf(this.#store, executionId),
    }
  }

  async listSkips(query: SlotQuery): Promise<SkipRange[] | null> {
    const job = this.#store.findJob(query.tenantId, query.jobId)
    if (job === null) return null
    const touching = job.skips.filter(({ from, to }) => from <= query.to && to >= query.from)
    const ordered = query.order === 'asc' ? touching : touching.toReversed()
    return ordered.slice(0, query.limit).map((range) => skipRangeOf(job, range))
  }

  async listSlots(query: SlotQuery): Promise<SlotPage | null> {
    const { tenantId, jobId, limit, order } = query
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    const found = this.#slotsOf(job, query)
    const executions = (order === 'asc' ? found : found.toReversed()).slice(0, limit)
    return {
      executions: executions.map(({ slot, executionId, status }) => ({ slot, executionId, status })),
      end: executions.length === limit ? executions.at(-1)!.slot : null,
      recordedAt: job.latest?.slot ?? null,
      owed: owedOf(job),
    }
  }

  async countSlots(query: SlotBounds): Promise<SlotCount | null> {
    const { tenantId, jobId, from, to } = query
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    const executions = this.#slotsOf(job, query).length
    const touching = job.skips.filter((range) => range.from <= to && range.to >= from)
    const isWhole = (range: SkippedRange) => range.from >= from && range.to <= to
    const skipped = touching.filter(isWhole).reduce((sum, { count }) => sum + count, 0)
    const edges = touching.filter((range) => !isWhole(range)).map((range) => skipRangeOf(job, range))
    return { executions, skipped, capped: executions > totalMax || skipped > totalMax, edges }
  }

  async underWay(tenantId: string, jobId: string): Promise<UnderWay | null> {
    const job = this.#store.findJob(tenantId, jobId)
    return job === null ? null : underWayOf(this.#store, job)
  }

  async stats(tenantId: string, jobId: string): Promise<JobStats | null> {
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    // What was skipped did not run.
    const finals = this.#finals(job).filter(({ outcome }) => outcome !== 'skipped')
    const statuses = finals.map(({ outcome }) => statusOfOutcome(outcome))
    const count = (wanted: string) => statuses.filter((status) => status === wanted).length
    const counted = finals.filter(({ outcome }) => outcome !== 'cancelled')
    const durations = counted.flatMap(({ durationMs }) => (durationMs === null ? [] : [durationMs]))
    const sumMs = durations.reduce((sum, ms) => sum + ms, 0)
    const [last] = finals.toSorted((a, b) => compareText(b.executionId, a.executionId))
    return {
      succeeded: count('SUCCEEDED'),
      failed: count('FAILED'),
      timedOut: count('TIMED_OUT'),
      averageDurationMs: durations.length === 0 ? null : Math.round(sumMs / durations.length),
      lastStatus: last === undefined ? null : statusOfOutcome(last.outcome),
    }
  }

  /** Drops executions and graph runs that ended before an instant, and slots before it that no decision looks at any more. */
  prune(before: EpochMs): void {
    for (const [runId, { finishedAt }] of this.#store.graphRuns) {
      if (finishedAt !== null && finishedAt < before) this.#store.graphRuns.delete(runId)
    }
    for (const { jobId, executionId } of this.#store.log.dropBefore(before)) {
      this.#store.jobs.get(jobId)!.ended.delete(executionId)
      this.#store.logs.delete(executionId)
    }
    for (const job of this.#store.jobs.values()) {
      const { decidedTo } = job.cursor
      for (const [slot, row] of job.slots) {
        if (slot >= before || decidedTo === null || slot > decidedTo) break
        if (row !== job.latest && (job.owed === null || slot < job.owed.from)) job.slots.delete(slot)
      }
    }
  }

  /** Executions of its slots, by slot. */
  #slotsOf(job: JobRow, { from, to }: { from: EpochMs; to: EpochMs }): ExecutionSummary[] {
    const jobs = new Map([[job.jobId, job]])
    return [...this.#underWay(jobs), ...this.#ended(jobs)]
      .filter(({ kind, slot }) => kind === 'slot' && slot >= from && slot <= to)
      .toSorted((a, b) => a.slot - b.slot)
  }

  #find(executionId: string): { summary: ExecutionSummary; row: LiveRow | AttemptRow | BatchEntry } | null {
    const live = this.#store.live.get(executionId)
    if (live !== undefined) return { summary: summaryOfLive(this.#store, live), row: live }
    const batch = this.#store.batches.get(batchIdOf(executionId))
    const entry = batch === undefined ? undefined : findInBatch(batch, executionId)
    if (entry !== undefined) return { summary: summaryOfEntry(this.#store, batch!, entry), row: entry }
    const last = this.#store.log.of(executionId).at(-1)
    if (last === undefined || last.recordedAt < this.#store.retainedFrom()) return null
    return { summary: summaryOfFinal(this.#store, last), row: last }
  }

  #underWay(jobs: ReadonlyMap<string, JobRow>): ExecutionSummary[] {
    const batched = [...this.#store.batches.values()].flatMap((batch) =>
      batch.entries
        .filter(({ jobId }) => jobs.has(jobId))
        .map((entry) => summaryOfEntry(this.#store, batch, entry)),
    )
    const live = [...jobs.values()].flatMap((job) => [...job.live])
    return [...batched, ...live.map((row) => summaryOfLive(this.#store, row))]
  }

  #ended(jobs: ReadonlyMap<string, JobRow>): ExecutionSummary[] {
    return [...jobs.values()].flatMap((job) =>
      this.#finals(job).map((row) => summaryOfFinal(this.#store, row)),
    )
  }

  /** How its executions ended, as far as history is kept. */
  #finals(job: JobRow): AttemptRow[] {
    const from = this.#store.retainedFrom()
    const finals = [...job.ended].map((executionId) => this.#store.log.of(executionId).at(-1)!)
    return finals.filter(({ recordedAt }) => recordedAt >= from)
  }

  #isWanted(one: ExecutionSummary, job: JobRow, query: ExecutionQuery): boolean {
    const { status, kind, errorType, deadLetter, tag, q, from, to } = query
    // Of the latest attempt that ended, also while the next one runs.
    const last = this.#store.log.of(one.executionId).at(-1)
    const error = last?.error
    const said = error?.message ?? last?.skipMessage ?? ''
    return (
      (status === null || one.status === status) &&
      (kind === null || one.kind === kind) &&
      (errorType === null || error?.type === errorType) &&
      (deadLetter === null || one.deadLetter === deadLetter) &&
      (tag === null || job.versions.get(job.version)!.tags.includes(tag)) &&
      (q === null || hasText(job, q) || said.toLowerCase().includes(q.toLowerCase())) &&
      (from === null || one.slot >= from) &&
      (to === null || one.slot < to)
    )
  }
}

function skipRangeOf(job: JobRow, range: SkippedRange): SkipRange {
  const { schedule, anchorAt } = job.versions.get(range.version)!
  return { ...range, schedule, anchorAt }
}
