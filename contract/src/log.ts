// Reading the log of an execution. The lines sent to it and the replies are in worker.ts.
import Type from 'typebox'
import { optionalInteger, optionalText } from './shapes.ts'

export const logPageMax = 1_000
export const logPageDefault = 200

export const LogListQuery = Type.Object(
  {
    attempt: optionalInteger({
      minimum: 1,
      maximum: 32_767,
      description: 'Only of this attempt; left out: of all.',
    }),
    limit: optionalInteger({
      minimum: 1,
      maximum: logPageMax,
      default: logPageDefault,
      description: 'Lines, at most.',
    }),
    cursor: optionalText({
      maxLength: 256,
      description: 'The `next_cursor` of the answer before, as it was given.',
    }),
  },
  { additionalProperties: false },
)
export type LogListQuery = Type.Static<typeof LogListQuery>
