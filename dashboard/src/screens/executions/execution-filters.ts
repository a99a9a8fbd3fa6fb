// Which executions are listed: from the address to the parameters of the API, and to the filters of bulk actions.
import type { Filters } from '../../lib/filters.ts'
import { hourMs, minuteMs } from '../../lib/units.ts'

export const filterNames = [
  'status',
  'kind',
  'error_type',
  'q',
  'tag',
  'job_id',
  'dead_letter',
  'range',
  'start_date',
  'end_date',
] as const

export const ranges: Readonly<Record<string, { name: string; ms: number }>> = {
  '1h': { name: 'last hour', ms: hourMs },
  '24h': { name: 'last 24 hours', ms: 24 * hourMs },
  '7d': { name: 'last 7 days', ms: 7 * 24 * hourMs },
  '30d': { name: 'last 30 days', ms: 30 * 24 * hourMs },
}

/** The beginning is cut to the minute, so that the same list is asked for the same way for a while. */
export function queryOf(filters: Filters, nowMs: number): Record<string, string> {
  const query: Record<string, string> = {}
  for (const name of filterNames) {
    const value = filters[name]
    if (value !== undefined && name !== 'range') query[name] = value
  }
  const range = ranges[filters['range'] ?? '']
  if (range !== undefined) {
    query['start_date'] = new Date(Math.floor((nowMs - range.ms) / minuteMs) * minuteMs).toISOString()
  }
  return query
}

const unendedStatuses = ['WAITING_DEPENDENCIES', 'PENDING', 'RUNNING', 'RETRYING']

/** The filter of a cancel of all that match; null: nothing that matches can be cancelled, or all would be. */
export function cancelFilterOf(query: Readonly<Record<string, string>>): Record<string, string> | null {
  const { dead_letter, ...filter } = query
  if (dead_letter === 'true') return null
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
