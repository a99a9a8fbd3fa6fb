// Workers, as GET /api/v1/workers lists them.
import Type from 'typebox'

export const WorkerItem = Type.Object(
  {
    worker_id: Type.String({ format: 'uuid' }),
    host: Type.String(),
    version: Type.String(),
    labels: Type.Array(Type.String()),
    status: Type.Enum(['ACTIVE', 'DRAINING', 'DEAD'], {
      type: 'string',
      description: 'DEAD: no beat for 10 s.',
    }),
    capacity: Type.Integer({ description: 'Executions it runs at once, at most.' }),
    current_load: Type.Integer(),
    registered_at: Type.String({ format: 'date-time' }),
    last_heartbeat: Type.String({ format: 'date-time' }),
  },
  { additionalProperties: false },
)

export const WorkerList = Type.Object({ workers: Type.Array(WorkerItem) }, { additionalProperties: false })
export type WorkerList = Type.Static<typeof WorkerList>
