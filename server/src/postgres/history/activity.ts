// The dashboard figures, on PostgreSQL.
import type { ErrorType } from '../../domain/queue/retry.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
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
} from '../../ports/activity.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './activity.sql.ts'

const stepSeconds: Readonly<Record<ActivityStep, number>> = { minute: 60, hour: 3_600, day: 86_400 }
/** Groups of ten minutes each that are looked at. */
const groupsLookedAt = 30_000
const batchesLookedAt = 100
const liveLookedAt = 5_000

export class PostgresActivity implements Activity {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async ofTenant({ tenantId, step, from, to }: ActivityQuery): Promise<ActivityPage> {
    const values = [tenantId, stepSeconds[step], from, to, bucketsMax]
    const { rows } = await this.#database.query<PageRow>(statements.selectTenantActivity, values)
    return toPage(rows[0]!)
  }

  async ofJob({ tenantId, jobId, step, from, to }: JobActivityQuery): Promise<ActivityPage | null> {
    const statement = step === 'hour' ? statements.selectJobHours : statements.selectJobDays
    const values = [tenantId, from, to, bucketsMax, jobId]
    const { rows } = await this.#database.query<PageRow>(statement, values)
    return rows[0] === undefined ? null : toPage(rows[0])
  }

  async failures({ tenantId, from, limit }: TroubleQuery): Promise<FailureGroup[]> {
    const values = [tenantId, from, limit, groupsLookedAt]
    const { rows } = await this.#database.query<FailureRow>(statements.selectFailures, values)
    return rows.map((row) => ({
      jobId: row.job_id,
      jobName: row.job_name,
      errorType: row.error_type,
      message: row.message,
      httpStatus: row.http_status,
      count: row.failures,
      firstAt: row.first_at,
      lastAt: row.last_at,
      lastExecutionId: row.last_execution_id,
    }))
  }

  async late({ tenantId, from, limit }: TroubleQuery): Promise<LateSlot[]> {
    const noted = await this.#database.query<LateRow>(statements.selectLateSlots, [tenantId, from, limit])
    const waiting = await this.#database.query<WaitingRow>(statements.selectWaitingSlots, [
      tenantId,
      batchesLookedAt,
      liveLookedAt,
      limit,
    ])
    const all: LateSlot[] = [
      ...waiting.rows.map((row) => ({
        ...{ jobId: row.job_id, jobName: row.job_name, slot: row.slot, executionId: row.execution_id },
        ...{ kind: 'waiting' as const, lateMs: row.late_ms, reason: null, slotCount: 1 },
      })),
      ...noted.rows.map((row) => ({
        ...{ jobId: row.job_id, jobName: row.job_name, slot: row.slot, executionId: row.execution_id },
        ...{ kind: row.kind, lateMs: row.late_ms, reason: row.reason, slotCount: row.slot_count },
      })),
    ]
    return all.toSorted((a, b) => b.slot - a.slot).slice(0, limit)
  }

  async queue({ tenantId }: { tenantId: string | null }): Promise<QueueLook> {
    const values = [tenantId, batchesLookedAt, liveLookedAt]
    const { rows } = await this.#database.query<QueueRow>(statements.lookAtQueue, values)
    const { depth, capped, oldest_at: oldestAt } = rows[0]!
    return { depth, capped, oldestAt }
  }

  async historySize({ tenantId }: { tenantId: string | null }): Promise<HistorySize> {
    const { rows } = await this.#database.query<SizeRow>(statements.estimateHistory, [tenantId])
    const { bytes, attempts, oldest_at: oldestAt, own_attempts: own, own_oldest_at: ownOldestAt } = rows[0]!
    if (tenantId === null) return { bytes, attempts, oldestAt }
    const ownBytes = attempts === 0 ? null : Math.round((bytes / attempts) * own)
    return { bytes: ownBytes, attempts: own, oldestAt: ownOldestAt }
  }
}

function toPage({ as_of: asOf, buckets }: PageRow): ActivityPage {
  return { asOf, buckets: buckets.map(toBucket) }
}

function toBucket(row: BucketRow): ActivityBucket {
  return {
    at: row.at,
    succeeded: row.succeeded,
    failed: row.failed,
    timedOut: row.timed_out,
    cancelled: row.cancelled,
    skipped: row.skipped,
    attempts: row.attempts,
    retries: row.retries,
    deadLetters: row.dead_letters,
    durationMsSum: row.duration_ms,
    durationMsMax: row.duration_ms_max,
    started: row.started,
    within1s: row.within_1s,
    within5s: row.within_5s,
    lateMsMax: row.late_ms_max,
    peak: row.peak === undefined ? null : { count: row.peak, at: row.peak_at! },
  }
}

interface PageRow {
  as_of: EpochMs
  buckets: BucketRow[]
}

interface BucketRow {
  at: EpochMs
  succeeded: number
  failed: number
  timed_out: number
  cancelled: number
  skipped: number
  attempts: number
  retries: number
  dead_letters: number
  duration_ms: number
  duration_ms_max: number
  started: number
  within_1s: number
  within_5s: number
  late_ms_max: number
  peak?: number
  peak_at?: EpochMs
}

interface FailureRow {
  job_id: string
  job_name: string
  error_type: ErrorType | null
  message: string
  http_status: number | null
  failures: number
  first_at: EpochMs
  last_at: EpochMs
  last_execution_id: string
}

interface LateRow {
  job_id: string
  job_name: string
  slot: EpochMs
  kind: 'late' | 'skipped'
  late_ms: number | null
  reason: 'overlap' | 'misfire' | null
  slot_count: number
  execution_id: string | null
}

interface WaitingRow {
  job_id: string
  job_name: string
  slot: EpochMs
  execution_id: string
  late_ms: number
}

interface QueueRow {
  depth: number
  capped: boolean
  oldest_at: EpochMs | null
}

interface SizeRow {
  bytes: number
  attempts: number
  oldest_at: EpochMs | null
  own_attempts: number
  own_oldest_at: EpochMs | null
}
