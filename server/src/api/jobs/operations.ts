// POST /api/v1/jobs/bulk: the same for many jobs. /api/v1/operations: how far such long work is, and an end to it.
import { BulkRequest, Operation, OperationList, OperationListQuery } from '@carillon/contract/operation.ts'
import type { FastifyInstance } from 'fastify'
import type { OperationOptions } from '../../domain/jobs/operation.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { totalMax } from '../../ports/executions.ts'
import type { Operations } from '../../ports/operations.ts'
import type { World } from '../../ports/world.ts'
import type { Caller } from '../access/auth.ts'
import { checkPayload } from '../access/tier-limits.ts'
import { ApiError } from '../http/api-error.ts'
import { behindLast, limitOf, paginationOf, readIdCursor } from '../http/cursor.ts'
import { takeNoBody } from '../http/json-body.ts'
import { named } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { Refusals } from '../http/refusals.ts'
import { noFields, route } from '../http/route.ts'
import { jobStatusWords, readBodyWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteDeps } from '../http/write.ts'
import { toJobFilter } from './job-filter.ts'
import { startOperation, toOperation } from './operation-view.ts'
import { readUntil } from './pause-until.ts'

export interface OperationDeps extends WriteDeps, Pick<World, 'clock' | 'ids'> {
  operations: Pick<Operations, 'get' | 'list'>
}

const tag = 'bulk'
const anOperation = named('OPERATION_NOT_FOUND', 'operation')

export function operationRoutes(app: FastifyInstance, deps: OperationDeps): void {
  const { clock, ids, operations } = deps

  app.post<{ Body: BulkRequest }>(
    '/jobs/bulk',
    postRoute(tag, 'operate', 'Pause, resume, delete or trigger many jobs', {
      description:
        'Changes all matching jobs that were created before the request, step by step in an operation. `delete` needs the scope write too.',
      body: BulkRequest,
      accepted: Operation,
      options: { preValidation: readBodyWords(BulkRequest, jobStatusWords) },
    }),
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const now = clock.databaseNow()
      const options = optionsOf(body, { caller, now })
      const filter = toJobFilter(body.filter)
      return answerWrite<Operation>(deps, request, reply, async (stores) => {
        const { total, capped } = await stores.jobs.count(tenantId, filter)
        return startOperation(stores.operations, {
          operationId: ids.next(),
          tenantId,
          kind: body.action,
          filter,
          options,
          createdBy: caller.name,
          createdAt: now,
          total: Math.min(total, totalMax),
          totalCapped: capped || total > totalMax,
        })
      })
    },
  )

  app.get<{ Querystring: OperationListQuery }>(
    '/operations',
    route(tag, 'read', 'The operations, newest first', {
      description: 'Operations are kept for 7 days after their end.',
      querystring: OperationListQuery,
      answer: OperationList,
    }),
    async ({ tenantId, query }): Promise<OperationList> => {
      const before = readIdCursor('operations', query)
      const page = await operations.list({ tenantId, before, limit: limitOf(query) })
      const next = behindLast(page, page.operations, (one) => one.operationId)
      return {
        operations: page.operations.map(toOperation),
        pagination: paginationOf('operations', query, { total: page.total, next }),
      }
    },
  )

  app.get<{ Params: { operation_id: string } }>(
    '/operations/:operation_id',
    route(tag, 'read', 'One operation and its progress', { answer: Operation }),
    async ({ tenantId, params }): Promise<Operation> => {
      const operationId = anOperation.read(params.operation_id)
      return toOperation(anOperation.found(await operations.get(tenantId, operationId), operationId))
    },
  )

  app.post<{ Params: { operation_id: string } }>(
    '/operations/:operation_id/cancel',
    postRoute(tag, 'operate', 'Cancel an operation', {
      description:
        'Finished items stay done. An operation that has ended does not change, nor does one that restores a tenant.',
      body: noFields,
      answer: Operation,
      options: { preValidation: takeNoBody },
    }),
    async (request, reply) => {
      const operationId = anOperation.read(request.params.operation_id)
      return answerWrite<Operation>(deps, request, reply, async (stores) => {
        const operation = await stores.operations.cancel(request.tenantId, operationId)
        const { cancelled = [], ...ended } = anOperation.found(operation, operationId)
        return { status: 200, body: toOperation(ended), cancelled }
      })
    },
  )
}

/** A field that belongs to another action is refused rather than ignored. */
function optionsOf(body: BulkRequest, { caller, now }: { caller: Caller; now: EpochMs }): OperationOptions {
  const { action, reason, until, payload_override: payload } = body
  if (action === 'delete' && !caller.scopes.has('write')) {
    throw new ApiError('SCOPE_MISSING', 'The API key lacks the scope write.')
  }
  const refusals = new Refusals()
  for (const name of ['reason', 'until'] as const) {
    if (body[name] !== undefined && action !== 'pause')
      refusals.add(refuseField(`/${name}`, 'is only for pause'))
  }
  if (payload !== undefined && action !== 'trigger')
    refusals.add(refuseField('/payload_override', 'is only for trigger'))
  refusals.throwAny()
  if (payload !== undefined) {
    checkPayload(payload, { pointer: '/payload_override', execution: undefined, tier: caller.tier })
  }
  if (action === 'pause') {
    return { reason: reason ?? null, until: until === undefined ? null : readUntil(until, now) }
  }
  return payload === undefined ? {} : { payloadOverride: payload }
}
