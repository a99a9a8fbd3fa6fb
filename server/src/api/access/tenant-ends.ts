// The end of tenants: DELETE /api/v1/tenants/{id}, its undo, and the purge. For operators.
import { purgeAfterSecondsDefault, purgeAfterSecondsMax } from '@carillon/contract/constants.ts'
import { TenantEnding, TenantPurgeRequest } from '@carillon/contract/tenant.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import type { WriteStores } from '../../ports/requests.ts'
import type { TenantEndOutcome } from '../../ports/tenant-ends.ts'
import { ApiError } from '../http/api-error.ts'
import { takeNoBody } from '../http/json-body.ts'
import { refuseField } from '../http/problem.ts'
import { noFields } from '../http/route.ts'
import { answerWrite, postRoute, type WriteAnswer, writeRoute } from '../http/write.ts'
import { toOperation } from '../jobs/operation-view.ts'
import { aTenant, toTenant } from './tenant-view.ts'
import type { TenantDeps } from './tenants.ts'

const tag = 'operations'
type TenantParams = { tenant_id: string }
type DeleteQuery = { cancel_running?: boolean; purge_after_seconds?: number }

export function tenantEndRoutes(app: FastifyInstance, deps: TenantDeps): void {
  const { keyCache } = deps
  // After the commit and before the answer: its keys end, or work again, for every client that learns of it.
  const forget = async ({ params }: FastifyRequest<{ Params: TenantParams }>, reply: FastifyReply) => {
    if (reply.statusCode === 202) keyCache.forgetTenant(params.tenant_id.toLowerCase())
  }

  app.delete<{ Params: TenantParams; Querystring: DeleteQuery }>(
    '/tenants/:tenant_id',
    writeRoute(tag, 'operator', 'Delete a tenant', {
      description:
        'Only for operators. From now on nothing of the tenant fires, and its keys and sessions are refused, on other servers within 5 s. Executions that wait are cancelled, running ones continue to their end, and its jobs are paused, step by step in an operation. It can be restored until its purge begins. The tenant `default` cannot be deleted.',
      query: {
        cancel_running: { type: 'boolean', description: 'true: running executions are cancelled too.' },
        purge_after_seconds: {
          type: 'integer',
          minimum: 0,
          maximum: purgeAfterSecondsMax,
          default: purgeAfterSecondsDefault,
          description: 'Seconds until its rows are purged. Default: 7 days.',
        },
      },
      accepted: TenantEnding,
      options: { onSend: forget },
    }),
    async (request, reply) => {
      const { cancel_running: cancelRunning = false } = request.query
      const { purge_after_seconds: seconds = purgeAfterSecondsDefault } = request.query
      const options = { cancelRunning, purgeAfterMs: seconds * 1_000 }
      return answerEnd(deps, request, reply, (stores, order) => {
        if (order.tenantId === defaultTenantId) {
          throw new ApiError('TENANT_IS_DEFAULT', 'The tenant default cannot be deleted.')
        }
        return stores.tenantEnds.delete({ ...order, ...options })
      })
    },
  )

  app.post<{ Params: TenantParams }>(
    '/tenants/:tenant_id/restore',
    postRoute(tag, 'operator', 'Undo the delete of a tenant', {
      description:
        'Only for operators, until the purge begins. Its keys work again, on other servers within 5 s. The jobs that the delete paused are resumed in an operation: slots up to now are skipped, later ones run. Cancelled executions stay cancelled.',
      body: noFields,
      accepted: TenantEnding,
      options: { preValidation: takeNoBody, onSend: forget },
    }),
    async (request, reply) => {
      return answerEnd(deps, request, reply, ({ tenantEnds }, order) => tenantEnds.restore(order))
    },
  )

  app.post<{ Params: TenantParams; Body: TenantPurgeRequest }>(
    '/tenants/:tenant_id/purge',
    postRoute(tag, 'operator', 'Purge a deleted tenant now', {
      description:
        'Only for operators. Deletes everything that the tenant owns, for good, step by step in an operation. Its id, its name and the times of its end stay; its name is free for another tenant.',
      body: TenantPurgeRequest,
      accepted: TenantEnding,
      options: { onSend: forget },
    }),
    async (request, reply) => {
      const { name } = request.body
      return answerEnd(deps, request, reply, async ({ tenants, tenantEnds }, order) => {
        const tenant = await tenants.get(order.tenantId)
        if (tenant !== null && tenant.name !== name)
          throw refuseField('/name', 'is not the name of the tenant')
        return tenantEnds.purge(order)
      })
    },
  )
}

interface EndOrder {
  tenantId: string
  operationId: string
  requestedBy: string
}

function answerEnd(
  deps: TenantDeps,
  request: FastifyRequest<{ Params: TenantParams }>,
  reply: FastifyReply,
  end: (stores: WriteStores, order: EndOrder) => Promise<TenantEndOutcome>,
): Promise<FastifyReply> {
  const tenantId = aTenant.read(request.params.tenant_id)
  const { name: requestedBy } = request.caller
  return answerWrite<TenantEnding>(deps, request as FastifyRequest, reply, async (stores) => {
    const outcome = await end(stores, { tenantId, operationId: deps.ids.next(), requestedBy })
    return toAnswer(tenantId, outcome)
  })
}

function toAnswer(tenantId: string, outcome: TenantEndOutcome): WriteAnswer<TenantEnding> {
  if (outcome === 'not_found') throw aTenant.notFound(tenantId)
  if (outcome === 'not_deleted') {
    throw new ApiError('TENANT_NOT_DELETED', `The tenant ${tenantId} is not deleted.`)
  }
  if (outcome === 'busy') {
    const detail = `The jobs of the tenant ${tenantId} are still being paused or resumed.`
    throw new ApiError('TENANT_BUSY', detail, [], { retryAfterSeconds: 1 })
  }
  if (outcome === 'purging') {
    throw new ApiError('TENANT_PURGED', `The purge of the tenant ${tenantId} has begun.`)
  }
  const { tenant, operation } = outcome
  return {
    status: 202,
    headers: { location: `/api/v1/operations/${operation.operationId}` },
    body: { tenant: toTenant(tenant), operation: toOperation(operation) },
    wake: ['operations'],
  }
}
