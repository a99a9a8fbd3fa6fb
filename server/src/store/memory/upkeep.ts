// Upkeep in memory.
import type { Beat } from '../../domain/lease-watch.ts'
import { rankOf } from '../../domain/rank.ts'
import type { EpochMs } from '../../lib/epoch.ts'
import type { ReleaseOrder, Upkeep, WaitingJob } from '../../ports/upkeep.ts'
import { makeLive } from './make-live.ts'
import type { JobRow } from './rows.ts'
import type { MemoryStore } from './store.ts'
import { MemoryWorkers } from './workers.ts'

export class MemoryUpkeep implements Upkeep {
  readonly #store: MemoryStore
  readonly #workers: MemoryWorkers

  constructor(store: MemoryStore) {
    this.#store = store
    this.#workers = new MemoryWorkers(store)
  }

  watch(): Promise<Beat[]> {
    return this.#workers.watch()
  }

  reclaim(lease: Beat): Promise<'reclaimed' | 'alive'> {
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

  async findWaiting(after: string | null, limit: number): Promise<WaitingJob[]> {
    return this.#store.waitingJobs.takeAfter(after, limit).map((jobId) => {
      const { version, tenantId, versions, owed } = this.#store.jobs.get(jobId)!
      const { priority, overlapPolicy, schedule, anchorAt } = versions.get(version)!
      const stillOwed = owed === null ? null : { ...owed }
      return { jobId, version, tenantId, priority, overlapPolicy, schedule, anchorAt, owed: stillOwed }
    })
  }

  async release(orders: readonly ReleaseOrder[]): Promise<string[]> {
    return orders.filter((order) => this.#release(order)).map(({ jobId }) => jobId)
  }

  #release(order: ReleaseOrder): boolean {
    const job = this.#store.jobs.get(order.jobId)
    if (job?.cursor.version !== order.version || this.#store.isBusy(job)) return false
    const next = job.waiting.first()
    if (next === undefined) return this.#releaseOwed(job, order.owed)
    this.#store.changeLive(next, { state: 'ready' })
    return true
  }

  #releaseOwed(job: JobRow, owed: ReleaseOrder['owed']): boolean {
    if (owed === null || job.owed === null || job.owed.from > owed.slot) return false
    const { to } = job.owed
    const { slot, next } = owed
    const skipped = job.skips.findLast(({ from, reason }) => from <= slot && reason === 'misfire')
    // A second hold-up may have recorded slots of the owed range as misfired: they have their record.
    const misfiredTo = skipped !== undefined && skipped.to >= slot ? skipped.to : null
    const isFree = misfiredTo === null && slot <= to && !job.slots.has(slot)
    if (isFree) this.#enqueue(job, owed)
    const from = misfiredTo === null ? next : (Math.max(next ?? 0, misfiredTo + 1) as EpochMs)
    this.#store.setOwed(job, from === null || from > to ? null : { from, to })
    return isFree
  }

  // Not in a batch: it is found there by the latest slot, and slots later than this one may have been skipped.
  #enqueue(job: JobRow, owed: NonNullable<ReleaseOrder['owed']>): void {
    const { jobId, version, tenantId } = job
    const { slot, executionId, route, lane, priority } = owed
    const enqueuedAt = this.#store.now()
    this.#store.addSlot(job, { slot, executionId, reason: null })
    const place = { route, lane, priority, enqueuedAt, rank: rankOf(enqueuedAt, priority) }
    this.#store.addLive(makeLive({ executionId, jobId, version, tenantId, kind: 'slot', slot, ...place }))
  }
}
