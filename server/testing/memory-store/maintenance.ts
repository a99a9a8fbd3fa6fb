// Maintenance in memory.
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import type { Beat } from '../../src/domain/queue/lease-watch.ts'
import { rankOf } from '../../src/domain/queue/rank.ts'
import { KeyCounts, type WaitingJob } from '../../src/domain/queue/release.ts'
import { workerLeaseMs } from '../../src/domain/queue/worker.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type {
  Maintenance,
  Overdue,
  Released,
  ReleaseOrder,
  TimedOut,
  WaitingOfTenants,
} from '../../src/ports/maintenance.ts'
import { isRunning } from './cancel.ts'
import { overdueAt, overdueOf } from './deadlines.ts'
import { endLeftBehind } from './end-deleted.ts'
import { leaveForgotten } from './leave.ts'
import { applyRelease, waitingJobOf } from './release.ts'
import type { JobRow } from './rows.ts'
import { settle } from './settle.ts'
import { compareText } from './sorted-set.ts'
import { isAwaiting, type MemoryStore } from './store.ts'
import { MemoryWorkers } from './workers.ts'

export class MemoryMaintenance implements Maintenance {
  readonly #store: MemoryStore
  readonly #workers: MemoryWorkers

  constructor(store: MemoryStore) {
    this.#store = store
    this.#workers = new MemoryWorkers(store)
  }

  watch(): Promise<Beat[]> {
    return this.#workers.watch()
  }

  reclaim(lease: Beat): Promise<SettledAttempt[] | 'alive'> {
    return this.#workers.reclaim(lease)
  }

  async wake(limit: number): Promise<number> {
    const now = this.#store.now()
    const woken = this.#store.retrying.takeAfter(null, limit, ({ readyAt }) => readyAt! <= now)
    for (const row of woken) {
      const rank = rankOf(now, row.priority)
      this.#store.changeLive(row, { state: 'ready', enqueuedAt: now, rank, host: null, readyAt: null })
    }
    return woken.length
  }

  async nextWakeAt(): Promise<EpochMs | null> {
    return this.#store.retrying.first()?.readyAt ?? null
  }

  async findWaiting(after: string | null, limit: number): Promise<string[]> {
    const page = this.#store.waitingJobs.takeAfter(after, limit)
    if (after !== null) return page
    const longest = this.#store.waitingForKey.take(limit).map(({ jobId }) => jobId)
    // In front: the last one is where the next page begins.
    return [...new Set(longest).difference(new Set(page)), ...page]
  }

  async findWaitingOfTenants(after: string | null, { tenants, each }: WaitingOfTenants) {
    const waiting = this.#store.waitingJobs.takeAfter(null, Number.POSITIVE_INFINITY)
    const jobs = this.#inOrder(waiting).filter((job) => job.waiting.size > 0 || isAwaiting(job.cursor))
    const byTenant = Map.groupBy(jobs, ({ tenantId }) => tenantId)
    const behind = [...byTenant].filter(([tenantId]) => compareText(tenantId, after ?? '') > 0)
    const turns = behind.toSorted(([a], [b]) => compareText(a, b)).slice(0, tenants)
    const jobIds = turns.flatMap(([, own]) => {
      const executions = own.flatMap(({ jobId, waiting: { size } }) => new Array<string>(size).fill(jobId))
      const awaiting = own.filter(({ cursor }) => isAwaiting(cursor)).map(({ jobId }) => jobId)
      return [...new Set([...executions.slice(0, each), ...awaiting.slice(0, each)])].toSorted(compareText)
    })
    return { jobIds, last: turns.length < tenants ? null : turns.at(-1)![0] }
  }

  async release(
    jobIds: readonly string[],
    decide: (job: WaitingJob, keys: KeyCounts) => ReleaseOrder,
  ): Promise<Released> {
    const keys = new KeyCounts(this.#store.keyHolders)
    const all: Released = { ready: 0, cancelled: false, planned: false, more: false }
    const { deletedTenants } = this.#store
    const jobs = this.#inOrder(jobIds).filter(({ tenantId }) => !deletedTenants.has(tenantId))
    for (const job of jobs) {
      const one = applyRelease(this.#store, job, decide(waitingJobOf(this.#store, job), keys))
      all.ready += one.ready
      all.cancelled ||= one.cancelled
      all.planned ||= one.planned
      all.more ||= one.more
      if (one.settled !== undefined) all.settled = [...(all.settled ?? []), ...one.settled]
    }
    const deleted = jobs.filter(({ cursor }) => cursor.status === 'DELETED')
    const ended = endLeftBehind(this.#store, deleted)
    return ended.length === 0 ? all : { ...all, more: true, settled: [...(all.settled ?? []), ...ended] }
  }

  async findOverdue(limit: number): Promise<Overdue[]> {
    leaveForgotten(this.#store)
    const now = this.#store.now()
    const found = this.#store.overdue.takeAfter(null, limit, (row) => overdueAt(row)! <= now)
    return found.map((row) => overdueOf(this.#store, row))
  }

  async timeOut(ends: readonly TimedOut[]): Promise<string[]> {
    const now = this.#store.now()
    return ends.flatMap(({ executionId, attempt, fence, end }) => {
      const row = this.#store.live.get(executionId)
      if (row?.attempt !== attempt || row.fence !== fence) return []
      // It may have been heard of meanwhile.
      if ((overdueAt(row) ?? Infinity) > now) return []
      if (row.state === 'running' && this.#store.leases.get(row.workerId!)!.beatAt < now - workerLeaseMs)
        return []
      const isHeld = isRunning({ kind: 'live', row })
      // An execution that ran when it was found and waits by now was recorded as lost: only the end of its total time
      // ends it too.
      if (!isHeld && end.deadReason !== 'TOTAL_TIMEOUT') return []
      const rest = isHeld ? {} : { startedAt: null, durationMs: null }
      settle(this.#store, row, { kind: 'ended', end: { ...end, ...rest } })
      return [executionId]
    })
  }

  /** The job with the longest-waiting execution comes first: it is to have the key. */
  #inOrder(jobIds: readonly string[]): JobRow[] {
    const jobs = [...new Set(jobIds)].flatMap((jobId) => this.#store.jobs.get(jobId) ?? [])
    const rankOfFirst = ({ waiting }: JobRow) => waiting.first()?.rank ?? Number.MAX_SAFE_INTEGER
    return jobs.toSorted((a, b) => rankOfFirst(a) - rankOfFirst(b) || compareText(a.jobId, b.jobId))
  }
}
