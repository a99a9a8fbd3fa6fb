// Cancels executions: at once if they are not running, otherwise once their worker has stopped them. Batches come
// first: an execution moves from a batch to `live`, never back, so none is missed between the two.
import type { SettledAttempt } from '../../domain/queue/attempt.ts'
import type { Queries } from '../connection/database.ts'
import * as statements from './cancel.sql.ts'
import { cancelItem } from './items.ts'
import { type SettledRow, toSettled } from './settled-row.ts'

export interface Cancelled extends SettledAttempt {
  /** It runs: it is flagged, and ends when its worker says how. */
  runs: boolean
}

/** The cancelled executions that ended at once, without the ones still running. */
export function settledOf(cancelled: readonly Cancelled[]): SettledAttempt[] {
  return cancelled.filter(({ runs }) => !runs).map(({ runs: _runs, ...settled }) => settled)
}

/** Cancels the executions with these ids that have not ended. */
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

/** The same for executions that are known to be rows of their own: no batch is locked. */
export async function cancelLiveById(
  queries: Queries,
  executionIds: readonly string[],
  message: string,
): Promise<Cancelled[]> {
  const { rows } = await queries.query<CancelledRow>(statements.cancelLiveById, [message, true, executionIds])
  return rows.map(toCancelled)
}

/** A job, and the message recorded for its cancelled executions. */
export interface CancelledJob {
  jobId: string
  message: string
}

/** Cancels the executions in batches. */
export async function cancelBatchedOfJobs(
  queries: Queries,
  jobs: readonly CancelledJob[],
  running = true,
): Promise<Cancelled[]> {
  const { rows } = await queries.query<CancelledRow>(statements.cancelBatchedOfJobs, [toText(jobs), running])
  return rows.map(toCancelled)
}

/** Cancels the executions that are rows of their own, running ones too; of the waiting ones the listed ones. */
export async function cancelLiveOfJobs(
  queries: Queries,
  jobs: readonly CancelledJob[],
  waiting: readonly string[],
): Promise<Cancelled[]> {
  const values = [toText(jobs), true, waiting]
  const { rows } = await queries.query<CancelledRow>(statements.cancelLiveOfJobs, values)
  return rows.map(toCancelled)
}

function toText(jobs: readonly CancelledJob[]): string {
  return cancelItem.encode(jobs)
}

/** Cancels the executions of a backfill that are not running. */
export async function cancelOfOperation(
  queries: Queries,
  operationId: string,
  message: string,
): Promise<Cancelled[]> {
  const values = [message, false, operationId]
  const { rows } = await queries.query<CancelledRow>(statements.cancelLiveOfOperation, values)
  return rows.map(toCancelled)
}

export interface CancelledRow extends SettledRow {
  runs: boolean
}

export function toCancelled(row: CancelledRow): Cancelled {
  return { ...toSettled(row, 'cancelled'), runs: row.runs }
}
