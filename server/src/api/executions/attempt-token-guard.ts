// The holder of the token of an attempt may report on it, without an API key. The token is checked before the body is
// read; the reports per second of each execution, and the reports in progress at once, are bounded. A report is in
// progress once its body has arrived: a client that sends slowly, or nothing, takes no place of others.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type AttemptOfTenant, readAttemptToken } from '../../domain/queue/attempt-token.ts'
import { TenantShares } from '../../domain/tenants/tenant-shares.ts'
import { HmacSha256 } from '../../lib/hmac.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Secrets } from '../../ports/secrets.ts'
import { ApiError } from '../http/api-error.ts'
import { readId } from '../http/path-id.ts'
import { TokenBuckets } from '../http/rate-limit.ts'
import { takePlace } from '../http/take-place.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by its token and by nothing else. */
    attemptOf: AttemptOfTenant
  }
}

export interface TokenGuardDeps {
  clock: Pick<Clock, 'monotonicMs'>
  secrets: Pick<Secrets, 'tokenKey'>
  /** Whether a second tenant exists. */
  isShared: () => boolean
}

/** For each execution. */
const perSecondMax = 20
/** Of all executions, in this process. */
const underWayMax = 1_000
const tokenHeader = 'X-Carillon-Token'

export function guardByToken(app: FastifyInstance, { clock, secrets, isShared }: TokenGuardDeps): void {
  const buckets = new TokenBuckets()
  const findKey = once(async () => new HmacSha256(await secrets.tokenKey()))
  const shares = new TenantShares({ placesMax: underWayMax, isShared })
  app.decorateRequest('attemptOf')
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    request.attemptOf = readToken(request, await findKey())
    const nowMs = clock.monotonicMs()
    const { taken, waitSeconds } = buckets.take(request.attemptOf.executionId, {
      perSecond: perSecondMax,
      nowMs,
    })
    if (taken) return
    throw new ApiError('RATE_LIMITED', `An execution may send ${perSecondMax} reports a second.`, [], {
      retryAfterSeconds: waitSeconds,
    })
  })
  // The first hook behind the body.
  app.addHook('preValidation', async ({ attemptOf: { tenantId } }, reply) => {
    const { leave } = takePlace(shares, { tenantId, operator: false }, 'reports of attempts in progress')
    reply.raw.once('close', leave)
    // The client may have gone while its body was read.
    if (reply.raw.closed) leave()
  })
}

function readToken({ headers, params }: FastifyRequest, key: HmacSha256): AttemptOfTenant {
  const executionId = readId((params as { execution_id: string }).execution_id)
  const given = headers[tokenHeader.toLowerCase()] ?? /^bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (given === undefined) throw new ApiError('INVALID_TOKEN', `The ${tokenHeader} header is missing.`)
  const attempt = executionId === null ? null : readAttemptToken(key, executionId, String(given))
  if (attempt === null) throw new ApiError('INVALID_TOKEN', 'The token does not belong to this execution.')
  return attempt
}

/** The answer of the first call that succeeded. */
function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | null = null
  return () => {
    found ??= find().catch((error) => {
      found = null
      throw error
    })
    return found
  }
}
