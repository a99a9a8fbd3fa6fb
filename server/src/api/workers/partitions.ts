// GET /api/v1/partitions: which scheduler fires which slice of all jobs.
import { PartitionList } from '@carillon/contract/partition.ts'
import type { FastifyInstance } from 'fastify'
import { historyTermMs } from '../../domain/history/history-process.ts'
import type { RowSecurityOff } from '../../domain/tenants/row-security.ts'
import type { Gauges } from '../../ports/gauges.ts'
import type { HistoryProcesses } from '../../ports/history-processes.ts'
import type { Partitions, PartitionView } from '../../ports/partitions.ts'
import { route } from '../http/route.ts'

export interface PartitionDeps {
  partitions: Pick<Partitions, 'view'>
  historyProcesses: Pick<HistoryProcesses, 'list'>
  rowSecurityOff: RowSecurityOff | null
  gauges: Pick<Gauges, 'connections'>
  /** Of all processes of this start, when their pools are full. */
  connectionsWanted: number
}

export function partitionRoutes(app: FastifyInstance, deps: PartitionDeps): void {
  const { partitions, historyProcesses, rowSecurityOff, gauges, connectionsWanted: wanted } = deps
  app.get(
    '/partitions',
    route(
      'operations',
      'operator',
      'The partitions, which scheduler holds each, the processes with the role history, and the database connections',
      { answer: PartitionList },
    ),
    async (): Promise<PartitionList> => {
      const { most, inUse } = await gauges.connections()
      return {
        ...toPartitionList(await partitions.view()),
        history_processes: await historyProcesses.list(historyTermMs),
        row_security: {
          active: rowSecurityOff === null,
          reason: rowSecurityOff?.reason ?? null,
          remedy: rowSecurityOff?.remedy ?? null,
        },
        database_connections: { most, in_use: inUse, wanted },
      }
    },
  )
}

function toPartitionList({
  schedulers,
  holders,
}: PartitionView): Pick<PartitionList, 'partitions' | 'schedulers'> {
  return {
    partitions: holders.map((schedulerId, i) => ({ partition_id: i, scheduler_id: schedulerId })),
    schedulers: schedulers.map(({ holderId: schedulerId }) => ({
      scheduler_id: schedulerId,
      partitions: holders.filter((holder) => holder === schedulerId).length,
    })),
  }
}
