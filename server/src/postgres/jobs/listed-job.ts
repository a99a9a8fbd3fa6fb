// A job of a list as PostgreSQL returns it, with its payload and its health.
import type { JobHealth } from '../../domain/jobs/job-health.ts'
import type { Outcome } from '../../domain/queue/execution.ts'
import type { ErrorType } from '../../domain/queue/retry.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { ListedJob } from '../../ports/jobs.ts'
import { type JobRow, toJobView } from './job-row.ts'

/** All null: the job has none. */
export interface HealthRow {
  last_execution_id: string | null
  last_outcome: Outcome | null
  last_finished_at: EpochMs | null
  last_http_status: number | null
  last_error_type: ErrorType | null
  last_error_message: string | null
  failures: number | null
  failing_since: EpochMs | null
  recovered_at: EpochMs | null
}

export type ListedRow = JobRow &
  HealthRow & { payload: string | null; picked_count: number; page_bytes: number }

export function toListedJob(listed: ListedRow): ListedJob {
  const { payload, picked_count: _count, page_bytes: _bytes, ...row } = listed
  const { last_execution_id, last_outcome, last_finished_at, last_http_status, last_error_type, ...rest } =
    row
  const { last_error_message, failures, failing_since, recovered_at, ...job } = rest
  return { ...toJobView(job), payload, health: toHealth(listed) }
}

export function toHealth(row: HealthRow): JobHealth | null {
  if (row.last_execution_id === null) return null
  return {
    last: {
      executionId: row.last_execution_id,
      outcome: row.last_outcome!,
      finishedAt: row.last_finished_at!,
      httpStatus: row.last_http_status,
      errorType: row.last_error_type,
      errorMessage: row.last_error_message,
    },
    failures: row.failures!,
    failingSince: row.failing_since,
    recoveredAt: row.recovered_at,
  }
}
