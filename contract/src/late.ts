// GET /late: slots that began late, were skipped, or still wait.
import Type from 'typebox'
import {
  describedObject,
  idOrNull,
  instant,
  integerOrNull,
  oneOf,
  optionalInteger,
  strictObject,
  textOrNull,
  uuid,
} from './shapes.ts'

export const LATE_KINDS = ['late', 'skipped', 'waiting'] as const

export const LateQuery = strictObject({
  minutes: optionalInteger({
    minimum: 1,
    maximum: 10_080,
    default: 60,
    description: 'Those that were scheduled so long ago, at most; what waits is shown whenever it was due.',
  }),
  limit: optionalInteger({ minimum: 1, maximum: 200, default: 50 }),
})
export type LateQuery = Type.Static<typeof LateQuery>

export const LateItem = strictObject({
  job_id: uuid,
  job_name: Type.String({ description: 'As it is now.' }),
  scheduled_time: instant('The slot, or when it was triggered; of several that were skipped the latest.'),
  kind: oneOf(
    LATE_KINDS,
    'late: it began more than 5 s after it was due. skipped: by a misfire or an overlap. waiting: it has been due for more than 5 s and has not begun.',
  ),
  late_ms: integerOrNull('How late it began, or for how long it has waited; null: it was skipped.'),
  reason: textOrNull('Why it was skipped: overlap or misfire; null: it was not.'),
  slot_count: Type.Integer({
    description: 'Slots that were skipped one after the other, up to this one; otherwise 1.',
  }),
  execution_id: idOrNull('null: it was skipped.'),
})
export type LateItem = Type.Static<typeof LateItem>

export const LateList = describedObject(
  'What was not on time. Of very many the latest of each hour are kept, for 7 days.',
  { late: Type.Array(LateItem, { description: 'The latest slot first.' }) },
)
export type LateList = Type.Static<typeof LateList>
