// GET /api/v1/partitions: which scheduler fires which slice of all jobs.
import { PartitionList } from '@carillon/contract/partition.ts'
import type { FastifyInstance } from 'fastify'
import type { Partitions, PartitionView } from '../../ports/partitions.ts'
import { noParameters, problemResponses, security } from '../docs/openapi.ts'

export function partitionRoutes(app: FastifyInstance, deps: { partitions: Pick<Partitions, 'view'> }): void {
  app.get(
    '/partitions',
    {
      config: { scope: 'operator' },
      schema: {
        tags: ['operations'],
        security,
        summary: 'The partitions, and which scheduler holds each',
        querystring: noParameters,
        response: { 200: PartitionList, ...problemResponses },
      },
    },
    async (): Promise<PartitionList> => toPartitionList(await deps.partitions.view()),
  )
}

function toPartitionList({ schedulers, holders }: PartitionView): PartitionList {
  return {
    partitions: holders.map((schedulerId, i) => ({ partition_id: i, scheduler_id: schedulerId })),
    schedulers: schedulers.map(({ workerId: schedulerId }) => ({
      scheduler_id: schedulerId,
      partitions: holders.filter((holder) => holder === schedulerId).length,
    })),
  }
}
