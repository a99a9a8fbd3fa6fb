// Cursors: where the next page of a list begins. Opaque to clients, and checked like anything else they send. A
// cursor says which list it belongs to: one of another list would silently begin at a wrong place.
import { type Pagination, pagedItemsMax, pageLimitDefault } from '@carillon/contract/pagination.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { totalMax } from '../../ports/executions.ts'
import { readId } from './path-id.ts'
import { refuseField } from './problem.ts'

type List =
  | 'jobs'
  | 'jobs_failing_first'
  | 'jobs_failing'
  | 'jobs_flaky'
  | 'sealed_executions'
  | 'dead_letters'
  | 'skips'
  | 'slots'
  | 'latest_slots'
  | 'operations'
  | 'tenants'
  | 'api_keys'
  | 'calendars'
  | 'artifacts'
  | 'logs'
  | 'graph_runs'
  | 'versions'
  | 'workers'

export interface PageQuery {
  limit?: number
  cursor?: string
  page?: number
  include?: string
}

/** `before`: the id or the name of the last item, or for slots an instant. */
export function writeCursor(list: List, before: string | number): string {
  return Buffer.from(JSON.stringify([list, before])).toString('base64url')
}

/** The id that the page lies behind; null for the first page. */
export function readIdCursor(list: List, { cursor }: PageQuery): string | null {
  if (cursor === undefined) return null
  const before = readCursor(list, cursor)
  return (typeof before === 'string' ? readId(before) : null) ?? refuseCursor()
}

/** The name that the page lies behind; null for the first page. */
export function readNameCursor(list: List, { cursor }: PageQuery, pattern: RegExp): string | null {
  if (cursor === undefined) return null
  const before = readCursor(list, cursor)
  return typeof before === 'string' && pattern.test(before) ? before : refuseCursor()
}

/** The instant that the page lies behind; null for the first page. */
export function readInstantCursor(list: List, { cursor }: PageQuery): number | null {
  if (cursor === undefined) return null
  const before = readCursor(list, cursor)
  const isInstant =
    Number.isSafeInteger(before) && (before as number) >= 0 && (before as number) <= instantMsMax
  return isInstant ? (before as number) : refuseCursor()
}

/** The year 9999. Slots lie between 1970 and 2199; a database cannot write instants that lie far outside. */
const instantMsMax = 253_402_300_799_000

export function limitOf({ limit = pageLimitDefault }: PageQuery): number {
  return limit
}

/** The place that the page lies behind: an instant or nothing, a space and an id. Null for the first page. */
export function readPlaceCursor(
  list: List,
  { cursor }: PageQuery,
): { at: EpochMs | null; jobId: string } | null {
  if (cursor === undefined) return null
  const place = readCursor(list, cursor)
  const [, at = '', id = ''] = (typeof place === 'string' && /^(\d{0,15}) (\S+)$/.exec(place)) || []
  const jobId = readId(id)
  if (jobId === null || Number(at) > instantMsMax) return refuseCursor()
  return { at: at === '' ? null : epochMs(Number(at)), jobId }
}

/** How many items to pass over for the page that was asked for by number. */
export function offsetOf(query: PageQuery): number {
  const { page, cursor, include } = query
  if (page === undefined) return 0
  // Such a page may end early, and the items up to the next number would be passed over.
  if (include !== undefined)
    throw refuseField('page', 'cannot be given together with include: follow next_cursor')
  if (cursor !== undefined) throw refuseField('page', 'cannot be given together with cursor')
  const limit = limitOf(query)
  if (page * limit > pagedItemsMax) {
    throw refuseField('page', `times limit must be at most ${pagedItemsMax}; a cursor leads further`)
  }
  return (page - 1) * limit
}

interface PageFacts {
  /** Of the whole list. More than `totalMax` stands for more. */
  total: number
  /** Counting has stopped early: there are at least `total`. */
  capped?: boolean
  /** The id, the name or the instant that the next page lies behind; null: there is no further page. */
  next: string | number | null
}

export function paginationOf(list: List, query: PageQuery, facts: PageFacts): Pagination {
  const { total, capped = false, next } = facts
  return {
    limit: limitOf(query),
    ...(query.page === undefined ? {} : { page: query.page }),
    total: Math.min(total, totalMax),
    total_capped: capped || total > totalMax,
    next_cursor: next === null ? null : writeCursor(list, next),
  }
}

/** The place that the next page lies behind; null: there is no further page. */
export function behindLast<Item, Place>(
  { more }: { more: boolean },
  items: readonly Item[],
  placeOf: (item: Item) => Place,
): Place | null {
  const last = items.at(-1)
  return more && last !== undefined ? placeOf(last) : null
}

function readCursor(list: List, cursor: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return refuseCursor()
  }
  return Array.isArray(value) && value.length === 2 && value[0] === list ? value[1] : refuseCursor()
}

function refuseCursor(): never {
  throw refuseField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
}
