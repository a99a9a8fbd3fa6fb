// Dead letters: executions that used up their retries and wait for a person.
import Type from 'typebox'
import { ERROR_TYPES } from './execution.ts'
import { Pagination, pageParameters } from './pagination.ts'
import { anyJson, instant, integerOrNull, textOrNull, uuidGiven } from './shapes.ts'

export const redriveMax = 200

const strict = { additionalProperties: false } as const
const uuid = Type.String({ format: 'uuid' })

export const DeadLetterListQuery = Type.Object(
  {
    job_id: Type.Optional(uuidGiven('Only of this job.')),
    ...pageParameters,
  },
  strict,
)
export type DeadLetterListQuery = Type.Static<typeof DeadLetterListQuery>

export const DeadLetter = Type.Object(
  {
    execution_id: uuid,
    job_id: uuid,
    job_name: Type.String(),
    dlq_reason: Type.Enum(['MAX_RETRIES_EXCEEDED', 'NOT_RETRYABLE', 'WORKER_LOST'], { type: 'string' }),
    dlq_timestamp: instant('When it was given up.'),
    total_attempts: Type.Integer(),
    error_history: Type.Array(
      Type.Object(
        {
          attempt_number: Type.Integer(),
          at: instant('When the attempt ended.'),
          type: Type.Unsafe<(typeof ERROR_TYPES)[number] | null>({
            type: ['string', 'null'],
            enum: [...ERROR_TYPES, null],
          }),
          message: textOrNull('What went wrong.'),
          http_status: integerOrNull('What the target answered.'),
        },
        strict,
      ),
      { description: 'Oldest first.' },
    ),
    payload: Type.Optional(anyJson('What it was called with; absent: no body.')),
  },
  { ...strict, description: 'The dead letter.' },
)
export type DeadLetter = Type.Static<typeof DeadLetter>

export const DeadLetterList = Type.Object(
  { dead_letters: Type.Array(DeadLetter), pagination: Pagination },
  { ...strict, description: 'A page of the list.' },
)
export type DeadLetterList = Type.Static<typeof DeadLetterList>

export const RedriveRequest = Type.Object(
  { execution_ids: Type.Array(uuidGiven('Of a dead letter.'), { minItems: 1, maxItems: redriveMax }) },
  { ...strict, examples: [{ execution_ids: ['01941f29-7c00-7000-8000-000000000000'] }] },
)
export type RedriveRequest = Type.Static<typeof RedriveRequest>

export const RedriveReply = Type.Object(
  {
    redriven: Type.Array(Type.Object({ execution_id: uuid, new_execution_id: uuid }, strict)),
    not_found: Type.Array(uuid, { description: 'No dead letter has these ids (any more).' }),
  },
  { ...strict, description: 'What was done with each id.' },
)
export type RedriveReply = Type.Static<typeof RedriveReply>
