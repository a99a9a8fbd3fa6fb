// A page of a job, without conditions, and its number of executions: ends on past days were counted by the fold, the
// rest is counted here. The list itself does not rely on the fold: folded counts only tell how many days are worth
// opening, and where these have not filled the page all are.
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { type ExecutionQuery, totalMax } from '../../ports/executions.ts'
import type { Queries } from '../connection/database.ts'
import * as statements from './job-page.sql.ts'
import type { PageRow } from './search.ts'

export interface JobPage {
  /** One more than asked for, if there are more; in no order. */
  rows: PageRow[]
  /** The last execution under way that was scanned; null: all were. */
  liveEnd: string | null
  /** An execution is between two attempts, and the result of its last one is not in the rows. */
  isBetween: boolean
  /** All executions of the job, up to a few more than are counted. */
  total: number
}

export interface JobPageQuery extends Pick<ExecutionQuery, 'tenantId' | 'limit'> {
  jobId: string
  before: string
  /** Rows of executions under way to scan. */
  liveMax: number
}

/** Null: there is no such job. */
export async function listJobPage(queries: Queries, query: JobPageQuery): Promise<JobPage | null> {
  const { tenantId, jobId, before, limit } = query
  const values = [jobId, tenantId, limit + 1, toRfc3339(madeAtOf(before))]
  const past = (await queries.query<PastRow>(statements.pastOfJob, values)).rows[0]
  if (past === undefined) return null
  const { enough_from: enoughFrom, enough_id: enoughId } = past
  if (enoughFrom !== null) {
    const page = await listFrom(queries, query, { past, from: enoughFrom })
    const recorded = page.rows.filter(({ outcome }) => outcome !== null)
    const isFull = recorded.length > limit && recorded.every((row) => row.execution_id >= enoughId!)
    if (isFull) return page
  }
  return listFrom(queries, query, { past, from: past.since })
}

async function listFrom(
  queries: Queries,
  { jobId, before, limit, liveMax }: JobPageQuery,
  { past, from }: { past: PastRow; from: EpochMs },
): Promise<JobPage> {
  const uncountedMax = Math.max(0, totalMax + 1 - past.counted)
  const bounds = [past.since, past.whole_from, past.folded_to].map(toRfc3339)
  const values = [jobId, before, toRfc3339(from), limit + 1, liveMax, ...bounds, uncountedMax]
  const { rows } = await queries.query<WholeRow | FoundRow>(statements.pageOfJob, values)
  const { live_end: liveEnd, under_way: underWay, uncounted } = rows.find(isWhole)!
  const found = rows.filter((row) => !isWhole(row))
  for (const row of found) {
    row.job_id = jobId
    row.job_name = past.name
  }
  return {
    rows: found,
    liveEnd,
    isBetween: found.some((row) => row.is_between === true),
    total: underWay + past.counted + uncounted,
  }
}

function isWhole(row: WholeRow | FoundRow): row is WholeRow {
  return row.execution_id === null
}

/** An id contains the time of its creation; the id at the end of all lists is later than any. */
function madeAtOf(executionId: string): EpochMs {
  const ms = Number.parseInt(executionId.replaceAll('-', '').slice(0, 12), 16)
  return epochMs(Math.min(ms, madeAtMax))
}

const madeAtMax = Date.UTC(2200, 0)

interface PastRow {
  name: string
  since: EpochMs
  whole_from: EpochMs
  folded_to: EpochMs
  counted: number
  /** Null: all days together have less than a page. */
  enough_from: EpochMs | null
  enough_id: string | null
}

/** About the whole list. */
interface WholeRow {
  execution_id: null
  live_end: string | null
  under_way: number
  uncounted: number
}

interface FoundRow extends PageRow {
  is_between: boolean | null
}
