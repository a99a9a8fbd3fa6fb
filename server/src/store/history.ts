// History on PostgreSQL.
import { type Outcome, type SkipReason, statusOfOutcome } from '../domain/execution.ts'
import type { StoredSchedule } from '../domain/job.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type {
  ExecutionPage,
  ExecutionQuery,
  ExecutionView,
  History,
  JobStats,
  SkipRange,
} from '../ports/history.ts'
import type { Database } from './database.ts'
import { findExecution } from './find-execution.ts'
import * as statements from './history.sql.ts'
import { searchExecutions } from './search.ts'

export class StoredHistory implements History {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  listExecutions(query: ExecutionQuery): Promise<ExecutionPage | null> {
    return searchExecutions(this.#database, query)
  }

  getExecution(tenantId: string, executionId: string): Promise<ExecutionView | null> {
    return findExecution(this.#database, tenantId, executionId)
  }

  async listSkips(query: {
    tenantId: string
    jobId: string
    from: EpochMs
    to: EpochMs
    limit: number
  }): Promise<SkipRange[] | null> {
    const { tenantId, jobId, from, to, limit } = query
    const job = await this.#database.query(statements.selectRetention, [tenantId, jobId])
    if (job.count === 0) return null
    const { rows } = await this.#database.query<SkipRow>(statements.selectSkips, [jobId, from, to, limit])
    return rows.map((row) => ({
      from: row.from_slot,
      to: row.to_slot,
      count: row.slot_count,
      reason: row.reason,
      version: row.version,
      schedule: row.schedule,
      anchorAt: row.anchor_at,
    }))
  }

  async stats(tenantId: string, jobId: string): Promise<JobStats | null> {
    const job = await this.#database.query<{ history_days: number }>(statements.selectRetention, [
      tenantId,
      jobId,
    ])
    if (job.rows[0] === undefined) return null
    const { rows } = await this.#database.query<StatsRow>(statements.selectStats, [
      jobId,
      job.rows[0].history_days,
    ])
    const { succeeded, failed, timed_out, timed, duration_ms, last_outcome } = rows[0]!
    return {
      succeeded,
      failed,
      timedOut: timed_out,
      averageDurationMs: timed === 0 ? null : Math.round(duration_ms / timed),
      lastStatus: last_outcome === null ? null : statusOfOutcome(last_outcome),
    }
  }
}

interface SkipRow {
  from_slot: EpochMs
  to_slot: EpochMs
  slot_count: number
  reason: SkipReason
  version: number
  schedule: StoredSchedule
  anchor_at: EpochMs
}

interface StatsRow {
  succeeded: number
  failed: number
  timed_out: number
  timed: number
  duration_ms: number
  last_outcome: Outcome | null
}
