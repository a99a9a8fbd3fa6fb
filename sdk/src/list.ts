// A list of the API: all its items with `for await`, or one page.
import type { Pagination } from '#contract/pagination.ts'

export interface List<Item, Page> extends AsyncIterable<Item> {
  /** One page as the API answers it: from the `cursor` of the query, at most its `limit`. */
  page(): Promise<Page>
}

export function createList<Item, Page extends { pagination: Pagination }>(
  read: (cursor: string | undefined) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): List<Item, Page> {
  return {
    page: () => read(undefined),
    async *[Symbol.asyncIterator]() {
      let cursor: string | undefined
      for (;;) {
        const page = await read(cursor)
        yield* itemsOf(page)
        const next = page.pagination.next_cursor
        if (next === null) return
        // Each page leads further; without this a wrong answer would loop for ever.
        if (next === cursor) throw new Error('The server answered with the cursor that it was asked for.')
        cursor = next
      }
    },
  }
}
