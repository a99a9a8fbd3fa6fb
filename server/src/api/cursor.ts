// Cursors: where the next page of a list begins. Opaque to clients, and checked like anything else they send. A
// cursor says which list it belongs to: one of another list would silently begin at a wrong place.
import { type Pagination, pageLimitDefault } from '@carillon/contract/pagination.ts'
import { totalMax } from '../ports/history.ts'
import { ApiError } from './api-error.ts'
import { readId } from './path-id.ts'

type List = 'executions' | 'dead_letters' | 'skips'

export interface PageQuery {
  limit?: number
  cursor?: string
}

/** What `before` is: the id of an execution, or for skipped slots an instant. */
export function writeCursor(list: List, before: string | number): string {
  return Buffer.from(JSON.stringify([list, before])).toString('base64url')
}

/** The execution id that the page lies behind; null for the first page. */
export function readIdCursor(list: List, { cursor }: PageQuery): string | null {
  if (cursor === undefined) return null
  const before = readCursor(list, cursor)
  return (typeof before === 'string' ? readId(before) : null) ?? refuseCursor()
}

/** The instant that the page lies behind; null for the first page. */
export function readInstantCursor(list: List, { cursor }: PageQuery): number | null {
  if (cursor === undefined) return null
  const before = readCursor(list, cursor)
  const isInstant =
    Number.isSafeInteger(before) && (before as number) >= 0 && (before as number) <= instantMsMax
  return isInstant ? (before as number) : refuseCursor()
}

/** The year 9999. Slots lie between 1970 and 2199; what lies far outside, a database cannot write. */
const instantMsMax = 253_402_300_799_000

export function limitOf({ limit = pageLimitDefault }: PageQuery): number {
  return limit
}

export function paginationOf(page: { limit: number; total: number; nextCursor: string | null }): Pagination {
  const { limit, total, nextCursor } = page
  return {
    limit,
    total: Math.min(total, totalMax),
    total_capped: total > totalMax,
    next_cursor: nextCursor,
  }
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
  const detail = 'is not a cursor of this list'
  throw new ApiError('INVALID_CURSOR', `cursor ${detail}.`, [{ pointer: 'cursor', detail }])
}
