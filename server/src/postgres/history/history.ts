// History on PostgreSQL.
import { type Outcome, statusOfOutcome } from '../../domain/queue/execution.ts'
import type {
  ExecutionPage,
  ExecutionQuery,
  ExecutionView,
  History,
  JobStats,
  Lateness,
  SkipRange,
  SlotBounds,
  SlotCount,
  SlotPage,
  SlotQuery,
  UnderWay,
} from '../../ports/history.ts'
import type { Database } from '../connection/database.ts'
import { findExecution } from './find-execution.ts'
import * as statements from './history.sql.ts'
import { searchExecutions } from './search.ts'
import { countSlots, listSkips, listSlots, selectUnderWay } from './slot-ledger.ts'

export class PostgresHistory implements History {
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

  listSkips(query: SlotQuery): Promise<SkipRange[] | null> {
    return listSkips(this.#database, query)
  }

  listSlots(query: SlotQuery & Lateness): Promise<SlotPage | null> {
    return listSlots(this.#database, query)
  }

  countSlots(query: SlotBounds & Lateness): Promise<SlotCount | null> {
    return countSlots(this.#database, query)
  }

  underWay(tenantId: string, jobId: string): Promise<UnderWay | null> {
    return selectUnderWay(this.#database, tenantId, jobId)
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

interface StatsRow {
  succeeded: number
  failed: number
  timed_out: number
  timed: number
  duration_ms: number
  last_outcome: Outcome | null
}
