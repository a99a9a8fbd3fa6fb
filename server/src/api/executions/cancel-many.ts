// POST /api/v1/executions/cancel: do none of these.
import { CancelManyRequest, Operation } from '@carillon/contract/operation.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { totalMax } from '../../ports/executions.ts'
import type { World } from '../../ports/world.ts'
import { refuseField } from '../http/problem.ts'
import { executionStatusWords, readBodyWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteDeps } from '../http/write.ts'
import { toExecutionFilter } from '../jobs/job-filter.ts'
import { startOperation } from '../jobs/operation-view.ts'

export interface CancelManyDeps extends WriteDeps, Pick<World, 'clock' | 'ids'> {}

export function cancelManyRoutes(app: FastifyInstance, deps: CancelManyDeps): void {
  const { clock, ids } = deps

  app.post<{ Body: CancelManyRequest }>(
    '/executions/cancel',
    postRoute('bulk', 'operate', 'Cancel many executions', {
      description:
        'Cancels all matching executions that have not ended and were created before the request, with the conditions of the search. An operation does it step by step, newest first.',
      body: CancelManyRequest,
      accepted: Operation,
      options: { preValidation: [readBodyWords(CancelManyRequest, executionStatusWords), demandCondition] },
    }),
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const filter = toExecutionFilter(body.filter)
      return answerWrite<Operation>(deps, request, reply, async (stores) => {
        const all = { tenantId, ...filter, deadLetter: null, workerId: null, before: null, limit: totalMax }
        const { executionIds, next } = await stores.control.findUnended(all)
        return startOperation(stores.operations, {
          operationId: ids.next(),
          tenantId,
          kind: 'cancel',
          filter,
          options: {},
          createdBy: caller.name,
          createdAt: clock.databaseNow(),
          total: executionIds.length,
          totalCapped: next !== null,
        })
      })
    },
  )
}

/** An empty filter does not cancel everything that is under way: a client that means that can say so by a status. */
async function demandCondition({ body }: FastifyRequest): Promise<void> {
  const filter = (body as Partial<CancelManyRequest> | null | undefined)?.filter as unknown
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) return
  if (Object.keys(filter).length > 0) return
  throw refuseField('/filter', `needs a condition: ${conditions.join(', ')}`)
}

const conditions = Object.keys(CancelManyRequest.properties.filter.properties)
