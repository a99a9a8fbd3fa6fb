// The live view in memory. A position is an instant, and the rows recorded or changed at it.

import { countNodes } from '../../src/domain/graphs/run-counts.ts'
import { shownStatus } from '../../src/domain/jobs/job.ts'
import { statusOfLive, statusOfOutcome } from '../../src/domain/queue/execution.ts'
import {
  type Feed,
  type FeedExecution,
  type FeedJob,
  type FeedLook,
  type FeedMark,
  type FeedQuery,
  feedItemsMax,
  feedOthersMax,
  underWayRowsMax,
} from '../../src/ports/feed.ts'
import { isDoneOnce, viewOf } from './jobs.ts'
import type { AttemptRow, GraphRunRow, JobRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

interface Mark {
  at: number
  seen: string[]
}

export class MemoryFeed implements Feed {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async begin(): Promise<FeedMark> {
    const at = this.#store.now()
    const changed = [...this.#store.jobs.values()].filter(({ updatedAt }) => updatedAt === at)
    const recorded = [...this.#store.log.all()].filter(({ recordedAt }) => recordedAt === at)
    const mark: Mark = { at, seen: [...changed.map(markOfJob), ...recorded.map(markOf)] }
    return JSON.stringify(mark) as FeedMark
  }

  async look({ tenantId, since, running, runs }: FeedQuery): Promise<FeedLook> {
    const { at, seen } = JSON.parse(since) as Mark
    const isNew = (instant: number, mark: string) => instant > at || (instant === at && !seen.includes(mark))
    const fresh = [...this.#store.log.all()]
      .filter((row) => row.tenantId === tenantId && isNew(row.recordedAt, markOf(row)))
      .toSorted((a, b) => a.recordedAt - b.recordedAt || compareText(a.executionId, b.executionId))
    const latest = fresh.slice(-feedItemsMax)
    const rows = [...this.#store.live.values()]
      .toSorted((a, b) => compareText(b.executionId, a.executionId))
      .slice(0, underWayRowsMax)
      .filter((row) => row.tenantId === tenantId)
    const underWay = rows.slice(0, feedItemsMax).map((row) => this.#toUnderWay(row))
    const held = this.#countBatched(tenantId, true)
    const left = this.#countBatched(tenantId, false)
    const known = new Set(running)
    const begun = underWay.filter((one) => one.startedAt !== null && one.startedAt >= at)
    const ended = (...outcomes: string[]) =>
      fresh.filter((row) => row.final && outcomes.includes(row.outcome)).length
    const changed = [...this.#store.jobs.values()]
      .filter((job) => job.tenantId === tenantId && isNew(job.updatedAt, markOfJob(job)))
      .toSorted((a, b) => b.updatedAt - a.updatedAt)
    const done = latest
      .filter(({ final }) => final)
      .map(({ jobId }) => this.#store.jobs.get(jobId)!)
      .filter(isDoneOnce)
    return {
      mark: await this.begin(),
      at: this.#store.now(),
      started:
        fresh.filter((row) => row.startedAt !== null && !known.has(row.executionId)).length +
        begun.filter(({ executionId }) => !known.has(executionId)).length,
      succeeded: ended('succeeded'),
      failed: ended('failed', 'lost'),
      timedOut: ended('timed_out'),
      recorded: latest.map((row) => this.#toRecorded(row)),
      dropped: fresh.length - latest.length,
      underWay,
      running: rows.filter(isRunning).length + held,
      waiting: rows.filter((row) => !isRunning(row)).length + left,
      jobs: [...new Set([...changed.slice(0, feedOthersMax), ...done.slice(0, feedOthersMax)])].map((job) =>
        this.#toJob(job),
      ),
      operations: [...this.#store.operations.values()]
        .map(({ operation }) => operation)
        .filter((one) => one.tenantId === tenantId)
        .toSorted((a, b) => compareText(b.operationId, a.operationId))
        .slice(0, feedOthersMax)
        .map(({ operationId, status, done, total }) => ({ operationId, status, done, total })),
      graphRuns: this.#runsOf(tenantId, runs).map(({ runId, status, graph, states }) => ({
        runId,
        status,
        counts: countNodes(
          graph.plan.nodes.map(({ role }) => role),
          states,
        ).counts,
      })),
    }
  }

  #runsOf(tenantId: string, asked: readonly string[]): GraphRunRow[] {
    const own = [...this.#store.graphRuns.values()]
      .filter((run) => run.tenantId === tenantId)
      .toSorted((a, b) => compareText(b.runId, a.runId))
    return own.filter(({ runId }, index) => index < feedOthersMax || asked.includes(runId))
  }

  #countBatched(tenantId: string, held: boolean): number {
    const batches = [...this.#store.batches.values()].filter(({ workerId }) => (workerId !== null) === held)
    const entries = batches.flatMap((batch) => batch.entries)
    return entries.filter(({ jobId }) => this.#store.jobs.get(jobId)?.tenantId === tenantId).length
  }

  #toJob(job: JobRow): FeedJob {
    const { jobId, name, version, ...view } = viewOf(this.#store, job)
    return { jobId, name, status: shownStatus(view), version }
  }

  #nameOf(jobId: string): string {
    const job = this.#store.jobs.get(jobId)!
    return job.versions.get(job.version)!.name
  }

  #toRecorded(row: AttemptRow): FeedExecution {
    const { executionId, jobId, attempt, slot, startedAt, finishedAt, durationMs, error } = row
    const status = row.final ? statusOfOutcome(row.outcome) : 'RETRYING'
    const times = { slot, startedAt, finishedAt, durationMs }
    return {
      ...{ executionId, jobId, jobName: this.#nameOf(jobId), status, attempt },
      ...times,
      errorType: error?.type ?? null,
    }
  }

  #toUnderWay(row: LiveRow): FeedExecution {
    const { executionId, jobId, attempt, slot, state, cancelledAt } = row
    const status = statusOfLive(state, attempt, cancelledAt !== null)
    const startedAt = isRunning(row) ? row.startedAt : null
    const open = { finishedAt: null, durationMs: null, errorType: null }
    return { executionId, jobId, jobName: this.#nameOf(jobId), status, attempt, slot, startedAt, ...open }
  }
}

function isRunning({ state }: LiveRow): boolean {
  return state === 'running' || state === 'awaiting'
}

function markOf({ executionId, attempt, final }: AttemptRow): string {
  return `${executionId} ${attempt} ${final}`
}

function markOfJob({ jobId, version }: JobRow): string {
  return `${jobId} ${version}`
}
