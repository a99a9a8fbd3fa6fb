// GET /api/v1/workers: who runs attempts.
import { WorkerList } from '@carillon/contract/worker.ts'
import type { FastifyInstance } from 'fastify'
import type { WorkerView } from '../../domain/worker.ts'
import { toRfc3339 } from '../../lib/epoch.ts'
import type { Workers } from '../../ports/workers.ts'
import { noParameters, problemResponses, security } from '../openapi.ts'

export function workerRoutes(app: FastifyInstance, deps: { workers: Workers }): void {
  app.get(
    '/workers',
    {
      config: { scope: 'operator' },
      schema: {
        tags: ['operations'],
        summary: 'The workers, oldest registration first',
        security,
        querystring: noParameters,
        response: { 200: WorkerList, ...problemResponses },
      },
    },
    async (): Promise<WorkerList> => ({ workers: (await deps.workers.list()).map(toItem) }),
  )
}

function toItem(worker: WorkerView): WorkerList['workers'][number] {
  return {
    worker_id: worker.workerId,
    host: worker.host,
    version: worker.version,
    labels: [...worker.labels],
    status: worker.status,
    capacity: worker.capacity,
    current_load: worker.currentLoad,
    registered_at: toRfc3339(worker.registeredAt),
    last_heartbeat: toRfc3339(worker.beatAt),
  }
}
