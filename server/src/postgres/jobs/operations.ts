// Operations on PostgreSQL.
import {
  backfillCancelledMessage,
  type NewOperation,
  type Operation,
  type OperationKind,
  operationDaysKept,
  operationFailuresMax,
  operationsMax,
  type SteppedOperation,
} from '../../domain/jobs/operation.ts'
import { lastId } from '../../lib/id.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { Unavailable } from '../../lib/unavailable.ts'
import { totalMax } from '../../ports/executions.ts'
import type { CancelledOperation, Operations, OperationWork } from '../../ports/operations.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import { withPartitions, withToday } from '../connection/daily-partitions.ts'
import { type Transactions, within } from '../connection/database.ts'
import { cancelOfOperation, settledOf } from '../queue/cancel.ts'
import * as statements from './operations.sql.ts'
import { storesOn } from './requests.ts'

const gaveUp =
  'Its steps failed many times in a row; items counted as done are done. The server log has the cause.'

export class PostgresOperations implements Operations {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async create(operation: NewOperation): Promise<'created' | 'too_many'> {
    const { operationId, tenantId, kind, filter, options, total, totalCapped, createdBy, createdAt } =
      operation
    const { count } = await this.#database.query(statements.insertOperation, [
      operationId,
      tenantId,
      kind,
      JSON.stringify(filter),
      JSON.stringify(options),
      total,
      totalCapped,
      createdBy,
      operationsMax,
      createdAt,
    ])
    return count === 1 ? 'created' : 'too_many'
  }

  async get(tenantId: string, operationId: string): Promise<Operation | null> {
    const { rows } = await this.#database.query<OperationRow>(statements.selectOperation, [
      tenantId,
      operationId,
    ])
    return rows[0] === undefined ? null : toOperation(rows[0])
  }

  async list({ tenantId, before, limit }: Parameters<Operations['list']>[0]) {
    const values = [tenantId, before ?? lastId, limit + 1]
    const { rows } = await this.#database.query<OperationRow>(statements.selectOperations, values)
    const counted = await this.#database.query<{ total: number }>(statements.countOperations, [
      tenantId,
      totalMax + 1,
    ])
    return {
      operations: rows.slice(0, limit).map(toOperation),
      more: rows.length > limit,
      total: counted.rows[0]!.total,
    }
  }

  cancel(tenantId: string, operationId: string): Promise<CancelledOperation | null> {
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        const { rows } = await queries.query<{ kind: OperationKind }>(statements.cancelOperation, [
          tenantId,
          operationId,
        ])
        const isBackfill = rows[0]?.kind === 'backfill'
        const cancelled = isBackfill
          ? settledOf(await cancelOfOperation(queries, operationId, backfillCancelledMessage))
          : []
        const operation = await new PostgresOperations(within(queries)).get(tenantId, operationId)
        return operation && { ...operation, ...(cancelled.length > 0 && { cancelled }) }
      }),
    )
  }

  async step(work: OperationWork): Promise<Operation | null> {
    let taken: string | null = null
    try {
      return await withToday(this.#database, () =>
        this.#database.transaction(async (queries) => {
          const { rows } = await queries.query<OperationRow>(statements.takeOperation, [])
          if (rows[0] === undefined) return null
          taken = rows[0].operation_id
          const progress = await work(toOperation(rows[0]) as SteppedOperation, storesOn(within(queries)))
          const { done, skipped, after, waitMs, error = null } = progress
          const values = [taken, done, skipped, after, waitMs, error]
          const moved = await queries.query<OperationRow>(statements.advanceOperation, values)
          return toOperation(moved.rows[0]!)
        }),
      )
    } catch (error) {
      // The step is undone. That it failed is written apart, so that one that always fails does not go on for ever.
      // An unreachable or busy database is no fault of the step: the operation only lets others go first.
      if (taken !== null) {
        const failures = error instanceof Unavailable ? 0 : 1
        await this.#database
          .query(statements.delayOperation, [taken, operationFailuresMax, gaveUp, failures])
          .catch(() => {})
      }
      throw error
    }
  }

  async prune(limit: number): Promise<number> {
    const { count } = await this.#database.query(statements.pruneOperations, [operationDaysKept, limit])
    return count
  }

  async nextAt(): Promise<EpochMs | null> {
    const { rows } = await this.#database.query<{ at: EpochMs | null }>(statements.selectNextOperation, [])
    return rows[0]!.at
  }
}

type OperationRow = Columns<Operation>

/** Kind and filter were written together. */
const toOperation = (row: OperationRow): Operation => fromColumns<Operation>(row)
