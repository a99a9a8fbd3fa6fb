// Ends executions: at once those that do not run, the others once their worker has stopped them. From batches first:
// what leaves one goes to `live`, never the other way, so that nothing is missed between the two.
import type { SettledAttempt } from '../../domain/queue/attempt.ts'
import type { Queries } from '../connection/database.ts'
import * as statements from './cancel.sql.ts'
import { cancelItem } from './items.ts'
import { type SettledRow, toSettled } from './settled-row.ts'

export interface Cancelled extends SettledAttempt {
  /** It runs: it is flagged, and ends when its worker says how. */
  runs: boolean
}

/** Those of them that have ended with it. */
export function settledOf(cancelled: readonly Cancelled[]): SettledAttempt[] {
  return cancelled.filter(({ runs }) => !runs).map(({ runs: _runs, ...settled }) => settled)
}

/** Those of the ids that have not ended. */
export async function cancelById(
  queries: Queries,
  executionIds: readonly string[],
  message: string,
): Promise<Cancelled[]> {
  if (executionIds.length === 0) return []
  const values = [message, true, executionIds]
  const batched = await queries.query<CancelledRow>(statements.cancelBatchedById, values)
  const live = await queries.query<CancelledRow>(statements.cancelLiveById, values)
  return [...batched.rows, ...live.rows].map(toCancelled)
}

/** The same for those that are known to be rows of their own: no batch is locked. */
export async function cancelLiveById(
  queries: Queries,
  executionIds: readonly string[],
  message: string,
): Promise<Cancelled[]> {
  const { rows } = await queries.query<CancelledRow>(statements.cancelLiveById, [message, true, executionIds])
  return rows.map(toCancelled)
}

/** A job, and what is said of its executions. */
export interface CancelledJob {
  jobId: string
  message: string
}

/** All of some jobs; those that run only if asked. */
export async function cancelOfJobs(
  queries: Queries,
  jobs: readonly CancelledJob[],
  { running }: { running: boolean },
): Promise<void> {
  await cancelBatchedOfJobs(queries, jobs, running)
  await cancelLiveOfJobs(queries, jobs, { running, waiting: 'all' })
}

/** What is in batches. */
export async function cancelBatchedOfJobs(
  queries: Queries,
  jobs: readonly CancelledJob[],
  running = true,
): Promise<Cancelled[]> {
  const { rows } = await queries.query<CancelledRow>(statements.cancelBatchedOfJobs, [toText(jobs), running])
  return rows.map(toCancelled)
}

/** What is a row of its own; of what waits, all or these. */
export async function cancelLiveOfJobs(
  queries: Queries,
  jobs: readonly CancelledJob[],
  { running, waiting }: { running: boolean; waiting: 'all' | readonly string[] },
): Promise<Cancelled[]> {
  const isAll = waiting === 'all'
  const values = [toText(jobs), running, isAll ? [] : waiting, isAll]
  const { rows } = await queries.query<CancelledRow>(statements.cancelLiveOfJobs, values)
  return rows.map(toCancelled)
}

function toText(jobs: readonly CancelledJob[]): string {
  return cancelItem.encode(jobs)
}

/** Of a backfill, what does not run. */
export async function cancelOfOperation(
  queries: Queries,
  operationId: string,
  message: string,
): Promise<void> {
  await queries.query(statements.cancelLiveOfOperation, [message, false, operationId])
}

interface CancelledRow extends SettledRow {
  runs: boolean
}

function toCancelled(row: CancelledRow): Cancelled {
  return { ...toSettled(row, 'cancelled'), runs: row.runs }
}
