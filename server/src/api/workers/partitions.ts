// GET /api/v1/partitions: which scheduler fires which slice of all jobs.
import { PartitionList } from '@carillon/contract/partition.ts'
import type { FastifyInstance } from 'fastify'
import { historyTermMs } from '../../domain/history/history-process.ts'
import type { HistoryProcesses } from '../../ports/history-processes.ts'
import type { Partitions, PartitionView } from '../../ports/partitions.ts'
import { route } from '../http/route.ts'

export interface PartitionDeps {
  partitions: Pick<Partitions, 'view'>
  historyProcesses: Pick<HistoryProcesses, 'list'>
}

export function partitionRoutes(app: FastifyInstance, { partitions, historyProcesses }: PartitionDeps): void {
  app.get(
    '/partitions',
    route(
      'operations',
      'operator',
      'The partitions, which scheduler holds each, and the processes with the role history',
      { answer: PartitionList },
    ),
    async (): Promise<PartitionList> =>
      toPartitionList(await partitions.view(), await historyProcesses.list(historyTermMs)),
  )
}

function toPartitionList({ schedulers, holders }: PartitionView, historyProcesses: string[]): PartitionList {
  return {
    partitions: holders.map((schedulerId, i) => ({ partition_id: i, scheduler_id: schedulerId })),
    schedulers: schedulers.map(({ workerId: schedulerId }) => ({
      scheduler_id: schedulerId,
      partitions: holders.filter((holder) => holder === schedulerId).length,
    })),
    history_processes: historyProcesses,
  }
}
