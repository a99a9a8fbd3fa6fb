// The room of a tenant under its limits, on PostgreSQL. The storage of a tenant with a limit has one row: the bytes of
// the last count, and the bytes that processes have drawn since. Logs are counted where they are written: see log_days.
import { versionBytesBase } from '../../domain/tenants/storage.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { StorageDraw, StorageDrawn, TenantRoom, WaitingRoom } from '../../ports/tenant-room.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import * as statements from './tenant-room.sql.ts'

/** Nothing says that a payload was sent, a version pruned or an artifact deleted: so a count does not stand for ever. */
const ageSecondsMax = 600
/** Of a count that is shown to people: slices that were drawn and not spent are not in a new one. */
const shownSecondsMax = 5
/** A count that would refuse stands so long, and so many times as long as it took: 2 % of a core at most. */
const refusingMsMin = 100
const refusingTimes = 50
/** A second in all, of 300,000 versions and 400,000 waiting executions. */
const versionsLookedAt = 200_000
const liveLookedAt = 200_000
const batchesLookedAt = 20_000
/** Of the shared lane: up to 100 executions each, whose jobs are looked up. */
const sharedLookedAt = 500

export class PostgresTenantRoom implements TenantRoom {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async waitingRoom(tenantIds: readonly string[]): Promise<ReadonlyMap<string, WaitingRoom>> {
    if (tenantIds.length === 0) return new Map()
    const rows = await countWaiting(this.#database, tenantIds, null)
    return new Map(
      rows.map(({ tenant_id: tenantId, waiting_max: waitingMax, waiting }) => [
        tenantId,
        { waitingMax, waiting, room: Math.max(0, waitingMax - waiting) },
      ]),
    )
  }

  async countWaiting(tenantId: string, max: number): Promise<number> {
    const rows = await countWaiting(this.#database, [tenantId], max)
    return rows[0]?.waiting ?? 0
  }

  async drawStorage(draw: StorageDraw): Promise<StorageDrawn> {
    const drawn = await this.#draw(draw)
    if (drawn !== 'count') return drawn
    // Before the draw: its bytes are not written yet, and the count would take them for written.
    await recountStorage(this.#database, draw.tenantId)
    return (await this.#draw(draw, { isCounted: true })) as StorageDrawn
  }

  /** 'count': the count is old, or would refuse and may be taken anew. */
  #draw(
    { tenantId, limit, bytesMin, bytesMax }: StorageDraw,
    { isCounted = false } = {},
  ): Promise<StorageDrawn | 'count'> {
    return this.#database.transaction(async (queries) => {
      const { used, is_old, may_recount } = await lockStorage(queries, tenantId)
      const room = limit - used
      const isRefused = room < bytesMin
      if (!isCounted && (is_old || (isRefused && may_recount))) return 'count'
      const granted = isRefused ? 0 : Math.min(room, bytesMax)
      if (granted > 0) await queries.query(statements.drawStorage, [tenantId, granted])
      return { granted, used }
    })
  }

  async storageUsed(tenantId: string): Promise<number> {
    const found = await readStorage(this.#database, tenantId, shownSecondsMax)
    if (found !== null && !(found.is_old && found.may_recount)) return found.used
    await recountStorage(this.#database, tenantId)
    return (await readStorage(this.#database, tenantId, shownSecondsMax))?.used ?? 0
  }
}

async function countWaiting(
  queries: Queries,
  tenantIds: readonly string[],
  max: number | null,
): Promise<WaitingRow[]> {
  const values = [tenantIds, tenantIds, max, batchesLookedAt, sharedLookedAt]
  return (await queries.query<WaitingRow>(statements.countWaitingOfTenants, values)).rows
}

/** Makes the row of a tenant that has none. */
async function lockStorage(queries: Queries, tenantId: string): Promise<StorageRow> {
  const values = [tenantId, ageSecondsMax, refusingMsMin, refusingTimes]
  const found = await queries.query<StorageRow>(statements.lockStorage, values)
  if (found.rows[0] !== undefined) return found.rows[0]
  await queries.query(statements.beginStorage, [tenantId])
  return (await queries.query<StorageRow>(statements.lockStorage, values)).rows[0]!
}

/** Null: it was never asked about, and has no row. */
export async function readStorage(
  queries: Queries,
  tenantId: string,
  ageSeconds = ageSecondsMax,
): Promise<StorageRow | null> {
  const values = [tenantId, ageSeconds, refusingMsMin, refusingTimes]
  const { rows } = await queries.query<StorageRow>(statements.selectStorage, values)
  return rows[0] ?? null
}

/** Of a tenant that has no row yet. */
export async function readLogBytes(queries: Queries, tenantId: string): Promise<number> {
  const { rows } = await queries.query<{ bytes: number }>(statements.selectLogBytes, [tenantId])
  return rows[0]!.bytes
}

/** Counts, unless another process does. Outside of a transaction: others draw meanwhile. */
export async function recountStorage(queries: Queries, tenantId: string): Promise<void> {
  const begun = await queries.query<{ counting_at: EpochMs; drawn_bytes: number }>(
    statements.beginStorageCount,
    [tenantId],
  )
  if (begun.rows[0] === undefined) return
  const { counting_at: countingAt, drawn_bytes: drawn } = begun.rows[0]
  const { artifact_bytes, version_bytes, payload_bytes } = await measureStorage(queries, tenantId)
  const values = [tenantId, countingAt, artifact_bytes, version_bytes, payload_bytes, drawn]
  await queries.query(statements.endStorageCount, values)
}

/** By a count of its own, which no row keeps. */
export async function measureStorage(queries: Queries, tenantId: string) {
  const values = [tenantId, versionsLookedAt, liveLookedAt, batchesLookedAt, versionBytesBase]
  const found = (await queries.query<MeasuredRow>(statements.measureStorage, values)).rows[0]!
  const { artifact_bytes, version_bytes, payload_bytes, log_bytes } = found
  return { ...found, total: artifact_bytes + version_bytes + payload_bytes + log_bytes }
}

interface StorageRow {
  used: number
  is_old: boolean
  may_recount: boolean
}

interface MeasuredRow {
  artifact_bytes: number
  version_bytes: number
  payload_bytes: number
  log_bytes: number
}

interface WaitingRow {
  tenant_id: string
  waiting_max: number
  waiting: number
}
