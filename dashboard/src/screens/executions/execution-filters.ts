// The filters of executions, and the filters of bulk actions on all that match.

export const filterNames = [
  'status',
  'kind',
  'error_type',
  'q',
  'tag',
  'job_id',
  'worker_id',
  'dead_letter',
  'range',
  'start_date',
  'end_date',
] as const

const unendedStatuses = ['WAITING_DEPENDENCIES', 'PENDING', 'RUNNING', 'RETRYING']

/** The filter of a cancel of all that match; null: nothing that matches can be cancelled, or all would be. */
export function cancelFilterOf(query: Readonly<Record<string, string>>): Record<string, string> | null {
  const { dead_letter, ...filter } = query
  // A cancel does not know workers.
  if (dead_letter === 'true' || filter['worker_id'] !== undefined) return null
  if (filter['status'] !== undefined && !unendedStatuses.includes(filter['status'])) return null
  return Object.keys(filter).length === 0 ? null : filter
}

/** The filter of a redrive of all dead letters that match; null: dead letters cannot be told apart by this. */
export function redriveFilterOf(query: Readonly<Record<string, string>>): Record<string, string> | null {
  const { dead_letter, status, ...filter } = query
  if (dead_letter === 'false') return null
  if (status !== undefined && status !== 'FAILED' && status !== 'TIMED_OUT') return null
  if (dead_letter === undefined && status === undefined) return null
  // A dead letter is found by the job and the error, and by when it was given up, which is not when it was due.
  const names = Object.keys(filter)
  return names.every((name) => name === 'job_id' || name === 'error_type') ? filter : null
}
