// The executions of a job that have not ended, on PostgreSQL.
import { statusOfLive } from '../../domain/queue/execution.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { totalMax, type UnderWay, type UnendedExecution, underWayMax } from '../../ports/executions.ts'
import type { Columns } from '../connection/columns.ts'
import type { Queries } from '../connection/database.ts'
import { type OwedRow, owedOf } from './slot-ledger.ts'
import * as statements from './under-way.sql.ts'

/** Rows of `live` that are looked at: at most about 40 ms. */
const liveMax = 20_000

export async function selectUnderWay(
  queries: Queries,
  tenantId: string,
  jobId: string,
): Promise<UnderWay | null> {
  const values = [jobId, tenantId, underWayMax, totalMax, liveMax]
  const { rows } = await queries.query<UnderWayRow>(statements.selectUnderWay, values)
  const first = rows[0]
  if (first === undefined) return null
  const found = first.execution_id === null ? [] : (rows as UnendedRow[])
  return { executions: found.map(toUnended), letGo: first.let_go, owed: owedOf(first) }
}

function toUnended(row: UnendedRow): UnendedExecution {
  const { concurrency_key: key, key_limit: limit, held } = row
  return {
    executionId: row.execution_id,
    kind: row.kind,
    slot: row.slot,
    state: row.state,
    status: statusOfLive(row.state, row.attempt, row.cancelled),
    attempt: row.attempt,
    enqueuedAt: row.enqueued_at,
    startedAt: row.started_at,
    retryAt: row.ready_at,
    host: row.host,
    concurrencyKey: key === null ? null : { key, limit: limit!, held },
  }
}

interface UnderWayRow extends OwedRow {
  let_go: number
  /** Null: nothing is. */
  execution_id: string | null
}

type Same = Omit<UnendedExecution, 'status' | 'retryAt' | 'concurrencyKey'>

interface UnendedRow extends Omit<UnderWayRow, 'execution_id'>, Columns<Same> {
  cancelled: boolean
  ready_at: EpochMs | null
  concurrency_key: string | null
  key_limit: number | null
  held: number
}
