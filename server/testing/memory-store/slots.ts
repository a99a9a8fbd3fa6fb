// Firing in memory: the same checks in the same order as the statement on PostgreSQL.

import { bufferMax, bufferRoom, hasOwnRows, isLimited } from '../../src/domain/jobs/job.ts'
import type { SkippedRange } from '../../src/domain/jobs/job-change.ts'
import { batchIdOf } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { rankOf } from '../../src/domain/queue/rank.ts'
import { routeOf } from '../../src/domain/queue/route.ts'
import { latePlansOf } from '../../src/domain/scheduling/late-plan.ts'
import { joinedMax } from '../../src/domain/scheduling/misfire.ts'
import { uncertaintyMsMax } from '../../src/domain/scheduling/partition-share.ts'
import { quotaHost } from '../../src/domain/tenants/execution-budget.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { DirectWorker } from '../../src/ports/direct-dispatch.ts'
import {
  type Cursor,
  type FireAnswer,
  type FiredAndClaimed,
  isDecidedAlone,
  type LoadRequest,
  type Slots,
  type SlotToFire,
} from '../../src/ports/slots.ts'
import { sharedUpTo, takeBatch } from './claim.ts'
import { makeLive } from './insert-live.ts'
import { calendarsOf, revisionOf } from './named-calendars.ts'
import type { CursorRow, JobRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

type Answer = FireAnswer['answer'] | 'fired'
/** Why a slot that comes has no execution. */
type Skip = 'overlap' | 'misfire' | 'exclusion' | 'quota'

export class MemorySlots implements Slots {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async load({ partitions, dueBefore, limit }: LoadRequest): Promise<Cursor[]> {
    return partitions.flatMap(({ partitionId, after }) => {
      const due = this.#store.due[partitionId]!.takeAfter(after, limit, ({ dueAt }) => dueAt! < dueBefore)
      return due.map(({ jobId }) => cursorOf(this.#store, this.#store.jobs.get(jobId)!))
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
    return jobs
      .filter(({ cursor }) => cursor.status === 'ACTIVE' && cursor.slotAt !== null)
      .map((job) => cursorOf(this.#store, job))
  }

  async fire(items: readonly SlotToFire[]): Promise<FireAnswer[]> {
    return this.#fireAll(items)
  }

  #fireAll(items: readonly SlotToFire[]): FireAnswer[] {
    const behind = this.#findBehind(items)
    const named = new Set<string>()
    return items.flatMap((item) => {
      const isRepeated =
        isDecidedAlone(item) &&
        named.has(item.jobId) &&
        !this.#store.jobs.get(item.jobId)?.slots.has(item.slot)
      named.add(item.jobId)
      const answer = isRepeated ? 'busy' : this.#fire(item, behind)
      return answer === 'fired' ? [] : [{ jobId: item.jobId, slot: item.slot, answer }]
    })
  }

  async fireAndClaim(
    items: readonly SlotToFire[],
    { workerId, route }: DirectWorker,
  ): Promise<FiredAndClaimed> {
    const answers = this.#fireAll(items)
    const lease = this.#store.leases.get(workerId)
    const batchIds = new Set(items.map(({ executionId }) => batchIdOf(executionId)))
    const upTo = sharedUpTo(this.#store, route, batchIds)
    const batches = [...batchIds].flatMap((batchId) => this.#store.batches.get(batchId) ?? [])
    const taken = batches.filter((batch) => {
      return (
        batch.route === route && batch.lane === sharedLane && batch.workerId === null && batch.rank < upTo
      )
    })
    if (lease === undefined) return { answers, batches: [] }
    return { answers, batches: taken.map((batch) => takeBatch(this.#store, batch, lease)) }
  }

  /** Jobs with a late plan that starts among decided or recorded slots and reaches further: it was made too early. */
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
    if (this.#store.deletedTenants.has(job.tenantId)) return 'stale'
    const { decidedTo, runs, graphId, depends } = job.cursor
    // Others have come to depend on it, or do no more: no version of its own says so.
    if (graphId !== item.graphId || depends) return this.#planAnew(job.cursor)
    if (behind.has(jobId) || this.#hasNewCalendars(job, item)) return this.#planAnew(job.cursor)
    if (decidedTo !== null && slot <= decidedTo) return 'already_recorded'
    if (item.dueAt > this.#store.now()) return 'early'
    if ((item.plannedAt ?? 0) > this.#store.now() + uncertaintyMsMax) return 'early'
    if (item.runs !== null && runs + item.runs.count > item.runs.max) return this.#planAnew(job.cursor)
    const answer = this.#decide(job, item)
    // Also for a slot that has its record: the cursor moves past skipped and owed slots.
    const { owedTo, owedPaceMs, version } = item
    // One that is only to be recorded and has its record: it is in no other range.
    const isRecorded = item.skip !== null && answer === 'already_recorded'
    if (!isRecorded) for (const range of item.skipped) addSkip(job, { ...range, version })
    const opens = item.late && item.joins !== undefined && (answer === 'fired' || answer === 'buffered')
    const to = owedTo ?? slot
    if (answer === 'deferred') this.#owe(job, { from: slot, to, paceMs: owedPaceMs })
    // With no slot owed after it the range is empty: it stands for the slot that has just fired.
    else if (owedTo !== null || opens) this.#owe(job, { from: (slot + 1) as EpochMs, to, paceMs: owedPaceMs })
    if (answer === 'deferred' && !item.late) job.joined += 1
    this.#move(job.cursor, item, answer)
    return answer
  }

  #hasNewCalendars({ tenantId }: JobRow, { calendars }: SlotToFire): boolean {
    return calendars !== null && revisionOf(this.#store, tenantId, calendars.names) !== calendars.revision
  }

  /** The scheduler that planned it reads the job again. */
  #planAnew(cursor: CursorRow): 'stale' {
    this.#store.noteChange(cursor)
    return 'stale'
  }

  #decide(job: JobRow, item: SlotToFire): Answer {
    const { slot, executionId } = item
    if (job.slots.has(slot)) return 'already_recorded'
    if (item.skip !== null) return this.#skip(job, item, item.skip)
    const isAllowed = item.overlapPolicy === 'ALLOW'
    const isBlocked = !isAllowed && this.#store.isBlocked(job)
    const joins = item.joins !== undefined && job.owed !== null && job.joined < joinedMax
    if (isBlocked && (item.late || joins)) return 'deferred'
    if (isBlocked || item.limited) {
      const room = isBlocked ? bufferRoom[item.overlapPolicy] : bufferMax
      return countWaitingSlots(job) < room ? this.#buffer(job, item) : this.#skip(job, item, 'overlap')
    }
    if (item.ownRow || item.runId !== null) {
      this.#addLive(job, item, 'ready')
      return 'fired'
    }
    this.#store.addSlot(job, { slot, executionId, reason: null })
    this.#store.enqueue({ executionId, jobId: job.jobId, version: item.version, slot }, item)
    return 'fired'
  }

  #buffer(job: JobRow, item: SlotToFire): 'buffered' {
    this.#addLive(job, item, 'waiting')
    return 'buffered'
  }

  #addLive(
    job: JobRow,
    { slot, executionId, version, route, lane, priority, runId, heldBack }: SlotToFire,
    state: 'ready' | 'waiting',
  ): void {
    const { jobId, tenantId } = job
    const { concurrencyKey } = job.versions.get(version)!
    const enqueuedAt = this.#store.now()
    const queued = { route, lane, priority, enqueuedAt, rank: rankOf(enqueuedAt, priority) }
    // A buffered slot waits for others first, as long as it takes.
    const skipAt = state === 'ready' ? (heldBack?.skipAt ?? null) : null
    const hold = heldBack === undefined ? {} : { host: quotaHost, skipAt }
    const waits = { kind: 'slot', state, concurrencyKey, runId, ...hold } as const
    this.#store.addSlot(job, { slot, executionId, reason: null })
    this.#store.addLive(makeLive({ executionId, jobId, version, tenantId, slot, ...queued, ...waits }))
  }

  #owe(job: JobRow, { from, to, paceMs }: { from: EpochMs; to: EpochMs; paceMs: number }): void {
    const before = job.owed ?? { from, to, paceMs, nextAt: (this.#store.now() + paceMs) as EpochMs }
    this.#store.setOwed(job, {
      ...before,
      from: before.from > before.to ? from : before.from,
      to: Math.max(before.to, to) as EpochMs,
      paceMs: Math.max(before.paceMs, paceMs),
    })
  }

  #skip(job: JobRow, item: SlotToFire, reason: Skip): Skip {
    const { slot, previousSlot, version } = item
    // The row carries the execution in the way, so that the latest row leads to it for as long as it is live.
    this.#store.addSlot(job, { slot, executionId: job.latest?.executionId ?? item.executionId, reason })
    // Else it is the end of a range that comes with it.
    const isAlone = reason === 'overlap' || (reason !== 'misfire' && item.skipped.length === 0)
    if (!isAlone) return reason
    const last = job.skips.at(-1)
    if (last?.reason === reason && last.to === previousSlot && last.version === version) {
      last.to = slot
      last.count += 1
    } else {
      addSkip(job, { from: slot, to: slot, count: 1, reason, version })
    }
    return reason
  }

  #move(cursor: CursorRow, item: SlotToFire, answer: Answer): void {
    const { runs: limit } = item
    const move = item.move ?? (answer === 'deferred' ? (item.joins ?? null) : null)
    const willRun = answer === 'fired' || answer === 'buffered' || answer === 'deferred'
    const runs = cursor.runs + (willRun ? (limit?.count ?? 0) : 0)
    const isOver = limit !== null && runs >= limit.max
    const isBehind = move === null || (cursor.decidedTo !== null && move.decidedTo <= cursor.decidedTo)
    if (isBehind && limit === null) return
    const { slotAt, dueAt, decidedTo } = isBehind ? cursor : move
    const isCompleted = isOver || (!isBehind && slotAt === null && move.awaits !== true)
    this.#store.changeCursor(cursor, {
      runs,
      decidedTo,
      ...(isOver ? { slotAt: null, dueAt: null } : { slotAt, dueAt }),
      ...(isCompleted ? { status: 'COMPLETED' } : {}),
    })
  }
}

export function addSkip(job: JobRow, range: SkippedRange): void {
  const behind = job.skips.findLastIndex(({ from }) => from <= range.from)
  // The first record of a slot stands, as its primary key says.
  if (behind >= 0 && job.skips[behind]!.from === range.from) return
  job.skips.splice(behind + 1, 0, range)
}

function countWaitingSlots({ waiting }: JobRow): number {
  return waiting.take(waiting.size).filter(({ kind }) => kind === 'slot').length
}

function cursorOf(store: MemoryStore, { cursor, versions, latest }: JobRow): Cursor {
  const { jobId, partitionId, version, runs } = cursor
  const definition = versions.get(version)!
  const { tenantId, schedule, anchorAt, priority, overlapPolicy } = definition
  const { misfirePolicy, misfireWindowSeconds, jitterSeconds } = definition
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
    route: routeOf(definition),
    overlapPolicy,
    misfirePolicy,
    misfireWindowSeconds,
    jitterSeconds,
    limited: isLimited(definition),
    ownRows: hasOwnRows(definition),
    runs,
    calendars: calendarsOf(store, definition),
    graphId: cursor.graphId,
  }
}
