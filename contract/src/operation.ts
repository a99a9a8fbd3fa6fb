// Operations: long work asked for by one request, with progress, that can be cancelled.
import Type from 'typebox'
import { BACKFILL_ORDERS, OPERATION_KINDS, OPERATION_STATUSES } from './constants.ts'
import { executionConditions } from './execution.ts'
import { jobConditions } from './job.ts'
import { Pagination, pageParameters } from './pagination.ts'
import {
  anyJson,
  describedObject,
  instant,
  instantOrNull,
  oneOf,
  optionalInteger,
  optionalText,
  strict,
  strictObject,
  textOrNull,
  uuid,
} from './shapes.ts'

export const BulkRequest = Type.Object(
  {
    action: oneOf(['pause', 'resume', 'delete', 'trigger']),
    filter: describedObject('Which jobs. `{}`: all of yours that are not deleted.', jobConditions),
    reason: optionalText({ maxLength: 1_024, description: 'With `pause`: for those who wonder later.' }),
    until: optionalText({
      minLength: 20,
      maxLength: 40,
      description: 'With `pause`: when they resume. RFC 3339.',
    }),
    payload_override: Type.Optional(anyJson('With `trigger`: sent instead of the payload of each job.')),
  },
  { ...strict, examples: [{ action: 'pause', filter: { tag: 'reporting' }, reason: 'The warehouse moves' }] },
)
export type BulkRequest = Type.Static<typeof BulkRequest>

const { dead_letter: _, ...unendedConditions } = executionConditions

export const CancelManyRequest = Type.Object(
  {
    filter: Type.Object(
      {
        ...unendedConditions,
        status: Type.Optional(oneOf(['WAITING_DEPENDENCIES', 'PENDING', 'RUNNING', 'RETRYING'])),
      },
      {
        ...strict,
        minProperties: 1,
        description: 'Which executions, of those that have not ended. At least one condition.',
      },
    ),
  },
  { ...strict, examples: [{ filter: { tag: 'reporting', status: 'PENDING' } }] },
)
export type CancelManyRequest = Type.Static<typeof CancelManyRequest>

const included = (description: string) =>
  Type.String({ minLength: 20, maxLength: 40, description: `${description} RFC 3339; included.` })

export const BackfillRequest = Type.Object(
  {
    from: included('The beginning of the range.'),
    to: included('The end of the range, not in the future.'),
    order: Type.Optional(
      Type.Enum([...BACKFILL_ORDERS], {
        type: 'string',
        default: 'asc',
        description: 'asc: the oldest slot first; desc: the latest.',
      }),
    ),
    max_concurrent: optionalInteger({
      minimum: 1,
      maximum: 100,
      default: 1,
      description: 'How many of its executions may be under way at once.',
    }),
  },
  { ...strict, examples: [{ from: '2026-01-01T00:00:00Z', to: '2026-01-31T23:59:59Z' }] },
)
export type BackfillRequest = Type.Static<typeof BackfillRequest>

export const Operation = describedObject('The operation. What is not listed as done may still come.', {
  operation_id: uuid,
  kind: oneOf(OPERATION_KINDS),
  status: oneOf(OPERATION_STATUSES),
  filter: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'As given; of a backfill the job and the range.',
  }),
  progress: strictObject({
    total: Type.Integer({ description: 'How many matched when it began; at most 10,000 are counted.' }),
    total_capped: Type.Boolean({ description: 'There were at least `total`, and perhaps more.' }),
    done: Type.Integer(),
    skipped: Type.Integer({
      description: 'Looked at and left alone, such as a completed job that was to be paused.',
    }),
  }),
  error: textOrNull('Why it FAILED.'),
  created_by: Type.String({ description: 'Whose key it was.' }),
  created_at: instant('When it was asked for.'),
  finished_at: instantOrNull('Null while it is RUNNING.'),
})
export type Operation = Type.Static<typeof Operation>

export const OperationListQuery = strictObject(pageParameters)
export type OperationListQuery = Type.Static<typeof OperationListQuery>

export const OperationList = describedObject('A page of the list, newest first.', {
  operations: Type.Array(Operation),
  pagination: Pagination,
})
export type OperationList = Type.Static<typeof OperationList>
