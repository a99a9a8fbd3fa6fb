// Cancel and retry on PostgreSQL.

import type { JobStatus } from '../../domain/jobs/job.ts'
import { idempotencyKeyOf } from '../../domain/queue/execution.ts'
import { triggerLevels } from '../../domain/queue/rank.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { CancelOutcome, Control, RetryOrder, RetryOutcome } from '../../ports/control.ts'
import type { ExecutionQuery, ExecutionView } from '../../ports/executions.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import { takeDeadLetters } from '../history/dead-letters.sql.ts'
import { findExecution } from '../history/find-execution.ts'
import { searchUnended } from '../history/search.ts'
import { jobKeyItem } from '../jobs/items.ts'
import { lockJobs } from '../jobs/triggers.sql.ts'
import { cancelById, settledOf } from './cancel.ts'
import * as statements from './control.sql.ts'
import { repeatItem } from './items.ts'

export class PostgresControl implements Control {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  cancel({ tenantId, executionId, message }: Parameters<Control['cancel']>[0]): Promise<CancelOutcome> {
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        const found = await findExecution(queries, tenantId, executionId)
        if (found === null) return { kind: 'not_found' }
        const { jobId } = found
        const [cancelled] = await cancelById(queries, [executionId], message)
        if (cancelled?.runs === true) return { kind: 'cancelling', jobId }
        if (cancelled !== undefined) return { kind: 'cancelled', jobId, settled: settledOf([cancelled])[0]! }
        // It has ended, perhaps since we looked.
        const ended = await findExecution(queries, tenantId, executionId)
        if (ended === null) return { kind: 'not_found' }
        const { status } = ended
        return status === 'CANCELLED'
          ? { kind: 'cancelled', jobId, settled: null }
          : { kind: 'finished', status }
      }),
    )
  }

  cancelMany({ tenantId, executionIds, message }: Parameters<Control['cancelMany']>[0]) {
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        const own = await queries.query<{ execution_id: string }>(statements.selectOwnUnended, [
          tenantId,
          executionIds,
        ])
        const ids = own.rows.map((row) => row.execution_id)
        const cancelled = await cancelById(queries, ids, message)
        const settled = settledOf(cancelled)
        return { cancelled: settled, cancelling: cancelled.length - settled.length }
      }),
    )
  }

  findUnended(query: ExecutionQuery) {
    return this.#database.transaction((queries) => searchUnended(queries, query))
  }

  async retry(order: RetryOrder): Promise<RetryOutcome> {
    const { tenantId, executionId } = order
    return this.#database.transaction(async (queries) => {
      const original = await findExecution(queries, tenantId, executionId)
      if (original === null) return { kind: 'not_found' }
      if (!isEnded(original)) return { kind: 'not_finished', status: original.status }
      const { jobId, slot } = original
      const locked = await queries.query<{ status: JobStatus }>(lockJobs, [
        jobKeyItem.encode([{ tenantId, jobId }]),
      ])
      const { status = 'DELETED' } = locked.rows[0] ?? {}
      if (status === 'DELETED') return { kind: 'job_deleted' }
      const payload = await takePayload(queries, order, original)
      const item = {
        executionId: order.newExecutionId,
        jobId,
        lane: order.lane,
        slotMs: slot,
        payload,
        idempotencyKey: isKeyKept(original) ? keyOf(original) : null,
        retryOf: executionId,
      }
      const values = [repeatItem.encode([item]), triggerLevels, 'retry', false]
      const { rows } = await queries.query<{ enqueued_at: EpochMs }>(statements.insertRepeats, values)
      return { kind: 'retried', jobId, enqueuedAt: rows[0]!.enqueued_at, slot }
    })
  }
}

function isEnded({ status }: ExecutionView): boolean {
  return ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'SKIPPED'].includes(status)
}

/** A retry of a failed execution repeats the same request; a retry of a succeeded one is a new request. */
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
