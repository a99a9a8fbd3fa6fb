// The latest ended execution of jobs, however long ago. Jobs not found among the latest days are searched for in all of
// the history, a day at a time: the result is remembered, so that a job that never ran costs it once.

import type { ExecutionSkipReason } from '../../domain/graphs/graph-run.ts'
import type { Outcome } from '../../domain/queue/execution.ts'
import { historyDaysMax } from '../../domain/tenants/tenant.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { hourMs } from '../../lib/time/units.ts'
import type { Queries } from '../connection/database.ts'
import { selectLatestEnded } from '../graphs/start-runs.sql.ts'

/** Of history that is looked at each time. */
const recentDays = 2
/** Much less than these days: between the two nothing is missed. */
const rememberedMs = hourMs
const rememberedMax = 10_000
/** Jobs that one statement looks for in all of the history: about 0.2 s for 400 days of it. */
const searchedMax = 200

export interface EndedRow {
  job_id: string
  execution_id: string
  version: number
  outcome: Outcome
  skip_reason: ExecutionSkipReason | null
}

export class LatestEnded {
  /** Results of searches of all the history, oldest first. */
  readonly #remembered = new Map<string, FoundRow>()

  /** By job; jobs without an ended execution are not in it. */
  async find(queries: Queries, jobIds: readonly string[]): Promise<Map<string, EndedRow>> {
    const found = new Map<string, EndedRow>()
    if (jobIds.length === 0) return found
    const unknown: string[] = []
    for (const row of await look(queries, jobIds, recentDays)) {
      const before = row.is_latest ? null : this.#recall(row)
      if (before === undefined) unknown.push(row.job_id)
      else keepLater(found, [row, before])
    }
    for (let n = 0; n < unknown.length; n += searchedMax) {
      for (const row of await look(queries, unknown.slice(n, n + searchedMax), historyDaysMax + 1)) {
        this.#remember(row)
        keepLater(found, [row])
      }
    }
    return found
  }

  #recall({ job_id: jobId, looked_at: now }: FoundRow): FoundRow | undefined {
    const row = this.#remembered.get(jobId)
    return row !== undefined && now - row.looked_at < rememberedMs ? row : undefined
  }

  #remember(row: FoundRow): void {
    this.#remembered.delete(row.job_id)
    if (this.#remembered.size >= rememberedMax) this.#remembered.delete(this.#remembered.keys().next().value!)
    this.#remembered.set(row.job_id, row)
  }
}

async function look(queries: Queries, jobIds: readonly string[], days: number): Promise<FoundRow[]> {
  const { rows } = await queries.query<FoundRow>(selectLatestEnded, [jobIds, days])
  return rows
}

/** Ids grow with the time at which they were made. */
function keepLater(found: Map<string, EndedRow>, rows: readonly (FoundRow | null)[]): void {
  for (const row of rows) {
    if (row === null || !hasEnded(row)) continue
    const other = found.get(row.job_id)
    if (other === undefined || other.execution_id < row.execution_id) found.set(row.job_id, row)
  }
}

function hasEnded(row: FoundRow): row is FoundRow & EndedRow {
  return row.execution_id !== null
}

interface FoundRow extends Omit<EndedRow, 'execution_id'> {
  /** Null: nothing has. */
  execution_id: string | null
  /** Made in the days that were looked at, and so none that ended before them is later. Null: nothing has ended in them. */
  is_latest: boolean | null
  looked_at: EpochMs
}
