// Bearer keys, and the tenant that a key acts for. Only hashes are compared, in constant time, so neither memory nor
// timing gives a key away.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { defaultTenantId } from '../domain/tenant.ts'
import { ApiError } from './api-error.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose jobs the request is about. Set by its key and by nothing else. */
    tenantId: string
  }
}

export function decorateTenant(app: FastifyInstance): void {
  app.decorateRequest('tenantId', '')
}

export type Authenticate = (request: FastifyRequest) => void

export function requireKey(operatorKey: string): Authenticate {
  const expected = hashKey(operatorKey)
  return (request) => {
    const { authorization } = request.headers
    if (authorization === undefined) {
      throw new ApiError('UNAUTHENTICATED', 'The Authorization header is missing.')
    }
    const [scheme, key, ...more] = authorization.split(' ')
    if (scheme!.toLowerCase() !== 'bearer' || key === undefined || key === '' || more.length > 0) {
      throw new ApiError('UNAUTHENTICATED', 'The Authorization header is not of the form `Bearer KEY`.')
    }
    if (!timingSafeEqual(hashKey(key), expected))
      throw new ApiError('UNAUTHENTICATED', 'The API key is not known.')
    request.tenantId = defaultTenantId
  }
}

function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
