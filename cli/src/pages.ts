// Joins pages of a list, up to the requested limit.
import type { Pagination } from '@carillon/contract/pagination.ts'
import { CliError, EXIT } from './exit-code.ts'
import type { Values } from './parse.ts'

const pageMax = 200
const listDefault = 50
const listMax = 100_000

export interface Pages<Item> {
  items: Item[]
  pagination: Pagination
}

export function readLimit(values: Values): number {
  const limit = values.number('limit') ?? listDefault
  if (!Number.isInteger(limit) || limit < 1 || limit > listMax)
    throw new CliError(EXIT.usage, `--limit is a whole number from 1 to ${listMax}.`)
  return limit
}

/** The pagination covers all the pages read: `next_cursor` leads to the items after them. */
export async function readPages<Item>(
  limit: number,
  first: string | undefined,
  read: (page: { limit: number; cursor?: string }) => Promise<Pages<Item>>,
): Promise<Pages<Item>> {
  const items: Item[] = []
  let cursor = first
  let total: Pagination | null = null
  for (;;) {
    const page = await read({
      limit: Math.min(pageMax, limit - items.length),
      ...(cursor === undefined ? {} : { cursor }),
    })
    items.push(...page.items)
    total ??= page.pagination
    const next = page.pagination.next_cursor
    if (next === null || items.length >= limit)
      return { items, pagination: { ...total, limit, next_cursor: next } }
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
