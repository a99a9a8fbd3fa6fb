// Shows a list: its pages joined, as a table or as JSON, and how to see more of it.
import type { Context } from './context.ts'
import { moreOf, type Page, type PageQuery, readLimit, readPages } from './pages.ts'
import { present } from './present.ts'
import type { ColumnOf } from './table.ts'

export interface Listing<Name extends string, Item, Reply extends Page<Name, Item>> {
  /** The name of the items, in the replies and in our JSON. */
  name: Name
  list: (query: PageQuery) => { page(): Promise<Reply> }
  columns: readonly ColumnOf<Item>[]
  /** Said when there are none. */
  none: readonly string[]
  /** Further fields of the JSON, from the first page. */
  facts?: (first: Reply) => object
  /** Further lines for people, before and after the hint that the list goes on. */
  remarks?: (first: Reply, nowMs: number) => { before: string; after: string }
}

export function presentList<Name extends string, Item, Reply extends Page<Name, Item>>(
  context: Context,
  { name, list, columns, none, facts, remarks }: Listing<Name, Item, Reply>,
): Promise<undefined> {
  const { out, values } = context
  const limit = readLimit(values)
  return present(context, async () => {
    const { items, first, pagination } = await readPages<Name, Item, Reply>(
      name,
      limit,
      values.text('cursor'),
      list,
    )
    const nowMs = Date.now()
    const more = moreOf(items.length, pagination)
    const said = remarks?.(first, nowMs)
    return {
      json: { [name]: items, ...facts?.(first), pagination },
      text: () => (items.length === 0 ? '' : out.table(columns, items, nowMs)),
      say: items.length === 0 ? none : said === undefined ? more : [said.before, ...more, said.after],
    }
  })
}
