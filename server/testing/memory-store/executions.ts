// Executions under way and recorded, in memory.

import { batchIdOf } from '../../src/domain/queue/execution.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import {
  type ExecutionPage,
  type ExecutionQuery,
  type ExecutionSummary,
  type Executions,
  type ExecutionView,
  totalMax,
  type UnderWay,
} from '../../src/ports/executions.ts'
import { findInBatch } from './cancel.ts'
import { attemptsOf, saidOf, summaryOfEntry, summaryOfFinal, summaryOfLive } from './execution-summary.ts'
import { hasText } from './jobs.ts'
import type { AttemptRow, BatchEntry, JobRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'
import { summariesEnded, summariesUnderWay } from './summaries.ts'
import { underWayOf } from './under-way.ts'

export class MemoryExecutions implements Executions {
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
    const all = [...summariesUnderWay(this.#store, jobs), ...summariesEnded(this.#store, jobs)]
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

  /** The unended executions that match, newest first, behind `before`. */
  findUnended(query: ExecutionQuery): { executionIds: string[]; next: string | null } {
    const { tenantId, jobId, before, limit } = query
    const own = [...this.#store.jobs.values()].filter((one) => one.tenantId === tenantId)
    const wanted = own.filter((one) => jobId === null || one.jobId === jobId)
    const jobs = new Map(wanted.map((one) => [one.jobId, one]))
    const behind = summariesUnderWay(this.#store, jobs)
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

  async underWay(tenantId: string, jobId: string): Promise<UnderWay | null> {
    const job = this.#store.findJob(tenantId, jobId)
    return job === null ? null : underWayOf(this.#store, job)
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

  #isWanted(one: ExecutionSummary, job: JobRow, query: ExecutionQuery): boolean {
    const { status, kind, errorType, deadLetter, workerId, tag, q, from, to } = query
    // Of the latest attempt that ended, also while the next one runs.
    const last = this.#store.log.of(one.executionId).at(-1)
    const error = last?.error
    const said = error?.message ?? last?.skipMessage ?? ''
    return (
      (status === null || one.status === status) &&
      (kind === null || one.kind === kind) &&
      (errorType === null || error?.type === errorType) &&
      (deadLetter === null || one.deadLetter === deadLetter) &&
      (workerId === null || one.workerId === workerId) &&
      (tag === null || job.versions.get(job.version)!.tags.includes(tag)) &&
      (q === null || hasText(job, q) || said.toLowerCase().includes(q.toLowerCase())) &&
      (from === null || one.slot >= from) &&
      (to === null || one.slot < to)
    )
  }
}
