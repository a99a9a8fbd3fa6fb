// Applies the live stream to a list: existing rows change in place; new ones are counted and held back until they are
// asked for, so that the list does not jump under the pointer.
import type { ExecutionSearch } from '@carillon/contract/execution.ts'
import type { LiveExecution } from '../../live/live.ts'

export type Row = ExecutionSearch['executions'][number]

export interface LiveRows {
  changed: ReadonlyMap<string, LiveExecution>
  /** Ids of executions that are not in the list yet. */
  fresh: ReadonlySet<string>
}

export const noLiveRows: LiveRows = { changed: new Map(), fresh: new Set() }
export const freshMax = 1_000

export interface Seen {
  ids: ReadonlySet<string>
  /** The id of the first row, which tells when it was made; null: there is none. */
  newest: string | null
  /** With a condition that only the server can judge, nothing counts as new. */
  query: Readonly<Record<string, string>>
}

export function takeLiveRows(before: LiveRows, items: readonly LiveExecution[], seen: Seen): LiveRows {
  const changed = new Map(before.changed)
  const fresh = new Set(before.fresh)
  for (const item of items) {
    if (seen.ids.has(item.execution_id)) {
      changed.set(item.execution_id, item)
    } else if (isNewer(item, seen) && matches(item, seen.query) && fresh.size < freshMax) {
      fresh.add(item.execution_id)
    }
  }
  return { changed, fresh }
}

function isNewer(item: LiveExecution, { newest }: Seen): boolean {
  return newest === null || item.execution_id > newest
}

/** Conditions that an event can be held against. A range of time ends now, so a new execution is in it. */
const judged: readonly string[] = ['status', 'job_id', 'error_type', 'start_date']

function matches(item: LiveExecution, query: Seen['query']): boolean {
  return (
    Object.keys(query).every((name) => judged.includes(name)) &&
    (query['status'] === undefined || query['status'] === item.status) &&
    (query['job_id'] === undefined || query['job_id'] === item.job_id) &&
    (query['error_type'] === undefined || query['error_type'] === item.error_type)
  )
}
