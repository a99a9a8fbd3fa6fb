// The part of an execution event that changes a listed row, and the statuses after which nothing changes.
import type { LiveExecution } from './live.ts'

export const endedStatuses: readonly string[] = ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'SKIPPED']

type Changing = 'status' | 'attempt_number' | 'started_at' | 'finished_at' | 'duration_ms'
export type ToldExecution = Pick<LiveExecution, Changing>

/** The row as it is now. The stream may deliver an event of an earlier attempt. */
export function withEvent<Row extends ToldExecution>(row: Row, event: ToldExecution | undefined): Row {
  if (event === undefined || event.attempt_number < row.attempt_number) return row
  const { status, attempt_number, started_at, finished_at, duration_ms } = event
  return { ...row, status, attempt_number, started_at, finished_at, duration_ms }
}
