// Numbers for dashboards and jobs on PostgreSQL, folded from the record of attempts. The loops are in history/.
import { healthMessageLengthMax } from '../../domain/jobs/job-health.ts'
import { type Outcome, statusOfOutcome } from '../../domain/queue/execution.ts'
import { historyDaysMax } from '../../domain/tenants/tenant.ts'
import type { Sql } from '../../lib/sql.ts'
import type { Folded, FoldedStats, FoldOrder, JobStats, RollupSource, Rollups } from '../../ports/rollups.ts'
import type { Database, Queries } from '../connection/database.ts'
import { selectRetention } from './executions.sql.ts'
import { foldHealth } from './job-health.sql.ts'
import * as stats from './job-stats.sql.ts'
import * as statements from './rollups.sql.ts'

/** Different failures of a tenant that are kept in ten minutes, at most. */
const groupsMax = 1_000
/** Late slots of a tenant that are kept in an hour, at most. */
const lateMax = 1_000

const dayPartMs = 225_000

const prunedMax = 10_000
const minutesDaysKept = 2
const hoursDaysKept = 60
const daysKept = 400
const failuresDaysKept = 14
const lateDaysKept = 7

export class PostgresRollups implements Rollups {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  fold(source: RollupSource, { spanMs, leastMs, idleMs, lagMs }: FoldOrder): Promise<Folded | null> {
    return this.#database.transaction(async (queries) => {
      const values = [source, spanMs, lagMs]
      const { rows } = await queries.query<{ since: number; until: number }>(statements.lockFeed, values)
      if (rows[0] === undefined) return null
      const { since, until } = rows[0]
      const ms = until - since
      if (ms < Math.min(spanMs, leastMs)) return null
      // A statement of its own, so that its snapshot is younger than the end that was set.
      const recorded = await foldSpan(queries, source, [since, until])
      const isIdle = recorded === 0 && ms < Math.min(spanMs, idleMs)
      if (!isIdle) await queries.query(statements.moveFeed, [source, until])
      return { recorded, spanMs: ms }
    })
  }

  foldDays(): Promise<'more' | 'idle'> {
    return this.#database.transaction(async (queries) => {
      const { rows } = await queries.query<{ since: number; next_hour: number }>(statements.lockDays, [])
      if (rows[0] === undefined) return 'idle'
      const { since, next_hour: nextHour } = rows[0]
      if (nextHour <= since) await queries.query(statements.foldDays, [since])
      await queries.query(statements.moveFeed, ['day', Math.max(nextHour, since + dayPartMs)])
      return 'more'
    })
  }

  async foldStats(spanMs: number): Promise<FoldedStats | null> {
    const { rows } = await this.#database.query<{ more: boolean; ended: number }>(stats.foldStats, [spanMs])
    return rows[0] === undefined ? null : { ended: rows[0].ended, isFull: rows[0].more }
  }

  async prune(): Promise<'more' | 'idle'> {
    const works: [Sql, number[]][] = [
      [stats.pruneStats, [historyDaysMax, prunedMax]],
      [statements.pruneTenantActivity, [minutesDaysKept, prunedMax, 60]],
      [statements.pruneTenantActivity, [hoursDaysKept, prunedMax, 3_600]],
      [statements.pruneTenantActivity, [daysKept, prunedMax, 86_400]],
      [statements.pruneJobActivity, [hoursDaysKept, prunedMax, 3_600]],
      [statements.pruneJobActivity, [daysKept, prunedMax, 86_400]],
      [statements.pruneFailureGroups, [failuresDaysKept, prunedMax]],
      [statements.pruneLateSlots, [lateDaysKept, prunedMax]],
    ]
    let more = false
    for (const [statement, values] of works) {
      const { count } = await this.#database.query(statement, values)
      if (count === prunedMax) more = true
    }
    return more ? 'more' : 'idle'
  }

  async stats(tenantId: string, jobId: string): Promise<JobStats | null> {
    const job = await this.#database.query<{ history_days: number }>(selectRetention, [tenantId, jobId])
    if (job.rows[0] === undefined) return null
    const { rows } = await this.#database.query<StatsRow>(stats.selectStats, [
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

async function foldSpan(queries: Queries, source: RollupSource, span: readonly number[]): Promise<number> {
  const count = async (statement: Sql, values: readonly number[]) => {
    const { rows } = await queries.query<{ recorded: number }>(statement, values)
    return rows[0]!.recorded
  }
  if (source === 'skip') return count(statements.foldSkips, [...span, lateMax])
  if (source === 'job') return count(statements.foldJobs, span)
  if (source === 'health') return count(foldHealth, [...span, healthMessageLengthMax])
  const recorded = await count(statements.foldTenants, span)
  if (recorded > 0) await queries.query(statements.foldTroubles, [...span, groupsMax, lateMax])
  return recorded
}

interface StatsRow {
  succeeded: number
  failed: number
  timed_out: number
  timed: number
  duration_ms: number
  last_outcome: Outcome | null
}
