// Pages that end early: items are read one after the other until the next would take the page over its bytes, so that of
// a list of large items only one page is read.
import { type Fragment, fragment } from '../../lib/sql.ts'

export interface BoundedPage {
  /** Selects the `id` of every item that the page may have, and of one more. */
  picked: Fragment
  /** Selects the `bytes` of the item with the id `picked.ids[page.nth + 1]`. */
  item: Fragment
  itemsMax: Fragment
  bytesMax: Fragment
  /** Of the rows of `picked`, named `one`. Default: the largest id first. */
  order?: Fragment | undefined
}

/**
 * The CTEs of a statement on a page. The statement reads its rows by `pageIds`, and says by
 * `pickedCount` whether there are more.
 */
export const boundedPage = ({
  picked,
  item,
  itemsMax,
  bytesMax,
  order = fragment`one.id DESC`,
}: BoundedPage): Fragment => fragment`
  WITH RECURSIVE picked AS MATERIALIZED (
    SELECT array_agg(one.id ORDER BY ${order}) AS ids FROM (${picked}) one
  ), page AS (
    SELECT 0 AS nth, 0::bigint AS bytes
    UNION ALL
    SELECT page.nth + 1, page.bytes + item.bytes
    FROM page
    CROSS JOIN picked
    CROSS JOIN LATERAL (${item} LIMIT 1) item
    WHERE page.nth < ${itemsMax} AND (page.nth = 0 OR page.bytes + item.bytes <= ${bytesMax})
  )`

/** Each id of the page, in order. */
export const pageIds = fragment`
  (SELECT page.nth, picked.ids[page.nth] AS id FROM page CROSS JOIN picked WHERE page.nth > 0) listed`

/** How many were picked: more than the rows of the page if it is not the last. */
export const pickedCount = fragment`(SELECT cardinality(picked.ids) FROM picked)`

/** Of the items of the page. */
export const pageBytes = fragment`(SELECT max(page.bytes) FROM page)`
