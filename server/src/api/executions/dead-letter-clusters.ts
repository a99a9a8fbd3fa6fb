// GET /api/v1/dead-letters/clusters: the dead letters by job and kind of error.
import {
  type DeadLetterCluster,
  DeadLetterClusterList,
  DeadLetterClusterQuery,
} from '@carillon/contract/dead-letter-cluster.ts'
import type { FastifyInstance } from 'fastify'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import type { DeadLetters, LetterCluster } from '../../ports/dead-letters.ts'
import { requireDeadLetters } from '../access/tier-limits.ts'
import { route } from '../http/route.ts'

export interface ClusterDeps {
  deadLetters: Pick<DeadLetters, 'clusters'>
}

const limitDefault = 50

export function deadLetterClusterRoutes(app: FastifyInstance, { deadLetters }: ClusterDeps): void {
  app.get<{ Querystring: DeadLetterClusterQuery }>(
    '/dead-letters/clusters',
    route('dead letters', 'read', 'The dead letters by job and kind of error, the largest cluster first', {
      description: 'Computed from the 5,000 newest dead letters.',
      querystring: DeadLetterClusterQuery,
      answer: DeadLetterClusterList,
      options: { preHandler: requireDeadLetters },
    }),
    async ({ tenantId, query }): Promise<DeadLetterClusterList> => {
      const { clusters, complete } = await deadLetters.clusters(tenantId, query.limit ?? limitDefault)
      return { clusters: clusters.map((one) => toCluster(one, complete)), complete }
    },
  )
}

function toCluster(cluster: LetterCluster, complete: boolean): DeadLetterCluster {
  return {
    job_id: cluster.jobId,
    job_name: cluster.jobName,
    error_type: cluster.errorType,
    message: cluster.message,
    http_status: cluster.httpStatus,
    count: cluster.count,
    count_capped: !complete,
    oldest_at: toRfc3339(cluster.oldestAt),
    newest_at: toRfc3339(cluster.newestAt),
    execution_ids: cluster.executionIds,
  }
}
