// Joins pages of a list, up to the requested limit.
import type { Pagination } from '@carillon/contract/pagination.ts'
import { CliError, EXIT } from './exit-code.ts'
import type { Values } from './parse.ts'

const pageMax = 200
const listDefault = 50
const listMax = 100_000

export type PageQuery = { limit: number; cursor?: string }

/** A reply of the API with a page of a list, whose items have this name. */
export type Page<Name extends string, Item> = Record<Name, readonly Item[]> & { pagination: Pagination }

export function readLimit(values: Values): number {
  const limit = values.number('limit') ?? listDefault
  if (!Number.isInteger(limit) || limit < 1 || limit > listMax)
    throw new CliError(EXIT.usage, `--limit is a whole number from 1 to ${listMax}.`)
  return limit
}

/** The pagination covers all the pages read: `next_cursor` leads to the items after them. */
export async function readPages<Name extends string, Item, Reply extends Page<Name, Item>>(
  name: Name,
  limit: number,
  firstCursor: string | undefined,
  list: (query: PageQuery) => { page(): Promise<Reply> },
): Promise<{ items: Item[]; first: Reply; pagination: Pagination }> {
  const items: Item[] = []
  let cursor = firstCursor
  let first: Reply | null = null
  for (;;) {
    const size = Math.min(pageMax, limit - items.length)
    const page = await list({ limit: size, ...(cursor !== undefined && { cursor }) }).page()
    items.push(...page[name])
    first ??= page
    const next = page.pagination.next_cursor
    if (next === null || items.length >= limit)
      return { items, first, pagination: { ...first.pagination, limit, next_cursor: next } }
    cursor = next
  }
}

/** The hint for people below a list that goes on. */
export function moreOf(
  shown: number,
  { total, total_capped: capped, next_cursor: next }: Pagination,
): string[] {
  if (next === null) return []
  const of = `${total}${capped ? ' or more' : ''}`
  return [`${shown} of ${of} shown; more with --limit ${shown * 4}`]
}
