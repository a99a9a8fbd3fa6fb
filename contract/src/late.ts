// GET /late: slots that began late, were skipped, or still wait.

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
import * as Type from './type.ts'

export const LATE_KINDS = ['late', 'skipped', 'waiting'] as const

export const LateQuery = strictObject({
  minutes: optionalInteger({
    minimum: 1,
    maximum: 10_080,
    default: 60,
    description: 'Maximum age of the scheduled time. Waiting executions are listed regardless of it.',
  }),
  limit: optionalInteger({ minimum: 1, maximum: 200, default: 50 }),
})
export type LateQuery = Type.Static<typeof LateQuery>

export const LateItem = strictObject({
  job_id: uuid,
  job_name: Type.String({ description: 'The current name of the job.' }),
  scheduled_time: instant('The slot, or the time of the trigger; for several skipped slots, the latest.'),
  kind: oneOf(
    LATE_KINDS,
    'late: it started more than 5 s after its due time. skipped: because of a misfire or an overlap. waiting: it has been due for more than 5 s and has not started.',
  ),
  late_ms: integerOrNull('Its delay, or its waiting time so far; null: it was skipped.'),
  reason: textOrNull('The reason of a skip: overlap or misfire; null: not skipped.'),
  slot_count: Type.Integer({
    description: 'Number of consecutive skipped slots up to this one; otherwise 1.',
  }),
  execution_id: idOrNull('null: it was skipped.'),
})
export type LateItem = Type.Static<typeof LateItem>

export const LateList = describedObject(
  'Executions and slots that were not on time. They are kept for 7 days; of a very large number, only the latest of each hour.',
  { late: Type.Array(LateItem, { description: 'The latest slot first.' }) },
)
export type LateList = Type.Static<typeof LateList>
