// GET /failures: failures, grouped, the most frequent first.

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
import * as Type from './type.ts'

export const FailureQuery = strictObject({
  minutes: optionalInteger({
    minimum: 1,
    maximum: 10_080,
    default: 60,
    description:
      'Length of the period up to now. It is counted in whole blocks of ten minutes, so the first block may begin earlier.',
  }),
  limit: optionalInteger({ minimum: 1, maximum: 200, default: 20 }),
})
export type FailureQuery = Type.Static<typeof FailureQuery>

export const Failure = strictObject({
  job_id: uuid,
  job_name: Type.String({ description: 'The current name of the job.' }),
  error_type: oneOfOrNull(ERROR_TYPES),
  message: Type.String({
    description:
      'The first 500 characters of the latest error message. Failures are grouped by their messages without numbers, ids and quoted parts.',
  }),
  http_status: integerOrNull('HTTP status of the response; null: no response.'),
  count: Type.Integer({ description: 'Number of failed attempts in the group.' }),
  first_seen_at: instant('Time of the earliest counted failure.'),
  last_seen_at: instant('Time of the latest counted failure.'),
  last_execution_id: uuid,
  job_failing: Type.Boolean({
    description: 'Whether the job is FAILING, as `health` of `GET /jobs` has it; if not, it has recovered.',
  }),
})
export type Failure = Type.Static<typeof Failure>

export const FailureList = describedObject('Failed attempts by job and kind of error.', {
  failures: Type.Array(Failure, { description: 'The most frequent first.' }),
})
export type FailureList = Type.Static<typeof FailureList>
