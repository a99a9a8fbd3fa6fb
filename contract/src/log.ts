// Reading the log of an execution. The lines sent to it and the replies are in worker.ts.

import { optionalInteger, optionalText, strictObject } from './shapes.ts'
import type * as Type from './type.ts'

export const logPageMax = 1_000
export const logPageDefault = 200

export const LogListQuery = strictObject({
  attempt: optionalInteger({
    minimum: 1,
    maximum: 32_767,
    description: 'Only lines of this attempt; left out: of all attempts.',
  }),
  limit: optionalInteger({
    minimum: 1,
    maximum: logPageMax,
    default: logPageDefault,
    description: 'Maximum number of lines.',
  }),
  cursor: optionalText({
    maxLength: 256,
    description: 'The `next_cursor` of the previous response, unchanged.',
  }),
})
export type LogListQuery = Type.Static<typeof LogListQuery>
