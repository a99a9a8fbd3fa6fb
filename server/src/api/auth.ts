// Bearer keys. Only hashes are compared, in constant time, so neither memory nor timing gives a key away.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'

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
  }
}

function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
