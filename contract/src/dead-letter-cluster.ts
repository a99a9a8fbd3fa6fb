// GET /dead-letters/clusters: the dead letters by job and kind of error.

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
import * as Type from './type.ts'

export const DeadLetterClusterQuery = strictObject({
  limit: optionalInteger({ minimum: 1, maximum: 200, default: 50 }),
})
export type DeadLetterClusterQuery = Type.Static<typeof DeadLetterClusterQuery>

export const DeadLetterCluster = strictObject({
  job_id: uuid,
  job_name: Type.String(),
  error_type: oneOfOrNull(ERROR_TYPES, 'The type of the last error.'),
  message: textOrNull(
    'The first 500 characters of the error message of the newest dead letter. Dead letters are grouped by their messages without numbers, ids and quoted parts.',
  ),
  http_status: integerOrNull('HTTP status of the response; null: no response.'),
  count: Type.Integer(),
  count_capped: Type.Boolean({ description: 'Not all dead letters were examined, so there may be more.' }),
  oldest_at: instant('Time of the oldest dead letter of the cluster.'),
  newest_at: instant('Time of the newest dead letter of the cluster.'),
  execution_ids: Type.Array(uuid, { description: 'Newest first, at most 5.' }),
})
export type DeadLetterCluster = Type.Static<typeof DeadLetterCluster>

export const DeadLetterClusterList = describedObject('The clusters.', {
  clusters: Type.Array(DeadLetterCluster, { description: 'The largest first.' }),
  complete: Type.Boolean({ description: 'Whether all dead letters were examined.' }),
})
export type DeadLetterClusterList = Type.Static<typeof DeadLetterClusterList>
