// Requests about a deleted tenant. Its own keys are refused; operators may look at it, restore and purge it.
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../http/api-error.ts'

/** Only operators get as far. Routes for operators are about the installation, or name the tenant themselves. */
export function refuseDeletedTenant({ method, caller, routeOptions }: FastifyRequest): void {
  const isRead = method === 'GET' || method === 'HEAD'
  if (caller.actsForDeleted !== true || isRead || routeOptions.config.scope === 'operator') return
  throw tenantDeleted(caller.tenantId)
}

export function tenantDeleted(tenantId: string): ApiError {
  return new ApiError('TENANT_DELETED', `The tenant ${tenantId} is deleted.`)
}
