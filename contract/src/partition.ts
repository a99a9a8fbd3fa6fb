// Partitions: which scheduler fires which slice of all jobs.
import Type from 'typebox'
import { textOrNull } from './shapes.ts'

const strict = { additionalProperties: false } as const

export const PartitionList = Type.Object(
  {
    partitions: Type.Array(
      Type.Object(
        {
          partition_id: Type.Integer({ minimum: 0, maximum: 63 }),
          scheduler_id: textOrNull('Who fires its jobs; null: nobody at this moment.'),
        },
        strict,
      ),
      { description: 'All 64, in order.' },
    ),
    schedulers: Type.Array(
      Type.Object(
        {
          scheduler_id: Type.String({ format: 'uuid' }),
          partitions: Type.Integer({ description: 'How many it holds.' }),
        },
        strict,
      ),
    ),
    history_processes: Type.Array(Type.String({ format: 'uuid' }), {
      description:
        'Processes with the role `history` that are alive; none: schedulers fold and prune history.',
    }),
  },
  { ...strict, description: 'Who holds what.' },
)
export type PartitionList = Type.Static<typeof PartitionList>
