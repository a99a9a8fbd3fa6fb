// Dead letters: executions that used up their retries and wait for a person.

import { DEAD_REASONS, ERROR_TYPES } from './constants.ts'
import { includeParameter, pageOf, pageParameters } from './pagination.ts'
import {
  anyJson,
  dayRange,
  describedObject,
  instant,
  instantOrNull,
  integerOrNull,
  oneOf,
  oneOfOrNull,
  optionalInteger,
  requestObject,
  strict,
  strictObject,
  textOrNull,
  uuid,
  uuidGiven,
} from './shapes.ts'
import * as Type from './type.ts'

export const redriveMax = 200
/** Of a redrive by filter, when none is given. */
export const redriveRateDefault = 50

/** Which dead letters; used by the list and by a redrive. */
const conditions = {
  job_id: Type.Optional(uuidGiven('Only dead letters of this job.')),
  reason: Type.Optional(oneOf(DEAD_REASONS)),
  error_type: Type.Optional(oneOf(ERROR_TYPES, 'The type of the last error.')),
  ...dayRange('dlq_timestamp'),
}

export const DeadLetterListQuery = strictObject({ ...conditions, ...includeParameter, ...pageParameters })
export type DeadLetterListQuery = Type.Static<typeof DeadLetterListQuery>

export const DeadLetter = describedObject('The dead letter.', {
  execution_id: uuid,
  job_id: uuid,
  job_name: Type.String(),
  dlq_reason: oneOf(DEAD_REASONS),
  dlq_timestamp: instant('When it became a dead letter.'),
  total_attempts: Type.Integer(),
  error_history: Type.Array(
    strictObject({
      attempt_number: Type.Integer(),
      at: instant('When the attempt ended.'),
      type: oneOfOrNull(ERROR_TYPES),
      message: textOrNull('The error message.'),
      http_status: integerOrNull('HTTP status of the response.'),
    }),
    { description: 'Oldest first.' },
  ),
  payload: Type.Optional(
    anyJson(
      'The payload of the execution, or its edited replacement; absent: no body, or a list that was not asked for payloads.',
    ),
  ),
  edited_at: instantOrNull('When the payload was edited.'),
  auto_redrive_at: instantOrNull('Time of the automatic redrive; null: none.'),
  graph_run_id: textOrNull(
    'The graph run it belonged to; null: none. A redrive does not continue the graph run: resume the run instead.',
  ),
})
export type DeadLetter = Type.Static<typeof DeadLetter>

export const DeadLetterList = pageOf('A page of the list.', {
  dead_letters: Type.Array(DeadLetter),
  oldest_at: instantOrNull('Time of the oldest of all your dead letters; `total` is their number.'),
})
export type DeadLetterList = Type.Static<typeof DeadLetterList>

export const DeadLetterPatch = requestObject([{ payload: { report_type: 'daily_sales' } }], {
  payload: anyJson('The payload for the redrive. At most 256 KB.'),
})
export type DeadLetterPatch = Type.Static<typeof DeadLetterPatch>

/** One schema for both forms, so that an error names the field: which go together is the route's to say. */
export const RedriveRequest = Type.Object(
  {
    execution_ids: Type.Optional(
      Type.Array(uuidGiven('Of a dead letter.'), {
        minItems: 1,
        maxItems: redriveMax,
        description: 'These dead letters. The response comes at once. Not together with `filter`.',
      }),
    ),
    filter: Type.Optional(
      describedObject('All dead letters that match; `{}`: all. The response is an operation.', conditions),
    ),
    rate_per_second: optionalInteger({
      minimum: 1,
      maximum: 1_000,
      default: redriveRateDefault,
      description: 'Redrives a second; only with `filter`.',
    }),
  },
  {
    ...strict,
    minProperties: 1,
    examples: [
      { execution_ids: ['01941f29-7c00-7000-8000-000000000000'] },
      { filter: { error_type: 'CONNECTION_REFUSED' }, rate_per_second: 10 },
    ],
  },
)
export type RedriveRequest = Type.Static<typeof RedriveRequest>

export const RedriveReply = describedObject('The outcome for each id.', {
  redriven: Type.Array(strictObject({ execution_id: uuid, new_execution_id: uuid })),
  not_found: Type.Array(uuid, { description: 'Ids without a dead letter, or whose dead letter is gone.' }),
  job_deleted: Type.Array(uuid, { description: 'Dead letters of deleted jobs; they are not redriven.' }),
})
export type RedriveReply = Type.Static<typeof RedriveReply>
