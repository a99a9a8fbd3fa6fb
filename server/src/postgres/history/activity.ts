// The dashboard figures, on PostgreSQL.
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
import { type Columns, fromColumns } from '../connection/columns.ts'
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
    const { rows } = await this.#database.query<Columns<FailureGroup>>(statements.selectFailures, values)
    return rows.map(fromColumns<FailureGroup>)
  }

  async late({ tenantId, from, limit }: TroubleQuery): Promise<LateSlot[]> {
    const noted = await this.#database.query<Columns<LateSlot>>(statements.selectLateSlots, [
      tenantId,
      from,
      limit,
    ])
    const waiting = await this.#database.query<Columns<LateSlot>>(statements.selectWaitingSlots, [
      tenantId,
      batchesLookedAt,
      liveLookedAt,
      limit,
    ])
    const all: LateSlot[] = [
      ...waiting.rows.map((row) => ({ ...fromColumns<LateSlot>(row), ...isWaiting })),
      ...noted.rows.map(fromColumns<LateSlot>),
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

const isWaiting = { kind: 'waiting', reason: null, slotCount: 1 } as const

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
