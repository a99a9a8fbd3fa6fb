// Operations: long work asked for by one request, with progress, that can be cancelled.

import { BACKFILL_ORDERS, OPERATION_KINDS, OPERATION_STATUSES } from './constants.ts'
import { executionConditions } from './execution.ts'
import { jobConditions } from './job.ts'
import { pageOf, pageParameters } from './pagination.ts'
import {
  anyJson,
  describedObject,
  instant,
  instantGiven,
  instantOrNull,
  oneOf,
  oneOfWithDefault,
  optionalInteger,
  optionalText,
  requestObject,
  strict,
  strictObject,
  textOrNull,
  uuid,
} from './shapes.ts'
import * as Type from './type.ts'

export const BulkRequest = requestObject(
  [{ action: 'pause', filter: { tag: 'reporting' }, reason: 'The warehouse moves' }],
  {
    action: oneOf(['pause', 'resume', 'delete', 'trigger']),
    filter: describedObject('Conditions on jobs. `{}`: all your jobs that are not deleted.', jobConditions),
    reason: optionalText({ maxLength: 1_024, description: 'With `pause`: the reason, shown with the job.' }),
    until: Type.Optional(instantGiven('With `pause`: time of the automatic resume, RFC 3339.')),
    payload_override: Type.Optional(anyJson('With `trigger`: sent instead of the payload of each job.')),
  },
)
export type BulkRequest = Type.Static<typeof BulkRequest>

const { dead_letter: _, ...unendedConditions } = executionConditions

export const CancelManyRequest = requestObject([{ filter: { tag: 'reporting', status: 'PENDING' } }], {
  filter: Type.Object(
    {
      ...unendedConditions,
      status: Type.Optional(oneOf(['WAITING_DEPENDENCIES', 'PENDING', 'RUNNING', 'RETRYING'])),
    },
    {
      ...strict,
      minProperties: 1,
      description: 'Conditions on executions that have not ended. At least one condition.',
    },
  ),
})
export type CancelManyRequest = Type.Static<typeof CancelManyRequest>

const included = (description: string) => instantGiven(`${description} RFC 3339; included.`)

export const BackfillRequest = requestObject([{ from: '2026-01-01T00:00:00Z', to: '2026-01-31T23:59:59Z' }], {
  from: included('Start of the range.'),
  to: included('End of the range, not in the future.'),
  order: Type.Optional(
    oneOfWithDefault(BACKFILL_ORDERS, 'asc', 'asc: the oldest slot first; desc: the latest.'),
  ),
  max_concurrent: optionalInteger({
    minimum: 1,
    maximum: 100,
    default: 1,
    description: 'Maximum number of executions of the backfill at once.',
  }),
})
export type BackfillRequest = Type.Static<typeof BackfillRequest>

export const Operation = describedObject('The operation. Its remaining items may still be done.', {
  operation_id: uuid,
  kind: oneOf(OPERATION_KINDS),
  status: oneOf(OPERATION_STATUSES),
  filter: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'As given; for a backfill, the job and the range.',
  }),
  progress: strictObject({
    total: Type.Integer({ description: 'Number of matches at the start; counting stops at 10,000.' }),
    total_capped: Type.Boolean({ description: 'Whether there may have been more than `total`.' }),
    done: Type.Integer(),
    skipped: Type.Integer({
      description: 'Matches that were left unchanged, such as a completed job in a bulk pause.',
    }),
  }),
  error: textOrNull('The error, if it is FAILED.'),
  created_by: Type.String({ description: 'The name of the API key that started it.' }),
  created_at: instant('Time of the request.'),
  finished_at: instantOrNull('Null while it is RUNNING.'),
})
export type Operation = Type.Static<typeof Operation>

export const OperationListQuery = strictObject(pageParameters)
export type OperationListQuery = Type.Static<typeof OperationListQuery>

export const OperationList = pageOf('A page of the list, newest first.', {
  operations: Type.Array(Operation),
})
export type OperationList = Type.Static<typeof OperationList>
