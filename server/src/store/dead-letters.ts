// Dead letters on PostgreSQL.
import { type ExecutionKind, idempotencyKeyOf } from '../domain/execution.ts'
import { triggerLevels } from '../domain/rank.ts'
import { serverRoute } from '../domain/route.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type {
  DeadLetter,
  DeadLetterPage,
  DeadLetterQuery,
  DeadLetters,
  RedriveOrder,
} from '../ports/dead-letters.ts'
import { totalMax } from '../ports/history.ts'
import type { DeadReason } from '../ports/queue.ts'
import type { Database } from './database.ts'
import * as statements from './dead-letters.sql.ts'

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export class StoredDeadLetters implements DeadLetters {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list({ tenantId, jobId, before, limit }: DeadLetterQuery): Promise<DeadLetterPage> {
    const [listed, counted] = await Promise.all([
      this.#database.query<LetterRow>(statements.selectDeadLetters, [
        tenantId,
        jobId,
        before ?? lastId,
        limit + 1,
      ]),
      this.#database.query<{ total: number }>(statements.countDeadLetters, [tenantId, jobId, totalMax + 1]),
    ])
    return {
      deadLetters: listed.rows.slice(0, limit).map(toLetter),
      more: listed.rows.length > limit,
      total: counted.rows[0]!.total,
    }
  }

  async get(tenantId: string, executionId: string): Promise<DeadLetter | null> {
    const { rows } = await this.#database.query<LetterRow>(statements.selectDeadLetter, [
      tenantId,
      executionId,
    ])
    return rows[0] === undefined ? null : toLetter(rows[0])
  }

  async redrive({
    tenantId,
    letters,
  }: RedriveOrder): Promise<{ executionId: string; newExecutionId: string }[]> {
    const ids = letters.map(({ executionId }) => executionId)
    return this.#database.transaction(async (queries) => {
      const { rows } = await queries.query<TakenRow>(statements.takeDeadLetters, [tenantId, ids])
      const taken = new Map(rows.map((row) => [row.execution_id, row]))
      // A letter that is named twice is there once.
      const first = new Map(letters.toReversed().map((letter) => [letter.executionId, letter]))
      const redriven = letters.filter(
        (one) => taken.has(one.executionId) && first.get(one.executionId) === one,
      )
      const items = redriven.map(({ executionId, newExecutionId, lane }) => {
        const { job_id: jobId, kind, slot, idempotency_key: key, payload } = taken.get(executionId)!
        return {
          e: newExecutionId,
          j: jobId,
          l: lane,
          s: slot,
          k: key ?? idempotencyKeyOf(kind, { jobId, executionId, slot }),
          o: executionId,
          ...(payload !== null && { p: payload }),
        }
      })
      if (items.length > 0) {
        await queries.query(statements.insertRedriven, [JSON.stringify(items), serverRoute, triggerLevels])
      }
      return redriven.map(({ executionId, newExecutionId }) => ({ executionId, newExecutionId }))
    })
  }

  async discard(tenantId: string, executionId: string): Promise<'discarded' | 'not_found'> {
    const { count } = await this.#database.query(statements.discardDeadLetter, [tenantId, executionId])
    return count === 1 ? 'discarded' : 'not_found'
  }

  async depth(): Promise<{ count: number; oldestAt: EpochMs | null }> {
    const { rows } = await this.#database.query<DepthRow>(statements.selectDeadLetterDepth, [totalMax + 1])
    return { count: rows[0]!.count, oldestAt: rows[0]!.oldest_at }
  }
}

function toLetter(row: LetterRow): DeadLetter {
  return {
    executionId: row.execution_id,
    jobId: row.job_id,
    jobName: row.job_name,
    reason: row.reason,
    diedAt: row.died_at,
    attempts: row.attempts,
    errors: row.errors,
    ...(row.payload !== null && { payload: JSON.parse(row.payload) as unknown }),
  }
}

interface LetterRow {
  execution_id: string
  job_id: string
  job_name: string
  reason: DeadReason
  died_at: EpochMs
  attempts: number
  errors: DeadLetter['errors']
  payload: string | null
}

interface TakenRow {
  execution_id: string
  job_id: string
  kind: ExecutionKind
  slot: EpochMs
  idempotency_key: string | null
  payload: string | null
}

interface DepthRow {
  count: number
  oldest_at: EpochMs | null
}
