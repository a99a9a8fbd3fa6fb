// The upcoming slots of jobs, on PostgreSQL.

import type { PlannedJob } from '../../domain/scheduling/forecast.ts'
import { firstId } from '../../lib/id.ts'
import type { PlannedJobs, PlannedQuery } from '../../ports/planned-jobs.ts'
import type { CursorCalendars } from '../../ports/slots.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
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
    return rows.map(({ calendars, ...row }) => ({
      ...fromColumns<Omit<PlannedJob, 'calendars'>>(row),
      calendars: calendars?.entries ?? null,
    }))
  }
}

type PlannedRow = Columns<Omit<PlannedJob, 'calendars'>> & { calendars: CursorCalendars | null }
