// Dead letters on PostgreSQL.

import type { JobStatus } from '../../domain/jobs/job.ts'
import { type ExecutionKind, idempotencyKeyOf } from '../../domain/queue/execution.ts'
import { triggerLevels } from '../../domain/queue/rank.ts'
import { lastId } from '../../lib/id.ts'
import { type EpochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import {
  clusteredMax,
  clusterSamplesMax,
  type DeadLetter,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetters,
  type LetterCluster,
  type LetterClusters,
  type Redriven,
  type RedriveOrder,
} from '../../ports/dead-letters.ts'
import { totalMax } from '../../ports/executions.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import { jobKeyItem } from '../jobs/items.ts'
import { lockJobs } from '../jobs/triggers.sql.ts'
import { insertRepeats } from '../queue/control.sql.ts'
import { repeatItem } from '../queue/items.ts'
import type { RowOf } from '../sql/item.ts'
import * as statements from './dead-letters.sql.ts'

export class PostgresDeadLetters implements DeadLetters {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async list(query: DeadLetterQuery): Promise<DeadLetterPage> {
    const { tenantId, filter, before, limit, bytesMax, payloads } = query
    const { jobId, reason, errorType } = filter
    const conditions = [
      reason,
      errorType,
      instantOf(filter.from, '-infinity'),
      instantOf(filter.to, 'infinity'),
    ]
    const listed = await this.#database.query<ListedRow>(statements.selectDeadLetters, [
      ...[tenantId, jobId, before ?? lastId, limit],
      ...[...conditions, bytesMax, payloads],
    ])
    const counted = await this.#database.query<{ total: number; oldest_at: EpochMs | null }>(
      statements.countDeadLetters,
      [tenantId, jobId, totalMax + 1, ...conditions],
    )
    return {
      deadLetters: listed.rows.map(({ picked_count: _count, ...row }) => toLetter(row)),
      more: (listed.rows[0]?.picked_count ?? 0) > listed.rows.length,
      total: counted.rows[0]!.total,
      oldestAt: counted.rows[0]!.oldest_at,
    }
  }

  async get(tenantId: string, executionId: string): Promise<DeadLetter | null> {
    const { rows } = await this.#database.query<LetterRow>(statements.selectDeadLetter, [
      tenantId,
      executionId,
    ])
    return rows[0] === undefined ? null : toLetter(rows[0])
  }

  async edit(tenantId: string, executionId: string, payload: unknown): Promise<DeadLetter | null> {
    const values = [tenantId, executionId, JSON.stringify(payload)]
    const { rows } = await this.#database.query<LetterRow>(statements.editDeadLetter, values)
    return rows[0] === undefined ? null : toLetter(rows[0])
  }

  // The jobs are locked before their letters are taken, as everywhere: a concurrent delete of a job waits, or we see
  // it.
  redrive({ tenantId, letters, uncharged = false }: RedriveOrder): Promise<Redriven> {
    const ids = [...new Set(letters.map(({ executionId }) => executionId))]
    return this.#database.transaction(async (queries) => {
      const { rows: found } = await queries.query<LetterJobRow>(statements.selectLetterJobs, [tenantId, ids])
      const keys = [...new Set(found.map((row) => row.job_id))].map((jobId) => ({ tenantId, jobId }))
      const locked = await queries.query<LockRow>(lockJobs, [jobKeyItem.encode(keys)])
      const deleted = new Set(
        locked.rows.filter(({ status }) => status === 'DELETED').map((row) => row.job_id),
      )
      const jobDeleted = found.filter((row) => deleted.has(row.job_id)).map((row) => row.execution_id)
      if (jobDeleted.length > 0) await queries.query(statements.stopRedrives, [tenantId, jobDeleted])
      // A letter that came since we looked has a job that is not locked, and so has one of a deleted tenant.
      const usable = new Set(locked.rows.map((row) => row.job_id).filter((jobId) => !deleted.has(jobId)))
      const wanted = found.filter((row) => usable.has(row.job_id)).map((row) => row.execution_id)
      const { rows } = await queries.query<ClaimedRow>(statements.takeDeadLetters, [tenantId, wanted])
      const taken = new Map(rows.map((row) => [row.execution_id, row]))
      const redriven = letters.flatMap(({ executionId, newExecutionId, lane }) => {
        const letter = taken.get(executionId)
        // A letter that is named twice is there once.
        return letter !== undefined && taken.delete(executionId)
          ? [{ letter, executionId, newExecutionId, lane }]
          : []
      })
      if (redriven.length > 0) {
        const values = [repeatItem.encode(redriven.map(toItem)), triggerLevels, 'redrive', uncharged]
        await queries.query(insertRepeats, values)
      }
      return {
        redriven: redriven.map(({ executionId, newExecutionId }) => ({ executionId, newExecutionId })),
        jobDeleted,
      }
    })
  }

  async discard(tenantId: string, executionId: string): Promise<'discarded' | 'not_found'> {
    const { count } = await this.#database.query(statements.discardDeadLetter, [tenantId, executionId])
    return count === 1 ? 'discarded' : 'not_found'
  }

  async depth(): Promise<Depth> {
    const { rows } = await this.#database.query<Columns<Depth>>(statements.selectDeadLetterDepth, [
      totalMax + 1,
    ])
    return fromColumns<Depth>(rows[0]!)
  }

  async clusters(tenantId: string, limit: number): Promise<LetterClusters> {
    const values = [tenantId, clusteredMax, limit, clusterSamplesMax]
    const { rows } = await this.#database.query<ClusterRow>(statements.clusterDeadLetters, values)
    const clusters = rows.map(({ complete: _complete, ...row }) => fromColumns<LetterCluster>(row))
    return { clusters, complete: rows[0]?.complete ?? true }
  }

  async findDue(limit: number): Promise<DueLetter[]> {
    const { rows } = await this.#database.query<Columns<DueLetter>>(statements.selectDueLetters, [limit])
    return rows.map(fromColumns<DueLetter>)
  }
}

function toItem(one: {
  letter: ClaimedRow
  executionId: string
  newExecutionId: string
  lane: string
}): RowOf<typeof repeatItem> {
  const { letter, executionId, newExecutionId, lane } = one
  const { job_id: jobId, kind, slot, idempotency_key: key, payload } = letter
  return {
    executionId: newExecutionId,
    jobId,
    lane,
    slotMs: slot,
    payload,
    idempotencyKey: key ?? idempotencyKeyOf(kind, { jobId, executionId, slot }),
    retryOf: executionId,
  }
}

function instantOf(at: EpochMs | null, otherwise: string): string {
  return at === null ? otherwise : toRfc3339(at)
}

const toLetter = fromColumns<DeadLetter>

type LetterRow = Columns<DeadLetter>

type ListedRow = LetterRow & { picked_count: number }

type ClusterRow = Columns<LetterCluster> & { complete: boolean }

interface LetterJobRow {
  execution_id: string
  job_id: string
}

interface LockRow {
  job_id: string
  status: JobStatus
}

type DueLetter = Awaited<ReturnType<DeadLetters['findDue']>>[number]

interface ClaimedRow {
  execution_id: string
  job_id: string
  kind: ExecutionKind
  slot: EpochMs
  idempotency_key: string | null
  payload: string | null
}

type Depth = Awaited<ReturnType<DeadLetters['depth']>>
