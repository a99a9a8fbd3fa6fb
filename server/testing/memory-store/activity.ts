// The figures that dashboards read, in memory: counted on request.

import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import { dayMs, minuteMs } from '../../src/lib/time/units.ts'
import {
  type Activity,
  type ActivityBucket,
  type ActivityPage,
  type ActivityQuery,
  type ActivityStep,
  bucketsMax,
  type FailureGroup,
  type HistorySize,
  type JobActivityQuery,
  type LateSlot,
  type QueueLook,
  type TroubleQuery,
} from '../../src/ports/activity.ts'
import { errorShape } from './error-shape.ts'
import { wordOf } from './job-health.ts'
import type { AttemptRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

const stepMs: Readonly<Record<ActivityStep, number>> = {
  minute: minuteMs,
  hour: 60 * minuteMs,
  day: 1_440 * minuteMs,
}
const lateMs = 5_000
const messageLengthMax = 500

export class MemoryActivity implements Activity {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async ofTenant(query: ActivityQuery): Promise<ActivityPage> {
    const rows = this.#recorded(query.tenantId)
    const buckets = this.#count(query, rows).map((bucket) => ({
      ...bucket,
      peak: peakOf(bucket, query, rows),
    }))
    return { asOf: this.#store.now(), buckets }
  }

  async ofJob(query: JobActivityQuery): Promise<ActivityPage | null> {
    const { tenantId, jobId } = query
    if (this.#store.findJob(tenantId, jobId) === null) return null
    const rows = this.#recorded(tenantId).filter((row) => row.jobId === jobId)
    return { asOf: this.#store.now(), buckets: this.#count(query, rows) }
  }

  async failures({ tenantId, from, limit }: TroubleQuery): Promise<FailureGroup[]> {
    const failed = this.#recorded(tenantId).filter(({ jobId, outcome, recordedAt }) => {
      return (
        recordedAt >= from &&
        !this.#isDeleted(jobId) &&
        (outcome === 'failed' || outcome === 'timed_out' || outcome === 'lost')
      )
    })
    const groups = Map.groupBy(failed, ({ jobId, error, httpStatus }) =>
      JSON.stringify([jobId, error?.type ?? null, httpStatus, errorShape(error?.message ?? '')]),
    )
    return [...groups.values()]
      .map((rows) => this.#groupOf(rows))
      .toSorted((a, b) => b.count - a.count || b.lastAt - a.lastAt || compareText(a.jobId, b.jobId))
      .slice(0, limit)
  }

  async late({ tenantId, from, limit }: TroubleQuery): Promise<LateSlot[]> {
    const began = this.#recorded(tenantId)
      .map((row) => ({ row, late: this.#lateness(row) }))
      .filter(({ row, late }) => late !== null && late > lateMs && row.slot >= from)
      .map(({ row, late }) => this.#lateOf('late', row, late))
    const skipped = [...this.#store.jobs.values()]
      .filter((job) => job.tenantId === tenantId)
      .flatMap((job) =>
        job.skips.flatMap(({ to, count, reason }): LateSlot[] => {
          if ((reason !== 'overlap' && reason !== 'misfire') || to < from) return []
          const said = this.#lateOf('skipped', { jobId: job.jobId, slot: to, executionId: null }, null)
          return [{ ...said, reason, slotCount: count }]
        }),
      )
    const now = this.#store.now()
    const waiting = this.#waiting(tenantId)
      .filter(({ enqueuedAt }) => enqueuedAt < now - lateMs)
      .map((one) => this.#lateOf('waiting', one, now - one.enqueuedAt))
    return [...waiting, ...began, ...skipped].toSorted((a, b) => b.slot - a.slot).slice(0, limit)
  }

  async queue({ tenantId }: { tenantId: string | null }): Promise<QueueLook> {
    const ready = this.#waiting(tenantId).filter(({ state }) => state === 'ready')
    const oldestAt = ready.reduce<EpochMs | null>((oldest, { enqueuedAt }) => {
      return oldest === null || enqueuedAt < oldest ? enqueuedAt : oldest
    }, null)
    return { depth: ready.length, capped: false, oldestAt }
  }

  /** No bytes: it is kept on no disk. */
  async historySize({ tenantId }: { tenantId: string | null }): Promise<HistorySize> {
    const rows = this.#recorded(tenantId)
    const oldest = rows.reduce(
      (least, { recordedAt }) => Math.min(least, recordedAt),
      Number.POSITIVE_INFINITY,
    )
    const oldestAt = rows.length === 0 ? null : startOf(oldest, 'day')
    const since = this.#store.now() - dayMs
    const written = { bytes: null, attempts: rows.filter(({ recordedAt }) => recordedAt >= since).length }
    return { bytes: null, attempts: rows.length, oldestAt, written }
  }

  #recorded(tenantId: string | null): AttemptRow[] {
    return Array.from(this.#store.log.all()).filter((row) => tenantId === null || row.tenantId === tenantId)
  }

  #count({ step, from, to }: ActivityQuery, rows: readonly AttemptRow[]): ActivityBucket[] {
    const buckets = Map.groupBy(rows, ({ recordedAt }) => startOf(recordedAt, step))
    return [...buckets]
      .filter(([at]) => at >= from && at < to)
      .toSorted(([a], [b]) => a - b)
      .slice(0, bucketsMax)
      .map(([at, recorded]) => this.#bucketOf(at, recorded))
  }

  #bucketOf(at: EpochMs, rows: readonly AttemptRow[]): ActivityBucket {
    const count = (isIt: (row: AttemptRow) => boolean) => rows.filter(isIt).length
    const durations = rows.flatMap(({ final, outcome, durationMs }) => {
      return final && outcome !== 'cancelled' && durationMs !== null ? [durationMs] : []
    })
    const late = rows.map((row) => this.#lateness(row)).filter((ms) => ms !== null)
    return {
      at,
      succeeded: count(({ final, outcome }) => final && outcome === 'succeeded'),
      failed: count(({ final, outcome }) => final && (outcome === 'failed' || outcome === 'lost')),
      timedOut: count(({ final, outcome }) => final && outcome === 'timed_out'),
      cancelled: count(({ final, outcome }) => final && outcome === 'cancelled'),
      skipped: count(({ outcome }) => outcome === 'skipped'),
      attempts: count(({ outcome }) => outcome !== 'skipped'),
      retries: count(({ attempt, outcome }) => attempt > 1 && outcome !== 'skipped'),
      deadLetters: count(({ deadLetter }) => deadLetter),
      durationMsSum: durations.reduce((sum, ms) => sum + ms, 0),
      durationMsMax: Math.max(0, ...durations),
      started: late.length,
      within1s: late.filter((ms) => ms <= 1_000).length,
      within5s: late.filter((ms) => ms <= lateMs).length,
      lateMsMax: Math.max(0, ...late),
      peak: null,
    }
  }

  /** See the store on PostgreSQL. */
  #lateness({ attempt, startedAt, kind, slot, enqueuedAt, jobId, version }: AttemptRow): number | null {
    if (attempt !== 1 || startedAt === null || (kind !== 'slot' && kind !== 'trigger')) return null
    if (kind === 'trigger') return Math.max(0, startedAt - enqueuedAt)
    if (startedAt <= slot + 1_000) return Math.max(0, startedAt - slot)
    const { schedule, jitterSeconds } = this.#store.versionOf({ jobId, version })
    const seconds = schedule.type === 'IMMEDIATE' ? 1 : jitterSeconds
    const madeAt = this.#store.jobs.get(jobId)!.made.get(version)!.at
    const dueAt = Math.max(slot + seconds * 1_000, schedule.type === 'ONE_TIME' ? madeAt : slot)
    return Math.max(0, startedAt - Math.min(enqueuedAt, dueAt))
  }

  #groupOf(rows: readonly AttemptRow[]): FailureGroup {
    const last = rows.reduce((latest, row) => {
      const later = row.recordedAt - latest.recordedAt || compareText(row.executionId, latest.executionId)
      return later > 0 ? row : latest
    })
    const { jobId, error, httpStatus, recordedAt, executionId } = last
    return {
      jobId,
      jobName: this.#nameOf(jobId),
      errorType: error?.type ?? null,
      message: (error?.message ?? '').slice(0, messageLengthMax),
      httpStatus,
      count: rows.length,
      firstAt: rows.reduce((first, row) => (row.recordedAt < first ? row.recordedAt : first), recordedAt),
      lastAt: recordedAt,
      lastExecutionId: executionId,
      isJobFailing: wordOf(this.#store, this.#store.jobs.get(jobId)!) === 'FAILING',
    }
  }

  #isDeleted(jobId: string): boolean {
    return this.#store.jobs.get(jobId)!.cursor.status === 'DELETED'
  }

  #lateOf(
    kind: LateSlot['kind'],
    { jobId, slot, executionId }: { jobId: string; slot: EpochMs; executionId: string | null },
    late: number | null,
  ): LateSlot {
    const jobName = this.#nameOf(jobId)
    return { jobId, jobName, slot, kind, lateMs: late, reason: null, slotCount: 1, executionId }
  }

  #nameOf(jobId: string): string {
    const job = this.#store.jobs.get(jobId)!
    return job.versions.get(job.version)!.name
  }

  /** The claimable executions, and the slots and triggers that are held back. */
  #waiting(tenantId: string | null) {
    const isWanted = (jobId: string) => {
      return tenantId === null || this.#store.jobs.get(jobId)!.tenantId === tenantId
    }
    const batched = [...this.#store.batches.values()]
      .filter(({ workerId }) => workerId === null)
      .flatMap(({ batchId, enqueuedAt, entries }) =>
        entries.map(({ jobId, slot, position }) => {
          const executionId = executionIdAt(batchId, position)
          return { jobId, slot, executionId, enqueuedAt, state: 'ready' }
        }),
      )
    const alone = [...this.#store.live.values()].filter(({ state, kind }) => {
      return state === 'ready' || (state === 'waiting' && (kind === 'slot' || kind === 'trigger'))
    })
    return [...batched, ...alone].filter(({ jobId }) => isWanted(jobId))
  }
}

function startOf(at: number, step: ActivityStep): EpochMs {
  return epochMs(Math.floor(at / stepMs[step]) * stepMs[step])
}

/** The busiest minute of a bucket. */
function peakOf(
  { at }: ActivityBucket,
  { step }: ActivityQuery,
  rows: readonly AttemptRow[],
): { count: number; at: EpochMs } {
  const inIt = rows.filter(({ recordedAt }) => startOf(recordedAt, step) === at)
  const minutes = Map.groupBy(inIt, ({ recordedAt }) => startOf(recordedAt, 'minute'))
  const counts = [...minutes].map(([minute, those]) => ({
    count: those.filter(({ final, outcome }) => final && outcome !== 'cancelled' && outcome !== 'skipped')
      .length,
    at: minute,
  }))
  return counts.toSorted((a, b) => b.count - a.count || a.at - b.at)[0]!
}
