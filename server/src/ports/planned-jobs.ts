// The upcoming slots of jobs, for the forecast.
import type { PlannedJob } from '../domain/scheduling/forecast.ts'

export interface PlannedJobs {
  /** Active jobs that have a slot to come, by id, behind `after`. */
  listPlanned(query: PlannedQuery): Promise<PlannedJob[]>
}

export interface PlannedQuery {
  tenantId: string
  after: string | null
  limit: number
}
