// GET /late: slots that began late, were skipped, or still wait.
import Type from 'typebox'
import { instant, integerOrNull, textOrNull } from './shapes.ts'

export const LATE_KINDS = ['late', 'skipped', 'waiting'] as const

const strict = { additionalProperties: false } as const
const uuid = Type.String({ format: 'uuid' })

export const LateQuery = Type.Object(
  {
    minutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_080,
        default: 60,
        description:
          'Those that were scheduled so long ago, at most; what waits is shown whenever it was due.',
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
  },
  strict,
)
export type LateQuery = Type.Static<typeof LateQuery>

export const LateItem = Type.Object(
  {
    job_id: uuid,
    job_name: Type.String({ description: 'As it is now.' }),
    scheduled_time: instant('The slot, or when it was triggered; of several that were skipped the latest.'),
    kind: Type.Enum([...LATE_KINDS], {
      type: 'string',
      description:
        'late: it began more than 5 s after it was due. skipped: by a misfire or an overlap. waiting: it has been due for more than 5 s and has not begun.',
    }),
    late_ms: integerOrNull('How late it began, or for how long it has waited; null: it was skipped.'),
    reason: textOrNull('Why it was skipped: overlap or misfire; null: it was not.'),
    slot_count: Type.Integer({
      description: 'Slots that were skipped one after the other, up to this one; otherwise 1.',
    }),
    execution_id: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'uuid',
      description: 'null: it was skipped.',
    }),
  },
  strict,
)
export type LateItem = Type.Static<typeof LateItem>

export const LateList = Type.Object(
  { late: Type.Array(LateItem, { description: 'The latest slot first.' }) },
  {
    ...strict,
    description: 'What was not on time. Of very many the latest of each hour are kept, for 7 days.',
  },
)
export type LateList = Type.Static<typeof LateList>
