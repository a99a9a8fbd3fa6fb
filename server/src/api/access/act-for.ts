// From the body of a request on, everything runs on behalf of its tenant, and the database pools of the API see to it.
// Not earlier: the callbacks that read a body belong to its connection, and a connection carries requests of any tenant.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { actForCaller } from '../../domain/tenants/tenant-scope.ts'
import type { PlaceHolder } from '../../domain/tenants/tenant-shares.ts'

export function actFor(app: FastifyInstance, callerOf: (request: FastifyRequest) => PlaceHolder): void {
  app.addHook('preValidation', (request, _reply, done) => actForCaller(callerOf(request), done))
}
