// Requests a second of each tenant, as its tier allows: a bucket that holds two seconds' worth. Counted by each
// process for itself. Operators are not counted: whoever mends a tenant neither uses up its share nor is locked out.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../ports/clock.ts'
import { ApiError } from './api-error.ts'

const tenantsMax = 10_000
/** A bucket that was left alone for so long is full: it needs no memory. */
const burstSeconds = 2

interface Bucket {
  tokens: number
  countedMs: number
}

interface Rate {
  perSecond: number
  nowMs: number
}

/** A hook behind authentication. */
export function limitRate(clock: Clock): (request: FastifyRequest, reply: FastifyReply) => void {
  const buckets = new TokenBuckets()
  return ({ caller }, reply) => {
    const perSecond = caller.tier.requestsPerSecond
    if (caller.operator || perSecond === null) return
    const { taken, left, waitSeconds, fullSeconds } = buckets.take(caller.tenantId, {
      perSecond,
      nowMs: clock.monotonicMs(),
    })
    reply.header('ratelimit-policy', `"api";q=${perSecond};w=1`)
    reply.header('ratelimit', `"api";r=${left};t=${fullSeconds}`)
    if (taken) return
    throw new ApiError('RATE_LIMITED', `The tier of the tenant allows ${perSecond} requests a second.`, [], {
      retryAfterSeconds: waitSeconds,
    })
  }
}

export class TokenBuckets {
  /** By tenant, the one that was left alone for longest first. */
  readonly #buckets = new Map<string, Bucket>()

  get size(): number {
    return this.#buckets.size
  }

  take(tenantId: string, rate: Rate) {
    const { perSecond, nowMs } = rate
    const tokens = this.#refilled(tenantId, rate)
    const taken = tokens >= 1
    const rest = taken ? tokens - 1 : tokens
    this.#buckets.delete(tenantId)
    this.#makeRoom(nowMs)
    this.#buckets.set(tenantId, { tokens: rest, countedMs: nowMs })
    return {
      taken,
      left: Math.floor(rest),
      /** Until the next one, at least 1. */
      waitSeconds: Math.max(1, Math.ceil((1 - rest) / perSecond)),
      /** Until as many are left as can be, at least 1. */
      fullSeconds: Math.max(1, Math.ceil(burstSeconds - rest / perSecond)),
    }
  }

  // By the present rate: a tenant that has changed its tier has the new one's at once.
  #refilled(tenantId: string, { perSecond, nowMs }: Rate): number {
    const tokensMax = perSecond * burstSeconds
    const bucket = this.#buckets.get(tenantId)
    if (bucket === undefined) return tokensMax
    return Math.min(tokensMax, bucket.tokens + ((nowMs - bucket.countedMs) * perSecond) / 1_000)
  }

  #makeRoom(nowMs: number): void {
    for (const [tenantId, { countedMs }] of this.#buckets) {
      const full = nowMs - countedMs >= burstSeconds * 1_000
      // Of more tenants than we count, the one that asked longest ago gets a full bucket for nothing.
      if (!full && this.#buckets.size < tenantsMax) return
      this.#buckets.delete(tenantId)
    }
  }
}
