// What jobs are about to do, for who looks ahead.
import type { PlannedJob } from '../domain/scheduling/forecast.ts'

export interface Plans {
  /** Active jobs that have a slot to come, by id, behind `after`. */
  listPlanned(query: PlanQuery): Promise<PlannedJob[]>
}

export interface PlanQuery {
  tenantId: string
  after: string | null
  limit: number
}
