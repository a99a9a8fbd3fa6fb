// One page of executions, of a job or of a tenant: those under way and those recorded, merged newest first. The reads
// of a page share one snapshot.
import {
  type ExecutionKind,
  type ExecutionStatus,
  OUTCOMES,
  type Outcome,
  statusOfOutcome,
} from '../domain/execution.ts'
import type { ErrorType } from '../domain/retry.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../lib/epoch.ts'
import type { Sql } from '../lib/sql.ts'
import { type ExecutionPage, type ExecutionQuery, type ExecutionSummary, totalMax } from '../ports/history.ts'
import type { Queries } from './database.ts'
import { errorOf } from './find-execution.ts'
import * as statements from './search.sql.ts'

const dayMs = 86_400_000
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** What one search looks at: about 50 ms each. */
const recordedMax = 20_000
const batchesMax = 500
const liveMax = 20_000
const endedStatuses: readonly ExecutionStatus[] = OUTCOMES.map(statusOfOutcome)

export async function searchExecutions(
  queries: Queries,
  query: ExecutionQuery,
): Promise<ExecutionPage | null> {
  const scope = await findScope(queries, query)
  if (scope === null) return null
  const before = query.before ?? lastId
  const underWay = isEnded(query.status) ? nothing : await findUnderWay(queries, query, scope, before)
  const recorded = isUnderWay(query.status) ? nothing : await findRecorded(queries, query, scope, before)
  const page = merge(query.limit, underWay, recorded)
  const rows = await withNames(queries, scope, page.rows)
  const total = await countAll(queries, query, scope, { underWay, recorded, isWhole: page.next === null })
  return { executions: rows, next: page.next, ...total }
}

/** What the query is about: a job's own text may settle a search without looking at its executions. */
interface Scope {
  jobName: string | null
  keptSince: string
  /** To look for in error messages and jobs; null: nothing, or what the job itself has. */
  text: string | null
  tag: string | null
}

async function findScope(queries: Queries, query: ExecutionQuery): Promise<Scope | null> {
  const { tenantId, jobId, from } = query
  const text = query.q?.toLowerCase() ?? null
  const since = ({ now, history_days: days }: RetentionRow) =>
    toRfc3339(epochMs(Math.max(now - days * dayMs, from ?? 0)))
  if (jobId === null) {
    const { rows } = await queries.query<RetentionRow>(statements.selectRetention, [tenantId])
    return rows[0] === undefined ? null : { jobName: null, keptSince: since(rows[0]), text, tag: query.tag }
  }
  const { rows } = await queries.query<ListedJobRow>(statements.selectListedJob, [tenantId, jobId])
  const job = rows[0]
  if (job === undefined) return null
  const isFound = text === null || job.search.includes(text)
  return { jobName: job.name, keptSince: since(job), text: isFound ? null : text, tag: query.tag }
}

interface Found {
  rows: Row[]
  /** Everything above this id was looked at; null: everything was. */
  end: string | null
}

const nothing: Found = { rows: [], end: null }

async function findUnderWay(
  queries: Queries,
  query: ExecutionQuery,
  scope: Scope,
  before: string,
): Promise<Found> {
  const { tenantId, jobId } = query
  const { rows } = await (jobId === null
    ? queries.query<Row>(statements.selectUnderWay, [tenantId, before, batchesMax, liveMax])
    : queries.query<Row>(statements.selectUnderWayOfJob, [jobId, before, liveMax]))
  const searched = await searchedJobs(queries, scope, rows)
  const found = rows.filter((row) => matches(query, row) && searched(row))
  found.sort(newestFirst)
  if (jobId !== null && rows.length < liveMax) return { rows: found, end: null }
  return { rows: found, end: await underWayEnd(queries, jobId, before) }
}

async function underWayEnd(queries: Queries, jobId: string | null, before: string): Promise<string | null> {
  if (jobId !== null) {
    const ofJob = await queries.query<{ execution_id: string }>(statements.selectUnderWayEndOfJob, [
      jobId,
      before,
      liveMax - 1,
    ])
    return ofJob.rows[0]?.execution_id ?? null
  }
  const values = [before, batchesMax - 1, liveMax - 1]
  const { rows } = await queries.query<EndRow>(statements.selectUnderWayEnd, values)
  const { batch_id: batchId, execution_id: executionId } = rows[0]!
  if (batchId === null || executionId === null) return batchId ?? executionId
  return batchId > executionId ? batchId : executionId
}

function matches(query: ExecutionQuery, row: Row): boolean {
  const { status, kind, errorType, deadLetter, from, to } = query
  return (
    (status === null || row.status === status) &&
    (kind === null || row.kind === kind) &&
    (errorType === null || row.last_error_type === errorType) &&
    (deadLetter === null || row.dead_letter === deadLetter) &&
    (from === null || row.slot >= from) &&
    (to === null || row.slot < to)
  )
}

/** Tag and text, for the few that are under way. */
async function searchedJobs(queries: Queries, { text, tag }: Scope, rows: readonly Row[]) {
  if (text === null && tag === null) return () => true
  const jobs = await jobsOf(queries, rows)
  return (row: Row) => {
    const job = jobs.get(row.job_id)!
    const hasText = text === null || job.search.includes(text)
    const isError = text !== null && (row.last_error_message?.toLowerCase().includes(text) ?? false)
    return (hasText || isError) && (tag === null || job.tags.includes(tag))
  }
}

async function findRecorded(
  queries: Queries,
  query: ExecutionQuery,
  scope: Scope,
  before: string,
): Promise<Found> {
  const { limit } = query
  const isSearch = hasConditions(query, scope)
  const seenMax = isSearch ? recordedMax : limit + 1
  const values = [
    query.jobId ?? query.tenantId,
    before,
    scope.keptSince,
    seenMax,
    ...conditionsOf(query, scope),
  ]
  const { rows } = await queries.query<Row>(listStatement(query), [...values, limit + 1])
  const found = rows.map((row) => ({ ...row, status: statusOfOutcome(row.outcome!), retry_at: null }))
  if (found.length > limit || !isSearch) return { rows: found, end: null }
  const counted = await queries.query<CountRow>(countStatement(query), values)
  const { seen, last_id: end } = counted.rows[0]!
  return { rows: found, end: seen === seenMax ? end : null }
}

function merge(limit: number, ...parts: Found[]): { rows: Row[]; next: string | null } {
  // A part that did not look further says nothing about what lies below its end.
  const end = parts
    .map((part) => part.end ?? '')
    .toSorted()
    .at(-1)!
  const rows = parts.flatMap((part) => part.rows.filter(({ execution_id }) => execution_id >= end))
  rows.sort(newestFirst)
  if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]!.execution_id }
  return { rows, next: end === '' ? null : end }
}

async function countAll(
  queries: Queries,
  query: ExecutionQuery,
  scope: Scope,
  page: { underWay: Found; recorded: Found; isWhole: boolean },
): Promise<{ total: number; capped: boolean }> {
  const isFirst = query.before === null
  if (isFirst && page.isWhole)
    return { total: page.underWay.rows.length + page.recorded.rows.length, capped: false }
  const underWay =
    isFirst || isEnded(query.status) ? page.underWay : await findUnderWay(queries, query, scope, lastId)
  if (isUnderWay(query.status)) return toTotal(underWay.rows.length, underWay.end !== null)
  const seenMax = hasConditions(query, scope) ? recordedMax : totalMax + 1
  const { jobId, tenantId } = query
  const values = [jobId ?? tenantId, lastId, scope.keptSince, seenMax, ...conditionsOf(query, scope)]
  const { rows } = await queries.query<CountRow>(countStatement(query), values)
  const { seen, total } = rows[0]!
  return toTotal(underWay.rows.length + total, underWay.end !== null || seen === seenMax)
}

function toTotal(total: number, isCut: boolean): { total: number; capped: boolean } {
  return { total: Math.min(total, totalMax), capped: isCut || total > totalMax }
}

function hasConditions(query: ExecutionQuery, { text, tag }: Scope): boolean {
  const { status, kind, errorType, deadLetter, from, to } = query
  return [status, kind, errorType, deadLetter, from, to, text, tag].some((one) => one !== null)
}

function conditionsOf(query: ExecutionQuery, { text, tag }: Scope): unknown[] {
  const { status, kind, errorType, deadLetter, from, to } = query
  const outcomes = status === null ? null : OUTCOMES.filter((outcome) => statusOfOutcome(outcome) === status)
  const fromText = from === null ? '-infinity' : toRfc3339(from)
  return [
    outcomes,
    kind,
    errorType,
    deadLetter,
    fromText,
    to === null ? 'infinity' : toRfc3339(to),
    tag,
    text,
  ]
}

/** Whether only what did not succeed can match. */
function isAboutFailed({ status, errorType, deadLetter }: ExecutionQuery): boolean {
  return (isEnded(status) && status !== 'SUCCEEDED') || errorType !== null || deadLetter === true
}

function listStatement(query: ExecutionQuery): Sql {
  if (isAboutFailed(query))
    return query.jobId === null ? statements.selectFailed : statements.selectFailedOfJob
  return query.jobId === null ? statements.selectRecorded : statements.selectRecordedOfJob
}

function countStatement(query: ExecutionQuery): Sql {
  if (isAboutFailed(query)) return query.jobId === null ? statements.countFailed : statements.countFailedOfJob
  return query.jobId === null ? statements.countRecorded : statements.countRecordedOfJob
}

function isEnded(status: ExecutionStatus | null): boolean {
  return status !== null && endedStatuses.includes(status)
}

function isUnderWay(status: ExecutionStatus | null): boolean {
  return status !== null && !endedStatuses.includes(status)
}

async function withNames(queries: Queries, scope: Scope, rows: readonly Row[]): Promise<ExecutionSummary[]> {
  if (scope.jobName !== null) return rows.map((row) => toSummary(row, scope.jobName!))
  const jobs = await jobsOf(queries, rows)
  return rows.map((row) => toSummary(row, jobs.get(row.job_id)!.name))
}

async function jobsOf(queries: Queries, rows: readonly Row[]): Promise<Map<string, NamedRow>> {
  const ids = [...new Set(rows.map((row) => row.job_id))]
  if (ids.length === 0) return new Map()
  const { rows: jobs } = await queries.query<NamedRow>(statements.selectNames, [ids])
  return new Map(jobs.map((job) => [job.job_id, job]))
}

function newestFirst(a: Row, b: Row): number {
  return a.execution_id < b.execution_id ? 1 : -1
}

function toSummary(row: Row, jobName: string): ExecutionSummary {
  return {
    executionId: row.execution_id,
    jobId: row.job_id,
    jobName,
    version: row.version,
    kind: row.kind,
    status: row.status,
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
  }
}

interface Row {
  execution_id: string
  job_id: string
  version: number
  kind: ExecutionKind
  status: ExecutionStatus
  /** Of what is recorded. */
  outcome?: Outcome
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
  /** Of what is under way: of the attempt that ended last. */
  last_error_type?: ErrorType | null
  last_error_message?: string | null
}

interface RetentionRow {
  history_days: number
  now: EpochMs
}

interface ListedJobRow extends RetentionRow {
  name: string
  search: string
}

interface NamedRow {
  job_id: string
  name: string
  tags: string[]
  search: string
}

interface EndRow {
  batch_id: string | null
  execution_id: string | null
}

interface CountRow {
  seen: number
  total: number
  last_id: string | null
}
