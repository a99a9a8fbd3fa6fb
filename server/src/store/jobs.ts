// Jobs on PostgreSQL.
import {
  type HttpExecution,
  type JobStatus,
  type JobView,
  type MisfirePolicy,
  type OverlapPolicy,
  partitionOf,
  type StoredSchedule,
} from '../domain/job.ts'
import { triggerLevels } from '../domain/rank.ts'
import type { RetryPolicy } from '../domain/retry.ts'
import { serverRoute } from '../domain/route.ts'
import { lookAheadMs } from '../domain/window.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { Jobs, NewJob, TriggerOrder, TriggerOutcome } from '../ports/jobs.ts'
import type { Database } from './database.ts'
import { withDays } from './days.ts'
import * as statements from './jobs.sql.ts'

/** What is due later is found by the next load of the window. */
const notedWithinMs = 2 * lookAheadMs

export class StoredJobs implements Jobs {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async create(job: NewJob): Promise<void> {
    const { immediate } = job
    const values = [
      job.jobId,
      job.tenantId,
      job.createdAt,
      job.name,
      job.description,
      job.tags,
      JSON.stringify(job.schedule),
      job.anchorAt,
      JSON.stringify(job.execution),
      JSON.stringify(job.retryPolicy),
      job.priority,
      job.overlapPolicy,
      job.misfirePolicy,
      job.misfireWindowSeconds,
      JSON.stringify(job.metadata),
      partitionOf(job.jobId),
      job.status,
      job.slotAt,
      immediate?.slot ?? null,
      notedWithinMs,
    ]
    if (immediate === null) {
      await this.#database.query(statements.insertJob, values)
      return
    }
    const first = [
      immediate.executionId,
      job.jobId,
      serverRoute,
      immediate.slot,
      immediate.lane,
      job.priority,
    ]
    await withDays(this.#database, 'slots', [immediate.slot], () =>
      this.#database.transaction(async (queries) => {
        await queries.query(statements.insertJob, values)
        await queries.query(statements.enqueueFirst, first)
      }),
    )
  }

  async get(tenantId: string, jobId: string): Promise<JobView | null> {
    const { rows } = await this.#database.query<JobRow>(statements.selectJob, [tenantId, jobId])
    return rows[0] === undefined ? null : toView(rows[0])
  }

  async trigger(order: TriggerOrder): Promise<TriggerOutcome> {
    const { tenantId, jobId, executionId, lane } = order
    const payload = 'payloadOverride' in order ? JSON.stringify(order.payloadOverride) : null
    const values = [executionId, jobId, serverRoute, lane, triggerLevels, payload]
    return this.#database.transaction(async (queries) => {
      const locked = await queries.query<{ status: JobStatus }>(statements.lockCursor, [tenantId, jobId])
      const status = locked.rows[0]?.status
      if (status === undefined) return { kind: 'not_found' }
      if (status === 'DELETED') return { kind: 'deleted' }
      // A statement of its own: it sees what was committed before we had the lock.
      const { rows } = await queries.query<{ enqueued_at: EpochMs }>(statements.insertTrigger, values)
      return { kind: 'triggered', enqueuedAt: rows[0]!.enqueued_at }
    })
  }
}

interface JobRow {
  job_id: string
  version: number
  tenant_id: string
  name: string
  description: string | null
  tags: string[]
  schedule: StoredSchedule
  anchor_at: EpochMs
  execution: HttpExecution
  retry_policy: RetryPolicy
  priority: number
  overlap_policy: OverlapPolicy
  misfire_policy: MisfirePolicy
  misfire_window_seconds: number | null
  metadata: Record<string, string>
  status: JobStatus
  slot_at: EpochMs | null
  last_run_at: EpochMs | null
  created_at: EpochMs
  updated_at: EpochMs
}

function toView(row: JobRow): JobView {
  return {
    jobId: row.job_id,
    version: row.version,
    tenantId: row.tenant_id,
    name: row.name,
    description: row.description,
    tags: row.tags,
    schedule: row.schedule,
    anchorAt: row.anchor_at,
    execution: row.execution,
    retryPolicy: row.retry_policy,
    priority: row.priority,
    overlapPolicy: row.overlap_policy,
    misfirePolicy: row.misfire_policy,
    misfireWindowSeconds: row.misfire_window_seconds,
    metadata: row.metadata,
    status: row.status,
    slotAt: row.slot_at,
    lastRunAt: row.last_run_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
