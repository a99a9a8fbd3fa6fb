// GET /failures: failures, grouped, the most frequent first.
import Type from 'typebox'
import { ERROR_TYPES } from './constants.ts'
import { instant, integerOrNull } from './shapes.ts'

const strict = { additionalProperties: false } as const
const uuid = Type.String({ format: 'uuid' })

export const FailureQuery = Type.Object(
  {
    minutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_080,
        default: 60,
        description: 'How far back. Counted in ten minutes each: those of the first ten count whole.',
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 20 })),
  },
  strict,
)
export type FailureQuery = Type.Static<typeof FailureQuery>

export const Failure = Type.Object(
  {
    job_id: uuid,
    job_name: Type.String({ description: 'As it is now.' }),
    error_type: Type.Unsafe<(typeof ERROR_TYPES)[number] | null>({
      type: ['string', 'null'],
      enum: [...ERROR_TYPES, null],
    }),
    message: Type.String({
      description:
        'Of the latest of them, its first 500 characters. They are grouped by what is left of it without numbers, ids and quoted parts.',
    }),
    http_status: integerOrNull('What the target answered; null: nothing.'),
    count: Type.Integer({ description: 'Attempts that failed so.' }),
    first_seen_at: instant('Of those that are counted.'),
    last_seen_at: instant('Of those that are counted.'),
    last_execution_id: uuid,
  },
  strict,
)
export type Failure = Type.Static<typeof Failure>

export const FailureList = Type.Object(
  { failures: Type.Array(Failure, { description: 'The most frequent first.' }) },
  { ...strict, description: 'Attempts that failed, by job and kind of error.' },
)
export type FailureList = Type.Static<typeof FailureList>
