// Partitions: which scheduler fires which slice of all jobs.

import { describedObject, strictObject, textOrNull, uuid } from './shapes.ts'
import * as Type from './type.ts'

export const PartitionList = describedObject('The partitions and their holders.', {
  partitions: Type.Array(
    strictObject({
      partition_id: Type.Integer({ minimum: 0, maximum: 63 }),
      scheduler_id: textOrNull('The scheduler that holds the partition; null: none at the moment.'),
    }),
    { description: 'All 64, in order.' },
  ),
  schedulers: Type.Array(
    strictObject({
      scheduler_id: uuid,
      partitions: Type.Integer({ description: 'Number of partitions it holds.' }),
    }),
  ),
  history_processes: Type.Array(uuid, {
    description: 'Processes with the role `history` that are alive; none: schedulers fold and prune history.',
  }),
})
export type PartitionList = Type.Static<typeof PartitionList>
