// GET /dead-letters/clusters: the dead letters by job and kind of error.
import Type from 'typebox'
import { ERROR_TYPES } from './constants.ts'
import { instant, integerOrNull, textOrNull } from './shapes.ts'

const strict = { additionalProperties: false } as const
const uuid = Type.String({ format: 'uuid' })

export const DeadLetterClusterQuery = Type.Object(
  { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })) },
  strict,
)
export type DeadLetterClusterQuery = Type.Static<typeof DeadLetterClusterQuery>

export const DeadLetterCluster = Type.Object(
  {
    job_id: uuid,
    job_name: Type.String(),
    error_type: Type.Unsafe<(typeof ERROR_TYPES)[number] | null>({
      type: ['string', 'null'],
      enum: [...ERROR_TYPES, null],
      description: 'Of the last error; as the next two.',
    }),
    message: textOrNull(
      'Of the newest of them, its first 500 characters. They are grouped by what is left of it without numbers, ids and quoted parts.',
    ),
    http_status: integerOrNull('What the target answered; null: nothing.'),
    count: Type.Integer(),
    count_capped: Type.Boolean({ description: 'There may be more: not all dead letters were looked at.' }),
    oldest_at: instant('When the oldest of them was given up.'),
    newest_at: instant('And the newest.'),
    execution_ids: Type.Array(uuid, { description: 'Newest first, at most 5.' }),
  },
  strict,
)
export type DeadLetterCluster = Type.Static<typeof DeadLetterCluster>

export const DeadLetterClusterList = Type.Object(
  {
    clusters: Type.Array(DeadLetterCluster, { description: 'The largest first.' }),
    complete: Type.Boolean({ description: 'All dead letters were looked at.' }),
  },
  { ...strict, description: 'The clusters.' },
)
export type DeadLetterClusterList = Type.Static<typeof DeadLetterClusterList>
