// Upkeep on PostgreSQL.
import type { OverlapPolicy, StoredSchedule } from '../domain/job.ts'
import type { Beat } from '../domain/lease-watch.ts'
import { lossesMax, workerLostMessage } from '../domain/retry.ts'
import { workersMax } from '../domain/worker.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { ReleaseOrder, Upkeep, WaitingJob } from '../ports/upkeep.ts'
import type { Database } from './database.ts'
import { withDays } from './days.ts'
import { lockCursors } from './slots.sql.ts'
import * as statements from './upkeep.sql.ts'
import { selectBeats } from './workers.sql.ts'

const noJob = '00000000-0000-0000-0000-000000000000'

export class StoredUpkeep implements Upkeep {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async watch(): Promise<Beat[]> {
    const { rows } = await this.#database.query<{ worker_id: string; beats: number }>(selectBeats, [
      workersMax,
    ])
    return rows.map((row) => ({ workerId: row.worker_id, beats: row.beats }))
  }

  // The worker row is locked first, and what it holds is read in statements after that: a claim that came between
  // would be missed by one statement's snapshot.
  reclaim({ workerId, beats }: Beat): Promise<'reclaimed' | 'alive'> {
    return withDays(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        const { count } = await queries.query(statements.lockSilentWorker, [workerId, beats])
        if (count === 0) return 'alive'
        await queries.query(statements.reclaimLive, [workerId, workerLostMessage, lossesMax])
        await queries.query(statements.reclaimBatches, [workerId, workerLostMessage])
        await queries.query(statements.deleteReclaimed, [workerId])
        return 'reclaimed'
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

  async findWaiting(after: string | null, limit: number): Promise<WaitingJob[]> {
    const values = [after ?? noJob, limit]
    const { rows } = await this.#database.query<WaitingRow>(statements.selectWaitingJobs, values)
    return rows.map((row) => ({
      jobId: row.job_id,
      version: row.version,
      tenantId: row.tenant_id,
      priority: row.priority,
      overlapPolicy: row.overlap_policy,
      schedule: row.schedule,
      anchorAt: row.anchor_at,
      owed: row.from_slot === null ? null : { from: row.from_slot, to: row.to_slot! },
    }))
  }

  async release(orders: readonly ReleaseOrder[]): Promise<string[]> {
    if (orders.length === 0) return []
    const slots = orders.flatMap(({ owed }) => (owed === null ? [] : [owed.slot]))
    return withDays(this.#database, 'slots', slots, () =>
      this.#database.transaction(async (queries) => {
        const ids = JSON.stringify(orders.map(({ jobId }) => jobId))
        const { rows } = await queries.query<{ job_id: string }>(lockCursors, [ids])
        const locked = new Set(rows.map((row) => row.job_id))
        const items = orders.filter(({ jobId }) => locked.has(jobId)).map(toItem)
        if (items.length === 0) return []
        const released = await queries.query<{ job_id: string }>(statements.releaseWaiting, [
          JSON.stringify(items),
        ])
        return released.rows.map((row) => row.job_id)
      }),
    )
  }
}

function toItem({ jobId, version, owed }: ReleaseOrder): object {
  if (owed === null) return { j: jobId, v: version }
  const { slot, next, executionId, route, lane, priority } = owed
  return { j: jobId, v: version, s: slot, n: next, e: executionId, r: route, l: lane, p: priority }
}

interface WaitingRow {
  job_id: string
  version: number
  tenant_id: string
  priority: number
  overlap_policy: OverlapPolicy
  schedule: StoredSchedule
  anchor_at: EpochMs
  from_slot: EpochMs | null
  to_slot: EpochMs | null
}
