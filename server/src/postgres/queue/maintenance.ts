// Maintenance on PostgreSQL.
import type { SettledAttempt } from '../../domain/queue/attempt.ts'
import type { Beat } from '../../domain/queue/lease-watch.ts'
import type { KeyCounts, WaitingJob } from '../../domain/queue/release.ts'
import { lossesMax, workerLostMessage } from '../../domain/queue/retry.ts'
import { executorOfRoute } from '../../domain/queue/route.ts'
import { formerWorkersMax, shownMs, workerLeaseMs } from '../../domain/queue/worker.ts'
import { firstId } from '../../lib/id.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type {
  Maintenance,
  Overdue,
  Released,
  ReleaseOrder,
  TimedOut,
  WaitingOfTenants,
} from '../../ports/maintenance.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Database } from '../connection/database.ts'
import { type EndingWire, type MarkWire, toEndingItem } from './ending-item.ts'
import * as statements from './maintenance.sql.ts'
import * as reclaim from './reclaim.sql.ts'
import { releaseJobs } from './release.ts'
import { type SettledRow, toSettled } from './settled-row.ts'
import { deleteWorker, selectBeats } from './workers.sql.ts'

/** Batches per step from which executions without a report are moved to `live`. */
const prunedMax = 50
/** About 20 ms. */
const beatsPerRead = 10_000

export class PostgresMaintenance implements Maintenance {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async watch(): Promise<Beat[]> {
    const beats: Beat[] = []
    for (let after = firstId; ; ) {
      const { rows } = await this.#database.query<Columns<Beat>>(selectBeats, [beatsPerRead, after])
      beats.push(...rows.map(fromColumns<Beat>))
      if (rows.length < beatsPerRead) return beats
      after = beats.at(-1)!.holderId
    }
  }

  // The worker row is locked first, and the executions it holds are read in later statements: the snapshot of a single
  // statement would miss a claim that came in between.
  reclaim({ holderId: workerId, beats }: Beat): Promise<SettledAttempt[] | 'alive'> {
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        const { count } = await queries.query(reclaim.lockSilentWorker, [workerId, beats])
        if (count === 0) return 'alive'
        const values = [workerId, workerLostMessage]
        const batched = await queries.query<ReclaimedRow>(reclaim.reclaimBatches, values)
        const live = await queries.query<ReclaimedRow>(reclaim.reclaimLive, [...values, lossesMax])
        await queries.query(deleteWorker, [workerId, 'DEAD', shownMs.DEAD, formerWorkersMax.DEAD])
        return [...batched.rows, ...live.rows].map((row) => toSettled(row, row.outcome, row.final))
      }),
    )
  }

  async wake(limit: number): Promise<number> {
    const { count } = await this.#database.query(statements.wakeRetries, [limit])
    return count
  }

  async nextWakeAt(): Promise<EpochMs | null> {
    const { rows } = await this.#database.query<{ at: EpochMs | null }>(statements.selectNextRetry, [])
    return rows[0]!.at
  }

  async findWaiting(after: string | null, limit: number): Promise<string[]> {
    const values = [after ?? firstId, limit, after === null]
    const { rows } = await this.#database.query<WaitingRow>(statements.selectWaitingJobs, values)
    // Jobs of the page come last: the next page continues after the last one.
    const page = rows.filter(({ listed }) => listed).map((row) => row.job_id)
    const inPage = new Set(page)
    const first = rows.filter(({ job_id: jobId, listed }) => !listed && !inPage.has(jobId))
    return [...first.map((row) => row.job_id), ...page]
  }

  async findWaitingOfTenants(after: string | null, { tenants, each }: WaitingOfTenants) {
    const { rows } = await this.#database.query<{ tenant_id: string; job_id: string }>(
      statements.selectWaitingOfTenants,
      [after ?? firstId, tenants, each],
    )
    const found = new Set(rows.map((row) => row.tenant_id))
    return {
      jobIds: rows.map((row) => row.job_id),
      last: found.size < tenants ? null : rows.at(-1)!.tenant_id,
    }
  }

  release(
    jobIds: readonly string[],
    decide: (job: WaitingJob, keys: KeyCounts) => ReleaseOrder,
  ): Promise<Released> {
    return releaseJobs(this.#database, jobIds, decide)
  }

  async findOverdue(limit: number): Promise<Overdue[]> {
    // A batch has no deadline: executions left in one are given theirs first.
    await this.#database.query(statements.leaveForgotten, [prunedMax])
    const { rows } = await this.#database.query<OverdueRow>(statements.selectOverdue, [limit])
    return rows.map(toOverdue)
  }

  async timeOut(ends: readonly TimedOut[]): Promise<string[]> {
    if (ends.length === 0) return []
    const items = ends.map(({ executionId: e, attempt: n, fence: f, end }): MarkWire & EndingWire => {
      return { e, n, f, ...toEndingItem({ kind: 'ended', end }) }
    })
    const { rows } = await withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.query<{ id: string; what: string }>(statements.timeOutLive, [
        JSON.stringify(items),
        workerLeaseMs,
      ]),
    )
    const missing = new Set(rows.filter(({ what }) => what === 'missing').map(({ id }) => id))
    return ends.map(({ executionId }) => executionId).filter((executionId) => !missing.has(executionId))
  }
}

function toOverdue({ route, ...row }: OverdueRow): Overdue {
  // Derived from the route, not from the execution definition, which contains the payload.
  return { ...fromColumns<Omit<Overdue, 'executor'>>(row), executor: executorOfRoute(route) }
}

interface ReclaimedRow extends SettledRow {
  outcome: 'lost' | 'cancelled'
  final: boolean
}

type OverdueRow = Columns<Omit<Overdue, 'executor'>> & { route: string }

interface WaitingRow {
  job_id: string
  listed: boolean
}
