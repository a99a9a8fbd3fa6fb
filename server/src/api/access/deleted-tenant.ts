// Requests about a deleted tenant. Its own keys are refused, but for reports about executions that run on; operators may
// look at it, restore and purge it.
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../http/api-error.ts'

/** Only operators get as far. Routes for operators are about the installation, or name the tenant themselves. */
export function refuseDeletedTenant({ method, caller, routeOptions }: FastifyRequest): void {
  const isRead = method === 'GET' || method === 'HEAD'
  if (caller.actsForDeleted !== true || isRead || routeOptions.config.scope === 'operator') return
  throw tenantDeleted(caller.tenantId)
}

/** Executions that run at the delete continue to their end, on the tenant's own workers too. */
const endsOfWork: ReadonlySet<string> = new Set([
  'POST /api/v1/workers/heartbeat',
  'POST /api/v1/workers/report',
  'DELETE /api/v1/workers/:worker_id',
])

export function endsRunningWork({ method, routeOptions }: FastifyRequest): boolean {
  return endsOfWork.has(`${method} ${routeOptions.url}`)
}

export function tenantDeleted(tenantId: string): ApiError {
  return new ApiError('TENANT_DELETED', `The tenant ${tenantId} is deleted.`)
}
