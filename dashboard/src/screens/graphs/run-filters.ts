// Which runs are listed: from the address to the parameters of the API.
import type { Filters } from '../../lib/filters.ts'
import { serverNow } from '../../lib/now.ts'
import { minuteMs } from '../../lib/units.ts'
import { ranges } from '../executions/execution-filters.ts'

export const rangesOfRuns = Object.entries(ranges).map(([value, { name }]) => ({ value, name }))

/** The beginning is cut to the minute, so that the same list is asked for the same way for a while. */
export function runQueryOf(filters: Filters, nowMs = serverNow()): Record<string, string> {
  const query: Record<string, string> = {}
  for (const name of ['status', 'job_id', 'start_date', 'end_date']) {
    const value = filters[name]
    if (value !== undefined) query[name] = value
  }
  const range = ranges[filters['range'] ?? '']
  if (range !== undefined) {
    query['start_date'] = new Date(Math.floor((nowMs - range.ms) / minuteMs) * minuteMs).toISOString()
  }
  return query
}
