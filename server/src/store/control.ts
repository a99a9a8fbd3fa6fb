// Cancel and retry on PostgreSQL.
import { idempotencyKeyOf } from '../domain/execution.ts'
import type { JobStatus } from '../domain/job.ts'
import { triggerLevels } from '../domain/rank.ts'
import { serverRoute } from '../domain/route.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { CancelOutcome, Control, RetryOrder, RetryOutcome } from '../ports/control.ts'
import type { ExecutionView } from '../ports/history.ts'
import { cancelOne } from './cancel-pending.ts'
import * as statements from './control.sql.ts'
import type { Queries, Transactions } from './database.ts'
import { withDays } from './days.ts'
import { takeDeadLetters } from './dead-letters.sql.ts'
import { findExecution } from './find-execution.ts'
import { lockJobs } from './jobs.sql.ts'

export class StoredControl implements Control {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  cancel({ tenantId, executionId, message }: Parameters<Control['cancel']>[0]): Promise<CancelOutcome> {
    return withDays(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        // Once more when it was handed back between two looks: it waits again, but where we had looked already.
        for (let tries = 0; tries < cancelTriesMax; tries++) {
          const outcome = await tryCancel(queries, { tenantId, executionId, message })
          if (outcome !== 'moved') return outcome
        }
        return { kind: 'running' }
      }),
    )
  }

  async retry(order: RetryOrder): Promise<RetryOutcome> {
    const { tenantId, executionId } = order
    return this.#database.transaction(async (queries) => {
      const original = await findExecution(queries, tenantId, executionId)
      if (original === null) return { kind: 'not_found' }
      if (!isEnded(original)) return { kind: 'not_finished', status: original.status }
      const { jobId, slot } = original
      const locked = await queries.query<{ status: JobStatus }>(lockJobs, [
        JSON.stringify([{ t: tenantId, j: jobId }]),
      ])
      if (locked.rows[0]?.status === 'DELETED') return { kind: 'job_deleted' }
      const payload = await takePayload(queries, order, original)
      const item = {
        e: order.newExecutionId,
        j: jobId,
        l: order.lane,
        s: slot,
        o: executionId,
        ...(isKeyKept(original) && { k: keyOf(original) }),
        ...(payload !== null && { p: payload }),
      }
      const values = [JSON.stringify([item]), serverRoute, triggerLevels, 'retry']
      const { rows } = await queries.query<{ enqueued_at: EpochMs }>(statements.insertRepeats, values)
      return { kind: 'retried', jobId, enqueuedAt: rows[0]!.enqueued_at, slot }
    })
  }
}

const cancelTriesMax = 3

async function tryCancel(
  queries: Queries,
  { tenantId, executionId, message }: Parameters<Control['cancel']>[0],
): Promise<CancelOutcome | 'moved'> {
  const found = await findExecution(queries, tenantId, executionId)
  if (found === null) return { kind: 'not_found' }
  const { jobId } = found
  if (await cancelOne(queries, { jobId, executionId, message })) return { kind: 'cancelled', jobId }
  // It runs or has ended, perhaps since we looked.
  const now = await findExecution(queries, tenantId, executionId)
  if (now === null) return { kind: 'not_found' }
  if (now.status === 'CANCELLED') return { kind: 'cancelled', jobId }
  if (isEnded(now)) return { kind: 'finished', status: now.status }
  return now.status === 'RUNNING' ? { kind: 'running' } : 'moved'
}

function isEnded({ status }: ExecutionView): boolean {
  return ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED'].includes(status)
}

/** Who repeats what failed means the same thing; who repeats what succeeded means it anew. */
function isKeyKept({ status }: ExecutionView): boolean {
  return status === 'FAILED' || status === 'TIMED_OUT'
}

function keyOf(original: ExecutionView): string {
  return original.idempotencyKey ?? idempotencyKeyOf(original.kind, original)
}

/** The payload in place of the job's own, as JSON; its dead letter, which may have been edited, is gone with it. */
async function takePayload(
  queries: Queries,
  order: RetryOrder,
  original: ExecutionView,
): Promise<string | null> {
  const { rows } = await queries.query<{ payload: string | null }>(takeDeadLetters, [
    order.tenantId,
    [order.executionId],
  ])
  if ('payloadOverride' in order) return JSON.stringify(order.payloadOverride)
  if (rows[0] !== undefined) return rows[0].payload
  return 'payloadOverride' in original ? JSON.stringify(original.payloadOverride) : null
}
