// Jobs in memory.

import type { JobView } from '../../domain/job.ts'
import { partitionOf } from '../../domain/job.ts'
import { rankOf, triggerPriority } from '../../domain/rank.ts'
import { serverRoute } from '../../domain/route.ts'
import { lookAheadMs } from '../../domain/window.ts'
import { epochMs } from '../../lib/epoch.ts'
import type { Jobs, NewJob, TriggerOrder, TriggerOutcome } from '../../ports/jobs.ts'
import { makeLive } from './make-live.ts'
import type { MemoryStore } from './store.ts'

/** What is due later is found by the next load of the window. */
const notedWithinMs = 2 * lookAheadMs

export class MemoryJobs implements Jobs {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async create({ createdAt, status, slotAt, immediate, ...given }: NewJob): Promise<void> {
    const version = structuredClone(given)
    const { jobId, priority } = version
    const partitionId = partitionOf(jobId)
    const decidedTo = immediate?.slot ?? null
    const cursor = { jobId, partitionId, version: 1, status, slotAt, dueAt: slotAt, decidedTo }
    const job = this.#store.addJob(version, cursor, createdAt)
    const isSoon = slotAt !== null && slotAt < this.#store.now() + notedWithinMs
    if (isSoon && status === 'ACTIVE') this.#store.changes[partitionId]!.add(jobId)
    if (immediate === null) return
    const { executionId, slot, lane } = immediate
    this.#store.addSlot(job, { slot, executionId, reason: null })
    this.#store.enqueue({ executionId, jobId, version: 1, slot }, { route: serverRoute, lane, priority })
  }

  async get(tenantId: string, jobId: string): Promise<JobView | null> {
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    const { cursor, lastRunAt, createdAt, updatedAt } = job
    const { status, slotAt } = cursor
    return { ...job.versions.get(job.version)!, status, slotAt, lastRunAt, createdAt, updatedAt }
  }

  async trigger(order: TriggerOrder): Promise<TriggerOutcome> {
    const { tenantId, jobId, executionId, lane } = order
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return { kind: 'not_found' }
    if (job.cursor.status === 'DELETED') return { kind: 'deleted' }
    const { overlapPolicy, ...version } = job.versions.get(job.version)!
    const priority = triggerPriority(version.priority)
    const now = this.#store.now()
    this.#store.addLive(
      makeLive({
        executionId,
        jobId,
        version: job.version,
        tenantId,
        kind: 'trigger',
        state: overlapPolicy === 'ALLOW' || !this.#store.isBlocked(job) ? 'ready' : 'waiting',
        route: serverRoute,
        lane,
        priority,
        slot: epochMs(now - (now % 1_000)),
        enqueuedAt: now,
        rank: rankOf(now, priority),
        ...('payloadOverride' in order ? { payloadOverride: structuredClone(order.payloadOverride) } : {}),
      }),
    )
    return { kind: 'triggered', enqueuedAt: now }
  }
}
