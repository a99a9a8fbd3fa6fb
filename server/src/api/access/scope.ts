// The scope that a route requires of the calling key. Every route declares one; a route that does not stops the start,
// so that none is left open by oversight.
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { Scope } from '../../domain/access/api-key.ts'
import { ApiError } from '../http/api-error.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** 'operator': only operators; to read with the scope read, to change with the scope admin. 'any': every key. */
    scope?: Scope | 'operator' | 'any'
  }
}

/** Before any route is added. */
export function demandScopes(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
    if (config?.scope === undefined) throw new Error(`${method} ${url} does not say which scope it wants`)
  })
}

export function checkScope({ method, caller, routeOptions }: FastifyRequest): void {
  const wanted = routeOptions.config.scope!
  if (wanted === 'any') return
  if (wanted === 'operator' && !caller.operator) {
    throw new ApiError(
      'OPERATOR_ONLY',
      'The API key belongs to a tenant; this request needs an operator key.',
    )
  }
  const changes = method !== 'GET' && method !== 'HEAD'
  const scope = wanted !== 'operator' ? wanted : changes ? 'admin' : 'read'
  if (!caller.scopes.has(scope)) {
    throw new ApiError('SCOPE_MISSING', `The API key lacks the scope ${scope}.`)
  }
}
