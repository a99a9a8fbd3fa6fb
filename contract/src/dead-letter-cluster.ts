// GET /dead-letters/clusters: the dead letters by job and kind of error.
import Type from 'typebox'
import { ERROR_TYPES } from './constants.ts'
import {
  describedObject,
  instant,
  integerOrNull,
  oneOfOrNull,
  optionalInteger,
  strictObject,
  textOrNull,
  uuid,
} from './shapes.ts'

export const DeadLetterClusterQuery = strictObject({
  limit: optionalInteger({ minimum: 1, maximum: 200, default: 50 }),
})
export type DeadLetterClusterQuery = Type.Static<typeof DeadLetterClusterQuery>

export const DeadLetterCluster = strictObject({
  job_id: uuid,
  job_name: Type.String(),
  error_type: oneOfOrNull(ERROR_TYPES, 'Of the last error; as the next two.'),
  message: textOrNull(
    'Of the newest of them, its first 500 characters. They are grouped by what is left of it without numbers, ids and quoted parts.',
  ),
  http_status: integerOrNull('What the target answered; null: nothing.'),
  count: Type.Integer(),
  count_capped: Type.Boolean({ description: 'There may be more: not all dead letters were looked at.' }),
  oldest_at: instant('When the oldest of them was given up.'),
  newest_at: instant('And the newest.'),
  execution_ids: Type.Array(uuid, { description: 'Newest first, at most 5.' }),
})
export type DeadLetterCluster = Type.Static<typeof DeadLetterCluster>

export const DeadLetterClusterList = describedObject('The clusters.', {
  clusters: Type.Array(DeadLetterCluster, { description: 'The largest first.' }),
  complete: Type.Boolean({ description: 'All dead letters were looked at.' }),
})
export type DeadLetterClusterList = Type.Static<typeof DeadLetterClusterList>
