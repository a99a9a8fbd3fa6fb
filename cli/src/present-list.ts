// Shows a list: its pages joined, as a table or as JSON, and how to see more of it.
import type { Pagination } from '@carillon/contract/pagination.ts'
import type { Context } from './context.ts'
import { moreOf, type Pages, readLimit, readPages } from './pages.ts'
import { present } from './present.ts'
import type { Cell, Column } from './table.ts'

export interface Listing<Item> {
  /** The name of the items in JSON. */
  name: string
  read: (page: { limit: number; cursor?: string }) => Promise<Pages<Item>>
  columns: readonly Column[]
  rowOf: (item: Item, nowMs: number) => readonly Cell[]
  /** Said when there are none. */
  none: readonly string[]
  /** Further fields of the JSON. */
  facts?: () => object
  /** Further lines for people, before and after the hint that the list goes on. */
  remarks?: (pagination: Pagination, nowMs: number) => { before: string; after: string }
}

export function presentList<Item>(context: Context, listing: Listing<Item>): Promise<undefined> {
  const { name, read, columns, rowOf, none, facts = () => ({}), remarks } = listing
  const { out, values } = context
  const limit = readLimit(values)
  return present(context, async () => {
    const { items, pagination } = await readPages(limit, values.text('cursor'), read)
    const nowMs = Date.now()
    const rows = items.map((item) => rowOf(item, nowMs))
    const more = moreOf(items.length, pagination)
    const said = remarks?.(pagination, nowMs)
    return {
      json: { [name]: items, ...facts(), pagination },
      text: () => (rows.length === 0 ? '' : out.table(columns, rows)),
      say: rows.length === 0 ? none : said === undefined ? more : [said.before, ...more, said.after],
    }
  })
}
