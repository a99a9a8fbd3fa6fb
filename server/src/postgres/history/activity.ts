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
    const { rows } = await this.#database.query<Columns<QueueLook>>(statements.lookAtQueue, values)
    return fromColumns<QueueLook>(rows[0]!)
  }

  async historySize({ tenantId }: { tenantId: string | null }): Promise<HistorySize> {
    const { rows } = await this.#database.query<SizeRow>(statements.estimateHistory, [tenantId])
    const { bytes, attempts, own_attempts: own, own_written_attempts: ownWritten, ...row } = rows[0]!
    if (tenantId === null) {
      const written = { bytes: row.written_bytes, attempts: row.written_attempts }
      return { bytes, attempts, oldestAt: row.oldest_at, written }
    }
    const bytesOf = (count: number) => (attempts === 0 ? null : Math.round((bytes / attempts) * count))
    const written = { bytes: bytesOf(ownWritten), attempts: ownWritten }
    return { bytes: bytesOf(own), attempts: own, oldestAt: row.own_oldest_at, written }
  }
}

const isWaiting = { kind: 'waiting', reason: null, slotCount: 1 } as const

function toPage({ as_of: asOf, buckets }: PageRow): ActivityPage {
  return { asOf, buckets: buckets.map(toBucket) }
}

function toBucket({ peak, peakAt, ...counts }: BucketPart): ActivityBucket {
  return { ...counts, peak: peak === undefined ? null : { count: peak, at: peakAt! } }
}

interface PageRow {
  as_of: EpochMs
  buckets: BucketPart[]
}

/** Without a peak: of a job. */
type BucketPart = Omit<ActivityBucket, 'peak'> & { peak?: number; peakAt?: EpochMs }

interface SizeRow {
  bytes: number
  attempts: number
  oldest_at: EpochMs | null
  written_bytes: number
  written_attempts: number
  own_attempts: number
  own_oldest_at: EpochMs | null
  own_written_attempts: number
}
