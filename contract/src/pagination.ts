// Pages of a list: an opaque cursor leads to the next one.

import { describedObject, oneOf, optionalInteger, optionalText, strictObject, textOrNull } from './shapes.ts'
import * as Type from './type.ts'

export const pageLimitMax = 200
export const pageLimitDefault = 50

/** The parameters of every list. */
export const pageParameters = {
  limit: optionalInteger({
    minimum: 1,
    maximum: pageLimitMax,
    default: pageLimitDefault,
    description: 'Maximum number of items in a page.',
  }),
  cursor: optionalText({
    maxLength: 256,
    description: 'The `next_cursor` of the previous page, unchanged.',
  }),
}

/** The large fields that a list leaves out unless they are asked for. */
export const INCLUDES = ['payload'] as const

/** The parameter of every list with items that have a payload. */
export const includeParameter = {
  include: Type.Optional(
    oneOf(
      INCLUDES,
      'payload: the items carry their payloads, and a page ends early at 2 MiB, with a `next_cursor`. Left out: no item carries its payload; a single object always does.',
    ),
  ),
}

/** Pages reach so many items; beyond them a cursor leads on. */
export const pagedItemsMax = 10_000

export const pageNumber = {
  page: optionalInteger({
    minimum: 1,
    maximum: pagedItemsMax,
    description:
      'The number of the page, from 1; `page` times `limit` is at most 10,000. Not with `cursor` or `include`.',
  }),
}

export const Pagination = strictObject({
  limit: Type.Integer(),
  page: optionalInteger({ description: 'As requested.' }),
  total: Type.Integer({ description: 'Number of items; counting stops at 10,000.' }),
  total_capped: Type.Boolean({ description: 'Whether there may be more than `total`.' }),
  next_cursor: textOrNull(
    'Cursor of the next page; null on the last page. A page has at most 2 MiB, so it may be short without being the last; a page of a search may even be empty.',
  ),
})
export type Pagination = Type.Static<typeof Pagination>

/** A page of a list: its items under their name, and further fields. */
export const pageOf = <Fields extends Type.TProperties>(description: string, fields: Fields) =>
  describedObject(description, { ...fields, pagination: Pagination })
