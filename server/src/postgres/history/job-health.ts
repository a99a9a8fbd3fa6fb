// How jobs go, on PostgreSQL. The fold that writes it is a source of the rollups.
import { flakyMs, type JobHealth } from '../../domain/jobs/job-health.ts'
import type { JobFilter } from '../../domain/jobs/operation.ts'
import { lastId } from '../../lib/id.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { HealthOfJobs, HealthPage, HealthPlace, HealthQuery } from '../../ports/job-health.ts'
import type { Total } from '../../ports/jobs.ts'
import type { Queries } from '../connection/database.ts'
import { selectPickEnd, selectPickEndByStatus } from '../jobs/jobs.sql.ts'
import { type HealthRow, type ListedRow, toHealth, toListedJob } from '../jobs/listed-job.ts'
import * as statements from './job-health.sql.ts'

/** Rows that one search looks at: failing or flaky jobs, each with its cursor, and the other jobs. */
const troubledMax = 10_000
const searchedMax = 25_000
/** Behind every trouble: the year 9999. */
const lastMs = epochMs(253_402_300_799_000)
const others: HealthPlace = { at: null, jobId: lastId }

interface Listed extends HealthPage {
  bytes: number
}

export class PostgresJobHealth implements HealthOfJobs {
  readonly #database: Pick<Queries, 'query'>

  constructor(database: Pick<Queries, 'query'>) {
    this.#database = database
  }

  async get(tenantId: string, jobId: string): Promise<JobHealth | null> {
    const { rows } = await this.#database.query<HealthRow>(statements.selectHealth, [tenantId, jobId])
    return rows[0] === undefined ? null : toHealth(rows[0])
  }

  async list(query: HealthQuery): Promise<HealthPage> {
    const { order, after, limit, bytesMax } = query
    if (order !== 'failing_first') return pageOf(await this.#listTroubled(order, query))
    if (after?.at === null) return pageOf(await this.#listOthers(query, after.jobId))
    const failing = await this.#listTroubled('failing', query)
    if (failing.next !== null) return pageOf(failing)
    const room = { ...query, limit: limit - failing.jobs.length, bytesMax: bytesMax - failing.bytes }
    const more = room.limit > 0 && room.bytesMax > 0 ? await this.#listOthers(room, lastId) : null
    // A page has one job at least, however large: behind others it may be too large.
    if (more === null || more.bytes > room.bytesMax) return { jobs: failing.jobs, next: others }
    return { jobs: [...failing.jobs, ...more.jobs], next: more.next }
  }

  async #listTroubled(which: 'failing' | 'flaky', query: HealthQuery): Promise<Listed> {
    const { tenantId, filter, after, limit, bytesMax, payloads } = query
    const { tag, q, status } = filter
    const { at, jobId } = after ?? { at: lastMs, jobId: lastId }
    const picked = [tenantId, jobId, tag, q?.toLowerCase() ?? null, status, troubledMax]
    const statement = which === 'failing' ? statements.listFailing : statements.listFlaky
    const values = [...picked, limit, bytesMax, payloads, at, ...msOf(which)]
    const { rows } = await this.#database.query<ListedRow>(statement, values)
    const jobs = rows.map(toListedJob)
    const bytes = rows[0]?.page_bytes ?? 0
    const last = jobs.at(-1)
    if (last === undefined || rows[0]!.picked_count === rows.length)
      return { jobs, bytes, next: await this.#endOf(which, [tenantId, jobId, at]) }
    const { failingSince, recoveredAt } = last.health!
    return { jobs, bytes, next: { at: which === 'failing' ? failingSince : recoveredAt, jobId: last.jobId } }
  }

  /** Where a search stopped looking; null: it has seen all. */
  async #endOf(which: 'failing' | 'flaky', from: readonly unknown[]): Promise<HealthPlace | null> {
    const statement = which === 'failing' ? statements.selectFailingEnd : statements.selectFlakyEnd
    const values = [...from, troubledMax - 1, ...msOf(which)]
    const { rows } = await this.#database.query<{ job_id: string; at: EpochMs }>(statement, values)
    return rows[0] === undefined ? null : { at: rows[0].at, jobId: rows[0].job_id }
  }

  async #listOthers(query: HealthQuery, before: string): Promise<Listed> {
    const { tenantId, filter, limit, bytesMax, payloads } = query
    const { tag, q, status } = filter
    const ofStatus = status === null ? [] : [status]
    const statement = status === null ? statements.listOthers : statements.listOthersByStatus
    const picked = [tenantId, before, tag, q?.toLowerCase() ?? null, 0, searchedMax]
    const values = [...picked, limit, bytesMax, payloads, ...ofStatus]
    const { rows } = await this.#database.query<ListedRow>(statement, values)
    const jobs = rows.map(toListedJob)
    const bytes = rows[0]?.page_bytes ?? 0
    if ((rows[0]?.picked_count ?? 0) > rows.length)
      return { jobs, bytes, next: { at: null, jobId: jobs.at(-1)!.jobId } }
    const end = await this.#database.query<{ job_id: string }>(
      status === null ? selectPickEnd : selectPickEndByStatus,
      [tenantId, before, searchedMax - 1, ...ofStatus],
    )
    return { jobs, bytes, next: end.rows[0] === undefined ? null : { at: null, jobId: end.rows[0].job_id } }
  }

  async count(tenantId: string, { tag, q, status }: JobFilter, which: 'failing' | 'flaky'): Promise<Total> {
    const statement = which === 'failing' ? statements.countFailing : statements.countFlaky
    const values = [tenantId, tag, q?.toLowerCase() ?? null, status, troubledMax, ...msOf(which)]
    const { rows } = await this.#database.query<{ seen: number; total: number }>(statement, values)
    const { seen, total } = rows[0]!
    return { total, capped: seen === troubledMax }
  }

  async asOf(): Promise<EpochMs> {
    const { rows } = await this.#database.query<{ as_of: EpochMs }>(statements.selectHealthMark, [])
    return rows[0]!.as_of
  }
}

function pageOf({ jobs, next }: Listed): HealthPage {
  return { jobs, next }
}

/** The last parameter of the statements on flaky jobs. */
function msOf(which: 'failing' | 'flaky'): number[] {
  return which === 'flaky' ? [flakyMs] : []
}
