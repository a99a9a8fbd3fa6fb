// Pages of a list: an opaque cursor leads to the next one.
import Type from 'typebox'
import { optionalInteger, optionalText, textOrNull } from './shapes.ts'

export const pageLimitMax = 200
export const pageLimitDefault = 50

/** The parameters of every list. */
export const pageParameters = {
  limit: optionalInteger({
    minimum: 1,
    maximum: pageLimitMax,
    default: pageLimitDefault,
    description: 'Items of a page, at most.',
  }),
  cursor: optionalText({
    maxLength: 256,
    description: 'The `next_cursor` of the page before, as it was given.',
  }),
}

/** Pages reach so many items; beyond them a cursor leads on. */
export const pagedItemsMax = 10_000

export const pageNumber = {
  page: optionalInteger({
    minimum: 1,
    maximum: pagedItemsMax,
    description: 'The number of the page, from 1; `page` times `limit` is at most 10,000. Not with `cursor`.',
  }),
}

export const Pagination = Type.Object(
  {
    limit: Type.Integer(),
    page: optionalInteger({ description: 'As asked for.' }),
    total: Type.Integer({ description: 'How many items there are; at most 10,000 are counted.' }),
    total_capped: Type.Boolean({ description: 'There are at least `total`, and perhaps more.' }),
    next_cursor: textOrNull(
      'Leads to the next page; null on the last one. A search may answer a short page, even an empty one, that is not the last.',
    ),
  },
  { additionalProperties: false },
)
export type Pagination = Type.Static<typeof Pagination>
