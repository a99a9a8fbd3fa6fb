// GET /failures: failures, grouped, the most frequent first.
import Type from 'typebox'
import { ERROR_TYPES } from './constants.ts'
import {
  describedObject,
  instant,
  integerOrNull,
  oneOfOrNull,
  optionalInteger,
  strictObject,
  uuid,
} from './shapes.ts'

export const FailureQuery = strictObject({
  minutes: optionalInteger({
    minimum: 1,
    maximum: 10_080,
    default: 60,
    description: 'How far back. Counted in ten minutes each: those of the first ten count whole.',
  }),
  limit: optionalInteger({ minimum: 1, maximum: 200, default: 20 }),
})
export type FailureQuery = Type.Static<typeof FailureQuery>

export const Failure = strictObject({
  job_id: uuid,
  job_name: Type.String({ description: 'As it is now.' }),
  error_type: oneOfOrNull(ERROR_TYPES),
  message: Type.String({
    description:
      'Of the latest of them, its first 500 characters. They are grouped by what is left of it without numbers, ids and quoted parts.',
  }),
  http_status: integerOrNull('What the target answered; null: nothing.'),
  count: Type.Integer({ description: 'Attempts that failed so.' }),
  first_seen_at: instant('Of those that are counted.'),
  last_seen_at: instant('Of those that are counted.'),
  last_execution_id: uuid,
})
export type Failure = Type.Static<typeof Failure>

export const FailureList = describedObject('Attempts that failed, by job and kind of error.', {
  failures: Type.Array(Failure, { description: 'The most frequent first.' }),
})
export type FailureList = Type.Static<typeof FailureList>
