// The upcoming slots of jobs, on PostgreSQL.

import type { StoredSchedule } from '../../domain/jobs/job.ts'
import type { PlannedJob } from '../../domain/scheduling/forecast.ts'
import { firstId } from '../../lib/id.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { PlannedJobs, PlannedQuery } from '../../ports/planned-jobs.ts'
import type { CursorCalendars } from '../../ports/slots.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './planned-jobs.sql.ts'

export class PostgresPlannedJobs implements PlannedJobs {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async listPlanned({ tenantId, after, limit }: PlannedQuery): Promise<PlannedJob[]> {
    const values = [tenantId, after ?? firstId, limit]
    const { rows } = await this.#database.query<PlannedRow>(statements.selectPlanned, values)
    return rows.map((row) => ({
      jobId: row.job_id,
      name: row.name,
      schedule: row.schedule,
      anchorAt: row.anchor_at,
      slotAt: row.slot_at,
      runs: row.runs,
      calendars: row.calendars?.entries ?? null,
    }))
  }
}

interface PlannedRow {
  job_id: string
  name: string
  schedule: StoredSchedule
  anchor_at: EpochMs
  slot_at: EpochMs
  runs: number
  calendars: CursorCalendars | null
}
