// POST /api/v1/jobs/bulk: the same for many jobs. /api/v1/operations: how far such long work is, and an end to it.
import { BulkRequest, Operation, OperationList, OperationListQuery } from '@carillon/contract/operation.ts'
import type { FastifyInstance } from 'fastify'
import type { OperationOptions } from '../../domain/jobs/operation.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { Clock } from '../../ports/clock.ts'
import { totalMax } from '../../ports/executions.ts'
import type { Ids } from '../../ports/ids.ts'
import type { Operations } from '../../ports/operations.ts'
import type { Caller } from '../access/auth.ts'
import { checkPayload } from '../access/tier-limits.ts'
import { noFields, noParameters, problemResponses, security } from '../docs/openapi.ts'
import { ApiError } from '../http/api-error.ts'
import { cursorBehind, limitOf, paginationOf, readIdCursor } from '../http/cursor.ts'
import { takeNoBody } from '../http/json-body.ts'
import { readId } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { answerWrite, inDryRun, type WriteDeps, writeHeaders, writeQuery } from '../http/write.ts'
import { toJobFilter } from './job-filter.ts'
import { startOperation, toOperation } from './operation-view.ts'
import { readUntil } from './pause-until.ts'

export interface OperationDeps extends WriteDeps {
  clock: Clock
  ids: Ids
  operations: Pick<Operations, 'get' | 'list'>
}

const tags = ['bulk']

export function operationRoutes(app: FastifyInstance, deps: OperationDeps): void {
  const { clock, ids, operations } = deps

  app.post<{ Body: BulkRequest }>(
    '/jobs/bulk',
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        security,
        summary: 'Pause, resume, delete or trigger many jobs',
        description:
          'All jobs that match and were created before. An operation does it step by step. `delete` needs the scope write too.',
        headers: writeHeaders,
        querystring: writeQuery(),
        body: BulkRequest,
        response: { 200: inDryRun(Operation), 202: Operation, ...problemResponses },
      },
    },
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
    {
      config: { scope: 'read' },
      schema: {
        tags,
        security,
        summary: 'The operations, newest first',
        description: 'They are kept for 7 days after their end.',
        querystring: OperationListQuery,
        response: { 200: OperationList, ...problemResponses },
      },
    },
    async ({ tenantId, query }): Promise<OperationList> => {
      const limit = limitOf(query)
      const page = await operations.list({ tenantId, before: readIdCursor('operations', query), limit })
      const nextCursor = cursorBehind('operations', page.more, page.operations.at(-1)?.operationId)
      return {
        operations: page.operations.map(toOperation),
        pagination: paginationOf({ limit, total: page.total, nextCursor }),
      }
    },
  )

  app.get<{ Params: { operation_id: string } }>(
    '/operations/:operation_id',
    {
      config: { scope: 'read' },
      schema: {
        tags,
        security,
        summary: 'One operation, and how far it is',
        querystring: noParameters,
        response: { 200: Operation, ...problemResponses },
      },
    },
    async ({ tenantId, params }): Promise<Operation> => {
      const operationId = readId(params.operation_id)
      const operation = operationId === null ? null : await operations.get(tenantId, operationId)
      if (operation === null) throw notFound(params.operation_id)
      return toOperation(operation)
    },
  )

  app.post<{ Params: { operation_id: string } }>(
    '/operations/:operation_id/cancel',
    {
      config: { scope: 'operate' },
      preValidation: takeNoBody,
      schema: {
        tags,
        security,
        summary: 'Cancel an operation',
        description: 'What is done stays done. One that is over stays as it is.',
        headers: writeHeaders,
        querystring: writeQuery(),
        body: noFields,
        response: { 200: Operation, ...problemResponses },
      },
    },
    async (request, reply) => {
      const operationId = readId(request.params.operation_id)
      if (operationId === null) throw notFound(request.params.operation_id)
      return answerWrite<Operation>(deps, request, reply, async (stores) => {
        const operation = await stores.operations.cancel(request.tenantId, operationId)
        if (operation === null) throw notFound(operationId)
        return { status: 200, body: toOperation(operation) }
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
  for (const name of ['reason', 'until'] as const) {
    if (body[name] !== undefined && action !== 'pause') throw refuseField(`/${name}`, 'is only for pause')
  }
  if (payload !== undefined && action !== 'trigger')
    throw refuseField('/payload_override', 'is only for trigger')
  if (payload !== undefined) {
    checkPayload(payload, { pointer: '/payload_override', execution: undefined, tier: caller.tier })
  }
  if (action === 'pause') {
    return { reason: reason ?? null, until: until === undefined ? null : readUntil(until, now) }
  }
  return payload === undefined ? {} : { payloadOverride: payload }
}

function notFound(given: string): ApiError {
  return new ApiError('OPERATION_NOT_FOUND', `There is no operation ${given.slice(0, 64)}.`)
}
