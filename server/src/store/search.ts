// One page of executions, of a job or of a tenant: those under way and those recorded, merged newest first.
import {
  type ExecutionKind,
  type ExecutionStatus,
  OUTCOMES,
  type Outcome,
  statusOfOutcome,
} from '../domain/execution.ts'
import type { NodeSkipReason } from '../domain/graph-run.ts'
import type { ErrorType } from '../domain/retry.ts'
import { type EpochMs, toRfc3339 } from '../lib/epoch.ts'
import type { Sql } from '../lib/sql.ts'
import { type ExecutionPage, type ExecutionQuery, type ExecutionSummary, totalMax } from '../ports/history.ts'
import type { Queries } from './database.ts'
import { errorOf, skippedOf } from './find-execution.ts'
import * as statements from './search.sql.ts'

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** What one search looks at: at most about 40 ms each. */
const recordedMax = 10_000
const batchesMax = 500
const liveMax = 20_000
const endedStatuses: readonly ExecutionStatus[] = OUTCOMES.map(statusOfOutcome)

export async function searchExecutions(
  queries: Queries,
  query: ExecutionQuery,
): Promise<ExecutionPage | null> {
  const before = query.before ?? lastId
  const { first, rows, counted } = await listPage(queries, query, before)
  if (first === undefined) return null
  const underWay = rows.filter(({ outcome }) => outcome === null)
  const recorded = rows.filter(({ outcome }) => outcome !== null)
  const isShort = hasConditions(query) && recorded.length <= query.limit && !isUnderWay(query.status)
  const looked = isShort ? await look(queries, query, { before, seenMax: recordedMax }) : counted
  const ends = isEnded(query.status) ? [] : [first.batch_end, first.live_end]
  const page = merge(query.limit, [...underWay, ...recorded], [...ends, looked?.end ?? null])
  const total = await countAll(queries, query, {
    ...{ underWay, recorded, next: page.next, first },
    // The same look, when it began at the top.
    looked: query.before === null ? looked : null,
  })
  return { executions: page.rows.map(toSummary), next: page.next, ...total }
}

interface Listed {
  /** Undefined: there is no such job. */
  first: ListedRow | undefined
  rows: PageRow[]
  /** Of all that is recorded, when the list has counted it. */
  counted: Look | null
}

async function listPage(queries: Queries, query: ExecutionQuery, before: string): Promise<Listed> {
  const { jobId } = query
  if (jobId === null || hasConditions(query)) return list(queries, query, before)
  const plain = await listPlain(queries, { ...query, jobId }, before)
  if (!plain.isBetween) return plain
  return { ...(await list(queries, query, before)), counted: plain.counted }
}

async function list(queries: Queries, query: ExecutionQuery, before: string): Promise<Listed> {
  const { tenantId, jobId, limit } = query
  const { rows } = await queries.query<ListedRow>(listStatement(query), [
    ...conditionsOf(query, before),
    hasConditions(query) ? recordedMax : limit + 1,
    isUnderWay(query.status) ? 0 : limit + 1,
    tenantId,
    liveMax,
    jobId === null ? batchesMax : totalMax,
  ])
  const all = isNothing(rows) ? [] : (rows as FoundRow[])
  const found = all.filter((row) => row.outcome !== null || matches(query, row))
  return { first: rows[0], rows: found, counted: null }
}

/** Of a job, without conditions. `isBetween`: one is between two attempts, and what its last one did is not in the rows. */
async function listPlain(
  queries: Queries,
  { tenantId, jobId, limit, before: given }: ExecutionQuery & { jobId: string },
  before: string,
): Promise<Listed & { isBetween: boolean }> {
  // A later page has the count of the first.
  const seenMax = given === null ? totalMax + 1 : limit + 1
  const values = [jobId, before, tenantId, limit + 1, seenMax, liveMax, totalMax]
  const { rows } = await queries.query<PlainListedRow>(statements.pageOfJob, values)
  const first = rows[0]
  const found = isNothing(rows) ? [] : (rows as (PlainListedRow & PageRow)[])
  for (const row of found) row.job_id = jobId
  const isCounted = first !== undefined && given === null && !first.many
  const counted = isCounted ? { seen: first.seen, total: first.seen, end: null } : null
  return { first, rows: found, counted, isBetween: found.some((row) => row.is_between) }
}

function isNothing(rows: readonly ListedRow[]): boolean {
  return rows[0] === undefined || rows[0].execution_id === null
}

/** Those that have not ended; as a search, a page may be short and not the last. */
export async function searchUnended(
  queries: Queries,
  query: ExecutionQuery,
): Promise<{ executionIds: string[]; next: string | null }> {
  const { tenantId, jobId, limit } = query
  const values = [...conditionsOf(query, query.before ?? lastId), limit + 1, 0, tenantId, liveMax]
  const { rows } = await queries.query<ListedRow>(listStatement(query), [
    ...values,
    jobId === null ? batchesMax : totalMax,
  ])
  const first = rows[0]
  if (first === undefined || first.execution_id === null) return { executionIds: [], next: null }
  const underWay = (rows as FoundRow[]).filter((row) => row.outcome === null && matches(query, row))
  const page = merge(limit, underWay, [first.batch_end, first.live_end])
  return { executionIds: page.rows.map((row) => row.execution_id), next: page.next }
}

/** What is under way is filtered here: it is little. */
function matches(query: ExecutionQuery, row: FoundRow): boolean {
  const { status, kind, errorType, deadLetter, from, to, tag } = query
  const text = query.q?.toLowerCase() ?? null
  return (
    (status === null || row.status === status) &&
    (kind === null || row.kind === kind) &&
    (errorType === null || row.last_error_type === errorType) &&
    (deadLetter === null || row.dead_letter === deadLetter) &&
    (from === null || row.slot >= from) &&
    (to === null || row.slot < to) &&
    (tag === null || row.tags.includes(tag)) &&
    (text === null ||
      row.search.includes(text) ||
      (row.last_error_message?.toLowerCase().includes(text) ?? false))
  )
}

function merge(
  limit: number,
  found: readonly PageRow[],
  ends: readonly (string | null)[],
): { rows: PageRow[]; next: string | null } {
  // A part that did not look further says nothing about what lies below its end.
  const end = ends.reduce<string>((highest, one) => (one !== null && one > highest ? one : highest), '')
  const rows = found.filter(({ execution_id }) => execution_id >= end)
  rows.sort((a, b) => (a.execution_id < b.execution_id ? 1 : -1))
  if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]!.execution_id }
  return { rows, next: end === '' ? null : end }
}

async function countAll(
  queries: Queries,
  query: ExecutionQuery,
  page: {
    underWay: PageRow[]
    recorded: PageRow[]
    next: string | null
    first: ListedRow
    looked: Look | null
  },
): Promise<{ total: number; capped: boolean }> {
  const { underWay, recorded, next, first } = page
  if (query.before !== null) {
    const whole = await searchExecutions(queries, { ...query, before: null, limit: 1 })
    return { total: whole!.total, capped: whole!.capped }
  }
  if (next === null) return { total: underWay.length + recorded.length, capped: false }
  const isCut = !isEnded(query.status) && (first.batch_end ?? first.live_end) !== null
  if (isUnderWay(query.status)) return toTotal(underWay.length, isCut)
  const isSearch = hasConditions(query)
  // Of a job that runs often its days are known; to count its executions is most of the work of a page.
  if (!isSearch && first.many) return { total: totalMax, capped: true }
  const seenMax = isSearch ? recordedMax : totalMax + 1
  const { seen, total } = page.looked ?? (await look(queries, query, { before: lastId, seenMax }))
  return toTotal(underWay.length + total, isCut || seen === seenMax)
}

interface Look {
  seen: number
  total: number
  end: string | null
}

/** Looks at so many that are recorded: how many match, and where it stopped; null: it saw all. */
async function look(
  queries: Queries,
  query: ExecutionQuery,
  { before, seenMax }: { before: string; seenMax: number },
): Promise<Look> {
  const values = [...conditionsOf(query, before), seenMax, query.tenantId]
  const { rows } = await queries.query<CountRow>(countStatement(query), values)
  const { seen, total, end_id: end } = rows[0]!
  return { seen, total, end }
}

function toTotal(total: number, isCut: boolean): { total: number; capped: boolean } {
  return { total: Math.min(total, totalMax), capped: isCut || total > totalMax }
}

function hasConditions(query: ExecutionQuery): boolean {
  const { status, kind, errorType, deadLetter, from, to, q, tag } = query
  return [status, kind, errorType, deadLetter, from, to, q, tag].some((one) => one !== null)
}

function conditionsOf(query: ExecutionQuery, before: string): unknown[] {
  const { tenantId, jobId, status, kind, errorType, deadLetter, from, to, tag, q } = query
  const outcomes = status === null ? null : OUTCOMES.filter((outcome) => statusOfOutcome(outcome) === status)
  const fromText = from === null ? '-infinity' : toRfc3339(from)
  const toText = to === null ? 'infinity' : toRfc3339(to)
  const text = q?.toLowerCase() ?? null
  return [jobId ?? tenantId, before, fromText, outcomes, kind, errorType, deadLetter, toText, tag, text]
}

/** Whether only what did not succeed can match. */
function isAboutFailed({ status, errorType, deadLetter }: ExecutionQuery): boolean {
  return (isEnded(status) && status !== 'SUCCEEDED') || errorType !== null || deadLetter === true
}

function listStatement(query: ExecutionQuery): Sql {
  if (isAboutFailed(query))
    return query.jobId === null ? statements.listFailedOfTenant : statements.listFailedOfJob
  return query.jobId === null ? statements.listOfTenant : statements.listOfJob
}

function countStatement(query: ExecutionQuery): Sql {
  if (isAboutFailed(query))
    return query.jobId === null ? statements.countFailedOfTenant : statements.countFailedOfJob
  return query.jobId === null ? statements.countOfTenant : statements.countOfJob
}

function isEnded(status: ExecutionStatus | null): boolean {
  return status !== null && endedStatuses.includes(status)
}

function isUnderWay(status: ExecutionStatus | null): boolean {
  return status !== null && !endedStatuses.includes(status)
}

function toSummary(row: PageRow): ExecutionSummary {
  return {
    executionId: row.execution_id,
    jobId: row.job_id,
    jobName: row.job_name,
    version: row.version,
    kind: row.kind,
    status: row.outcome === null ? row.status! : statusOfOutcome(row.outcome),
    slot: row.slot,
    attempt: row.attempt,
    enqueuedAt: row.enqueued_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    durationMs: row.duration_ms,
    workerId: row.worker_id,
    httpStatus: row.http_status,
    error: errorOf(row.error_type, row.error_message),
    deadLetter: row.dead_letter,
    retryAt: row.retry_at,
    runId: row.run_id,
    skipped: skippedOf(row.skip_reason, row.error_message),
  }
}

/** About the whole list, on every row. */
interface ListedRow {
  /** There are more than are counted. */
  many: boolean
  /** The last of what was looked at; null: all was. */
  batch_end: string | null
  live_end: string | null
  /** Null: nothing was found. */
  execution_id: string | null
}

interface PageRow extends ListedRow {
  execution_id: string
  job_id: string
  version: number
  kind: ExecutionKind
  /** Null of what is recorded. */
  status: ExecutionStatus | null
  /** Null of what is under way. */
  outcome: Outcome | null
  slot: EpochMs
  attempt: number
  enqueued_at: EpochMs
  started_at: EpochMs | null
  finished_at: EpochMs | null
  duration_ms: number | null
  worker_id: string | null
  http_status: number | null
  error_type: ErrorType | null
  error_message: string | null
  dead_letter: boolean
  retry_at: EpochMs | null
  run_id: string | null
  skip_reason: NodeSkipReason | null
  job_name: string
}

/** With what conditions are about. */
interface FoundRow extends PageRow {
  /** Of what is under way: of the attempt that ended last. */
  last_error_type: ErrorType | null
  last_error_message: string | null
  tags: string[]
  search: string
}

interface PlainListedRow extends ListedRow {
  /** How many are recorded, up to as many as were to be looked at. */
  seen: number
  is_between: boolean | null
}

interface CountRow {
  seen: number
  total: number
  /** The last of as many as were to be looked at; null: there were fewer. */
  end_id: string | null
}
