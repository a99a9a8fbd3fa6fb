// Partitions: which scheduler fires which slice of all jobs; beside them the database connections that operators look at.

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
  row_security: strictObject({
    active: Type.Boolean({
      description:
        'Whether row-level security of PostgreSQL holds for the reads of the API server that answers.',
    }),
    reason: textOrNull('Why not.'),
    remedy: textOrNull('The SQL with which an administrator of the database turns it on; then restart.'),
  }),
  database_connections: strictObject({
    most: Type.Integer({ description: 'Connections that the database accepts from its ordinary users.' }),
    in_use: Type.Integer({ description: 'Connections that all clients of the database have now.' }),
    wanted: Type.Integer({
      description:
        'Connections that the processes of the answering start open when all their pools are full.',
    }),
  }),
})
export type PartitionList = Type.Static<typeof PartitionList>
