// From the body of a request on, everything runs on behalf of its tenant, and the database pools of the API see to it.
// Not earlier: the callbacks that read a body belong to its connection, and a connection carries requests of any tenant.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { actForTenant } from '../../domain/tenants/tenant-scope.ts'

export function actFor(app: FastifyInstance, tenantOf: (request: FastifyRequest) => string): void {
  app.addHook('preValidation', (request, _reply, done) => actForTenant(tenantOf(request), done))
}
