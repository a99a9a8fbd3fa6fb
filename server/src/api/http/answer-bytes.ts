// Bounds the bytes of answers that are made and not yet sent: a client that asks for large pages and reads none of them
// would hold them in memory. By tenant and in all, as everything that tenants share. Live streams have a bound of their
// own: api/events/event-stream.ts.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type PlaceHolder, TenantShares } from '../../domain/tenants/tenant-shares.ts'
import { takePlace } from './take-place.ts'

/** In KiB. */
const unsentMax = 64 * 1024
/** The kernel takes an answer below this as it is made. */
const countedBytesMin = 16 * 1024

const noun = 'KiB of answers that clients have not read yet'

export function boundAnswers(app: FastifyInstance, { isShared }: { isShared: () => boolean }): void {
  const shares = new TenantShares({ placesMax: unsentMax, isShared })
  // Where the caller is known: nothing is read for an answer that could not be sent.
  app.addHook('preParsing', async (request) => {
    if (request.method === 'GET' && knowsCaller(request)) takePlace(shares, request.caller, noun).leave()
  })
  app.addHook('onSend', async (request, { raw }, answer) => {
    if (request.method === 'HEAD' || !(typeof answer === 'string' || Buffer.isBuffer(answer))) return answer
    const bytes = Buffer.byteLength(answer)
    if (bytes < countedBytesMin) return answer
    const count = Math.ceil(bytes / 1_024)
    const holder = holderOf(request)
    // A write has taken effect: its answer is sent, and counts.
    const place =
      request.method === 'GET' ? takePlace(shares, holder, noun, count) : shares.hold(holder, count)
    raw.once('close', place.leave)
    raw.once('finish', place.leave)
    if (raw.closed) place.leave()
    return answer
  })
}

/** Callers without a key are one tenant of their own; the token of an attempt names one. */
export function holderOf(request: FastifyRequest): PlaceHolder {
  if (knowsCaller(request)) return request.caller
  const { attemptOf }: Partial<Pick<FastifyRequest, 'attemptOf'>> = request
  return { tenantId: attemptOf?.tenantId ?? '', operator: false }
}

function knowsCaller({ caller }: Partial<Pick<FastifyRequest, 'caller'>>): boolean {
  return caller !== undefined
}
