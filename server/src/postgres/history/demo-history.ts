// Writes an invented past: for the demo world and for measuring. The dashboard figures are folded from it as from any
// record, so the two agree.

import type { StoredSchedule } from '../../domain/jobs/job.ts'
import type { DeadReason } from '../../domain/queue/attempt.ts'
import type { ExecutionKind, Outcome } from '../../domain/queue/execution.ts'
import type { ErrorType, RetryPolicy } from '../../domain/queue/retry.ts'
import type { Sql } from '../../lib/sql.ts'
import { epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './demo.sql.ts'

/** Milliseconds since the epoch throughout. */
export interface PastAttempt {
  tenantId: string
  jobId: string
  version: number
  executionId: string
  attempt: number
  final: boolean
  kind: ExecutionKind
  outcome: Outcome
  slot: number
  enqueuedAt: number
  startedAt: number
  finishedAt: number
  httpStatus?: number
  errorType?: ErrorType
  errorMessage?: string
  preview?: string
  deadLetter: boolean
  runId: string | null
}

export interface PastLetter {
  executionId: string
  tenantId: string
  jobId: string
  jobName: string
  reason: DeadReason
  diedAt: number
  attempts: number
  errors: readonly object[]
  kind: ExecutionKind
  slot: number
  runId: string | null
}

export interface PastRun {
  runId: string
  tenantId: string
  slot: number
  jobIds: readonly string[]
  roles: string
  states: string
  versions: readonly number[]
  executionIds: readonly string[]
  /** See `graph_runs.edges`. */
  edges: readonly (readonly [number, number, string])[]
  createdAt: number
  finishedAt: number
}

export interface AgedJob {
  jobId: string
  createdAt: number
  anchorAt: number
  /** When it was really made: older records belong to the written past. */
  madeAt: number
}

export interface WorldPast {
  attempts: readonly PastAttempt[]
  letters: readonly PastLetter[]
  runs: readonly PastRun[]
  jobs: readonly AgedJob[]
}

export interface WorldJob {
  key: string
  job_id: string
  tenant_id: string
  version: number
  name: string
  schedule: StoredSchedule
  retry_policy: RetryPolicy
  anchor_ms: number
  graph_id: string | null
}

/** The author named in the jobs of the demo world. */
const worldMaker = 'demo'
/** Key prefix of the jobs that are there for their number only. */
export const copyPrefix = 'copy-'

/** The creator of copies: the demo world counts as filled only when all copies exist. */
const copyMaker = 'demo copy'
/** Key of the job that copies are made from. */
const modelKey = 'tides'

const rowsAtOnce = 2_000
/** As long as the store keeps slots; see `days.ts`. */
const slotDays = 2

export type WorldState = { filled: boolean; copied: boolean; stranger: string | null }

export async function readWorld(database: Database, keys: readonly string[]): Promise<WorldState> {
  const { rows } = await database.query<WorldState>(statements.selectWorld, [worldMaker, keys, copyPrefix])
  return rows[0]!
}

export async function readWorldJobs(database: Database, keys: readonly string[]): Promise<WorldJob[]> {
  const { rows } = await database.query<WorldJob>(statements.selectWorldJobs, [keys])
  return rows
}

/**
 * In statements that stand alone: a transaction of ours must not wait for a busy process. An interrupted fill begins
 * anew, until the jobs say that it was done.
 */
export async function writePast(database: Database, past: WorldPast, now: number): Promise<void> {
  // The record is in the order in which it would have been written.
  const attempts = past.attempts.toSorted((a, b) => a.finishedAt - b.finishedAt)
  const first = attempts[0]?.finishedAt ?? now
  const slots = attempts.filter(
    ({ attempt, kind, slot }) => attempt === 1 && kind === 'slot' && slot > now - slotDays * dayMs,
  )
  await makeDays(database, 'attempts', first)
  await makeDays(database, 'slots', now - slotDays * dayMs)
  const jobs = JSON.stringify(past.jobs)
  await database.query(statements.clearPast, [jobs])
  await insertAll(database, statements.insertPastAttempts, attempts)
  await insertAll(database, statements.insertPastSlots, slots)
  await insertAll(database, statements.insertPastLetters, past.letters)
  await insertAll(database, statements.insertPastRuns, past.runs)
  await database.query(statements.refold, [first])
  await database.query(statements.ageJobs, [jobs, worldMaker])
}

async function makeDays(database: Database, table: 'attempts' | 'slots', fromMs: number): Promise<void> {
  await database.query(statements.makePastDays, [table, toRfc3339(epochMs(fromMs)).slice(0, 10)])
}

export interface JobCopy {
  id: string
  key: string
  name: string
  tag: string
  cron: string
  partition: number
  /** The next one. */
  slot: number
  paused: boolean
}

export async function writeCopies(
  database: Database,
  copies: readonly JobCopy[],
  createdAt: number,
): Promise<void> {
  await database.query(statements.insertCopies, [JSON.stringify(copies), modelKey, copyMaker, createdAt])
}

export interface CopiedDay {
  /** Prefix of the keys of the copies. */
  prefix: string
  stepSeconds: number
  /** Slots before it have no execution. */
  from: number
  /** Any instant of it. */
  day: number
  /** When the copies were made: from then on they run by themselves. */
  now: number
}

/** Returns how many attempts it wrote. */
export async function writeCopiedDay(database: Database, copied: CopiedDay): Promise<number> {
  const { prefix, stepSeconds, from, day, now } = copied
  if (day + dayMs < from) return 0
  await makeDays(database, 'attempts', day)
  await makeDays(database, 'slots', now - slotDays * dayMs)
  const isYoung = day > now - slotDays * dayMs
  const values = [toRfc3339(epochMs(day)).slice(0, 10), prefix, stepSeconds, from, isYoung, now]
  const { rows } = await database.query<{ count: number }>(statements.insertCopiedDay, values)
  return rows[0]!.count
}

/** Whether the numbers of dashboards are as far as the record. */
export async function isFolded(database: Database): Promise<boolean> {
  const { rows } = await database.query<{ folded: boolean }>(statements.selectFolded, [])
  return rows[0]!.folded
}

async function insertAll(database: Database, statement: Sql, rows: readonly object[]): Promise<void> {
  for (let from = 0; from < rows.length; from += rowsAtOnce)
    await database.query(statement, [JSON.stringify(rows.slice(from, from + rowsAtOnce))])
}

export async function readNow(database: Database): Promise<number> {
  const { rows } = await database.query<{ now: number }>(statements.selectNow, [])
  return rows[0]!.now
}
