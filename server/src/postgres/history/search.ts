// One page of the executions of a job or a tenant: unended and recorded executions, merged newest first.

import type { ExecutionSkipReason } from '../../domain/graphs/graph-run.ts'
import {
  type ExecutionStatus,
  OUTCOMES,
  type Outcome,
  statusOfOutcome,
} from '../../domain/queue/execution.ts'
import type { ErrorType } from '../../domain/queue/retry.ts'
import { lastId } from '../../lib/id.ts'
import type { Sql } from '../../lib/sql.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import {
  type ExecutionPage,
  type ExecutionQuery,
  type ExecutionSummary,
  totalMax,
} from '../../ports/executions.ts'
import type { Columns } from '../connection/columns.ts'
import type { Queries } from '../connection/database.ts'
import { errorOf, skippedOf } from './find-execution.ts'
import { listJobPage } from './job-page.ts'
import * as statements from './search.sql.ts'

/** The most rows that one search reads: at most about 40 ms each. */
const recordedMax = 10_000
const batchesMax = 500
const liveMax = 20_000
const endedStatuses: readonly ExecutionStatus[] = OUTCOMES.map(statusOfOutcome)

export async function searchExecutions(
  queries: Queries,
  query: ExecutionQuery,
): Promise<ExecutionPage | null> {
  const { jobId } = query
  if (jobId !== null && !hasConditions(query)) return listPlain(queries, { ...query, jobId })
  const before = query.before ?? lastId
  const { first, rows } = await list(queries, query, before)
  if (first === undefined) return null
  const underWay = rows.filter(({ outcome }) => outcome === null)
  const recorded = rows.filter(({ outcome }) => outcome !== null)
  const isShort = hasConditions(query) && recorded.length <= query.limit && !isUnderWay(query.status)
  const looked = isShort ? await look(queries, query, { before, seenMax: recordedMax }) : null
  const ends = isEnded(query.status) ? [] : [first.batch_end, first.live_end]
  const page = merge(query.limit, [...underWay, ...recorded], [...ends, looked?.end ?? null])
  const total = await countAll(queries, query, {
    ...{ underWay, recorded, next: page.next, first },
    // The same look, when it began at the top.
    looked: query.before === null ? looked : null,
  })
  return { executions: page.rows.map(toSummary), next: page.next, ...total }
}

/** Executions of a job, without conditions. */
async function listPlain(
  queries: Queries,
  query: ExecutionQuery & { jobId: string },
): Promise<ExecutionPage | null> {
  const before = query.before ?? lastId
  const found = await listJobPage(queries, { ...query, before, liveMax })
  if (found === null) return null
  const rows = found.isBetween ? (await list(queries, query, before)).rows : found.rows
  const page = merge(query.limit, rows, [found.liveEnd])
  const isAll = query.before === null && page.next === null
  const total = isAll ? { total: rows.length, capped: false } : toTotal(found.total, false)
  return { executions: page.rows.map(toSummary), next: page.next, ...total }
}

interface Listed {
  /** Undefined: there is no such job. */
  first: ListedRow | undefined
  rows: PageRow[]
}

async function list(queries: Queries, query: ExecutionQuery, before: string): Promise<Listed> {
  const { tenantId, jobId, limit } = query
  const many = query.before === null && isAboutOutcome(query) ? totalMax : null
  const { rows } = await queries.query<ListedRow>(listStatement(query), [
    ...conditionsOf(query, before),
    hasConditions(query) ? recordedMax : limit + 1,
    isUnderWay(query.status) ? 0 : limit + 1,
    tenantId,
    liveMax,
    ...(jobId === null ? [batchesMax, many] : [many]),
  ])
  const all = isNothing(rows) ? [] : (rows as FoundRow[])
  const found = all.filter((row) => row.outcome !== null || matches(query, row))
  return { first: rows[0], rows: found }
}

function isNothing(rows: readonly ListedRow[]): boolean {
  return rows[0] === undefined || rows[0].execution_id === null
}

/** Executions that have not ended; as with a search, a short page need not be the last one. */
export async function searchUnended(
  queries: Queries,
  query: ExecutionQuery,
): Promise<{ executionIds: string[]; next: string | null }> {
  const { tenantId, jobId, limit } = query
  const values = [...conditionsOf(query, query.before ?? lastId), limit + 1, 0, tenantId, liveMax]
  const { rows } = await queries.query<ListedRow>(listStatement(query), [
    ...values,
    ...(jobId === null ? [batchesMax, null] : [null]),
  ])
  const first = rows[0]
  if (first === undefined) return { executionIds: [], next: null }
  // Nothing among as many as it looked at is not yet nothing at all.
  const found = isNothing(rows) ? [] : (rows as FoundRow[])
  const underWay = found.filter((row) => row.outcome === null && matches(query, row))
  const page = merge(limit, underWay, [first.batch_end, first.live_end])
  return { executionIds: page.rows.map((row) => row.execution_id), next: page.next }
}

/** Unended executions are filtered here: there are few. */
function matches(query: ExecutionQuery, row: FoundRow): boolean {
  const { status, kind, errorType, deadLetter, from, to, tag, workerId } = query
  const text = query.q?.toLowerCase() ?? null
  return (
    (status === null || row.status === status) &&
    (kind === null || row.kind === kind) &&
    (errorType === null || row.last_error_type === errorType) &&
    (deadLetter === null || row.dead_letter === deadLetter) &&
    (workerId === null || row.worker_id === workerId) &&
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
  // A part that did not read further knows nothing about the rows below its end.
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
  // Counting this many would be most of the work of a page.
  if (first.many) return { total: totalMax, capped: true }
  const seenMax = isSearch ? recordedMax : totalMax + 1
  const { seen, total } = page.looked ?? (await look(queries, query, { before: lastId, seenMax }))
  return toTotal(underWay.length + total, isCut || seen === seenMax)
}

interface Look {
  seen: number
  total: number
  end: string | null
}

/** Examines a bounded number of recorded executions: the number of matches, and its last position; null: it saw all. */
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
  const { status, kind, errorType, deadLetter, from, to, q, tag, workerId } = query
  return [status, kind, errorType, deadLetter, from, to, q, tag, workerId].some((one) => one !== null)
}

function conditionsOf(query: ExecutionQuery, before: string): unknown[] {
  const { tenantId, jobId, status, kind, errorType, deadLetter, from, to, tag, q, workerId } = query
  const outcomes = status === null ? null : OUTCOMES.filter((outcome) => statusOfOutcome(outcome) === status)
  const fromText = from === null ? '-infinity' : toRfc3339(from)
  const toText = to === null ? 'infinity' : toRfc3339(to)
  const text = q?.toLowerCase() ?? null
  const first = [jobId ?? tenantId, before, fromText, outcomes, kind, errorType, deadLetter]
  return [...first, toText, tag, text, workerId]
}

/** Whether the daily counts give the number of matching executions on past days. */
function isAboutOutcome({ status, ...query }: ExecutionQuery): boolean {
  return (status === null || isEnded(status)) && !hasConditions({ ...query, status: null })
}

/** Whether only executions that did not succeed can match. */
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
  /** More match than are counted. */
  many: boolean
  /** The last row read; null: all rows were read. */
  batch_end: string | null
  live_end: string | null
  /** Null: nothing was found. */
  execution_id: string | null
}

export interface PageRow extends Columns<Omit<ExecutionSummary, 'status' | 'error' | 'skipped'>> {
  /** Null for a recorded execution. */
  status: ExecutionStatus | null
  /** Null for an unended execution. */
  outcome: Outcome | null
  error_type: ErrorType | null
  error_message: string | null
  skip_reason: ExecutionSkipReason | null
}

/** With the columns that the conditions refer to. */
interface FoundRow extends PageRow, ListedRow {
  execution_id: string
  /** For an unended execution: of the attempt that ended last. */
  last_error_type: ErrorType | null
  last_error_message: string | null
  tags: string[]
  search: string
}

interface CountRow {
  seen: number
  total: number
  /** The last of as many as were to be looked at; null: there were fewer. */
  end_id: string | null
}
