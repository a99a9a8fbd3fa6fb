// Firing in memory: the same checks in the same order as the statement on PostgreSQL.
import type { SkipReason } from '../../domain/execution.ts'
import type { SkippedRange } from '../../domain/job-change.ts'
import { latePlansOf } from '../../domain/late-plan.ts'
import type { EpochMs } from '../../lib/epoch.ts'
import type { Cursor, FireAnswer, LoadRequest, Slots, SlotToFire } from '../../ports/slots.ts'
import type { JobRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

type Answer = FireAnswer['answer'] | 'fired'

export class MemorySlots implements Slots {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async load({ partitions, dueBefore, limit }: LoadRequest): Promise<Cursor[]> {
    return partitions.flatMap(({ partitionId, after }) => {
      const due = this.#store.due[partitionId]!.takeAfter(after, limit, ({ dueAt }) => dueAt! < dueBefore)
      return due.map(({ jobId }) => cursorOf(this.#store.jobs.get(jobId)!))
    })
  }

  async takeChanges(partitionIds: readonly number[], limit: number): Promise<Cursor[]> {
    const taken: string[] = []
    for (const changes of partitionIds.map((id) => this.#store.changes[id]!)) {
      for (const jobId of changes) {
        if (taken.length === limit) break
        changes.delete(jobId)
        taken.push(jobId)
      }
    }
    const jobs = taken.map((jobId) => this.#store.jobs.get(jobId)!)
    return jobs.filter(({ cursor }) => cursor.status === 'ACTIVE' && cursor.slotAt !== null).map(cursorOf)
  }

  async fire(items: readonly SlotToFire[]): Promise<FireAnswer[]> {
    const behind = this.#findBehind(items)
    const named = new Set<string>()
    return items.flatMap((item) => {
      const isRepeated =
        !item.allowOverlap && named.has(item.jobId) && !this.#store.jobs.get(item.jobId)?.slots.has(item.slot)
      named.add(item.jobId)
      const answer = isRepeated ? 'busy' : this.#fire(item, behind)
      return answer === 'fired' ? [] : [{ jobId: item.jobId, slot: item.slot, answer }]
    })
  }

  /** Jobs of which a late plan starts in what is decided or recorded and reaches further: it was made too early. */
  #findBehind(items: readonly SlotToFire[]): Set<string> {
    const behind = new Set<string>()
    for (const [jobId, { from, to }] of latePlansOf(items)) {
      const job = this.#store.jobs.get(jobId)
      const decidedTo = job?.cursor.decidedTo ?? Number.NEGATIVE_INFINITY
      const known = Math.max(decidedTo, job?.latest?.slot ?? Number.NEGATIVE_INFINITY)
      if (to > decidedTo && from <= known) behind.add(jobId)
    }
    return behind
  }

  #fire(item: SlotToFire, behind: ReadonlySet<string>): Answer {
    const { jobId, slot } = item
    const job = this.#store.jobs.get(jobId)
    if (job?.cursor.version !== item.version || job.cursor.status !== 'ACTIVE') return 'stale'
    if (behind.has(jobId)) {
      this.#store.changes[job.cursor.partitionId]!.add(jobId)
      return 'stale'
    }
    const { decidedTo } = job.cursor
    if (decidedTo !== null && slot <= decidedTo) return 'taken'
    if (item.dueAt > this.#store.now()) return 'early'
    const answer = this.#decide(job, item)
    // Also for a slot that has its record: the cursor moves past what was misfired and what is owed.
    const { misfired, owedTo, move, version } = item
    if (misfired !== null) addSkip(job, { ...misfired, reason: 'misfire', version })
    if (answer === 'owed') this.#owe(job, slot, owedTo ?? slot)
    else if (owedTo !== null) this.#owe(job, (slot + 1) as EpochMs, owedTo)
    this.#move(job, move)
    return answer
  }

  #decide(job: JobRow, item: SlotToFire): Answer {
    const { slot, executionId } = item
    if (job.slots.has(slot)) return 'taken'
    if (item.misfiredItself) {
      this.#addSkipped(job, item, 'misfire')
      return 'misfire'
    }
    if (!item.allowOverlap && this.#store.isBlocked(job)) {
      if (item.late) return 'owed'
      this.#skip(job, item)
      return 'overlap'
    }
    this.#store.addSlot(job, { slot, executionId, reason: null })
    this.#store.enqueue({ executionId, jobId: job.jobId, version: item.version, slot }, item)
    return 'fired'
  }

  #owe(job: JobRow, from: EpochMs, to: EpochMs): void {
    const { owed } = job
    if (owed === null || to > owed.to) this.#store.setOwed(job, { from: owed?.from ?? from, to })
  }

  #skip(job: JobRow, item: SlotToFire): void {
    const { slot, previousSlot, version } = item
    this.#addSkipped(job, item, 'overlap')
    const last = job.skips.at(-1)
    if (last?.reason === 'overlap' && last.to === previousSlot && last.version === version) {
      last.to = slot
      last.count += 1
    } else {
      addSkip(job, { from: slot, to: slot, count: 1, reason: 'overlap', version })
    }
  }

  // The row carries the execution in the way, so that the latest row leads to it for as long as it is live.
  #addSkipped(job: JobRow, { slot, executionId }: SlotToFire, reason: SkipReason): void {
    this.#store.addSlot(job, { slot, executionId: job.latest?.executionId ?? executionId, reason })
  }

  #move({ cursor }: JobRow, move: SlotToFire['move']): void {
    if (move === null || (cursor.decidedTo !== null && move.decidedTo <= cursor.decidedTo)) return
    this.#store.changeCursor(cursor, { ...move, ...(move.slotAt === null ? { status: 'COMPLETED' } : {}) })
  }
}

export function addSkip(job: JobRow, range: SkippedRange): void {
  const behind = job.skips.findLastIndex(({ from }) => from <= range.from)
  // The first record of a slot stands, as its primary key says.
  if (behind >= 0 && job.skips[behind]!.from === range.from) return
  job.skips.splice(behind + 1, 0, range)
}

function cursorOf({ cursor, tenantId, versions, latest }: JobRow): Cursor {
  const { jobId, partitionId, version } = cursor
  const { schedule, anchorAt, priority, overlapPolicy, misfireWindowSeconds } = versions.get(version)!
  const slotAt = cursor.slotAt!
  return {
    jobId,
    partitionId,
    tenantId,
    version,
    slotAt,
    dueAt: cursor.dueAt!,
    recordedAt: latest !== null && latest.slot >= slotAt ? latest.slot : null,
    schedule,
    anchorAt,
    priority,
    overlapPolicy,
    misfireWindowSeconds,
  }
}
