// Limits the requests per second of each tenant, as its tier allows: a bucket holds two seconds' worth. The limit holds for
// all processes together: each admits its share (`RequestShares`). Operators are not counted: an operator that repairs a tenant neither uses up its share nor is
// locked out. The worker protocol is counted separately, each of its calls for itself and in each process: nothing else a
// tenant sends may cost it a lease.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../ports/clock.ts'
import { ApiError } from './api-error.ts'
import type { RequestShares } from './request-shares.ts'

const bucketsMax = 10_000
/** Seconds of requests that a bucket holds. A bucket that was unused for so long is full: it needs no memory. */
const burstSeconds = 2

interface Bucket {
  tokens: number
  countedMs: number
}

interface Rate {
  perSecond: number
  nowMs: number
  /** Tokens to take; negative ones are given back. Default 1. */
  cost?: number
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** 'apart': a call of the worker protocol. */
    counted?: 'apart'
  }
}

/** For each call of the worker protocol, on any tier: enough for 10,000 workers, which beat every 3 s. */
const workerCallsPerSecond = 5_000

/** A hook behind authentication. */
export function limitRate(
  clock: Clock,
  shares: Pick<RequestShares, 'count'>,
): (request: FastifyRequest, reply: FastifyReply) => void {
  const buckets = new TokenBuckets()
  return ({ caller, routeOptions }, reply) => {
    const { requestsPerSecond } = caller.tier
    if (caller.operator || requestsPerSecond === null) return
    const isApart = routeOptions.config.counted === 'apart'
    const perSecond = isApart ? workerCallsPerSecond : requestsPerSecond
    const key = isApart ? `${caller.tenantId} ${routeOptions.url}` : caller.tenantId
    const share = isApart ? perSecond : shares.count(caller.tenantId, perSecond)
    const { taken, left, waitSeconds, fullSeconds } = buckets.take(key, {
      perSecond: share,
      nowMs: clock.monotonicMs(),
    })
    const name = isApart ? 'workers' : 'api'
    reply.header('ratelimit-policy', `"${name}";q=${perSecond};w=1`)
    reply.header('ratelimit', `"${name}";r=${left};t=${fullSeconds}`)
    if (taken) return
    const detail = isApart
      ? `The workers of a tenant may send ${perSecond} of these a second.`
      : `The tier of the tenant allows ${perSecond} requests a second.`
    throw new ApiError('RATE_LIMITED', detail, [], { retryAfterSeconds: waitSeconds })
  }
}

/**
 * Two generations, each as long as any of its buckets takes to be full, which is two seconds, or longer for a share of less
 * than one in two seconds: a bucket that was not used since the older one began is full, and is dropped with it. Buckets are not moved to the end of a single Map at each use, because a Map keeps deleted entries
 * ([m] 28 µs a request with 9,000 tenants; now 0.2).
 */
export class TokenBuckets {
  #recent = new Map<string, Bucket>()
  #older = new Map<string, Bucket>()
  #sinceMs = Number.NEGATIVE_INFINITY
  /** As long as the slowest bucket takes to be full, of the recent ones and of the older ones. */
  #recentMs = 0
  #olderMs = 0

  /** One that is both recent and older counts twice. */
  get size(): number {
    return this.#recent.size + this.#older.size
  }

  take(key: string, rate: Rate) {
    const { perSecond, nowMs, cost = 1 } = rate
    this.#makeRoom(nowMs)
    this.#recentMs = Math.max(this.#recentMs, (tokensMaxOf(perSecond) / perSecond) * 1_000)
    const tokens = this.#refilled(key, rate)
    const taken = tokens >= cost
    const rest = taken ? tokens - cost : tokens
    this.#recent.set(key, { tokens: rest, countedMs: nowMs })
    return {
      taken,
      left: Math.floor(rest),
      /** Until as many are there again, at least 1. */
      waitSeconds: Math.max(1, Math.ceil((cost - rest) / perSecond)),
      /** Until as many are left as can be, at least 1. */
      fullSeconds: Math.max(1, Math.ceil((tokensMaxOf(perSecond) - rest) / perSecond)),
    }
  }

  // By the present rate: a tenant that has changed its tier has the new one's at once.
  #refilled(key: string, { perSecond, nowMs }: Rate): number {
    const tokensMax = tokensMaxOf(perSecond)
    const bucket = this.#recent.get(key) ?? this.#older.get(key)
    if (bucket === undefined) return tokensMax
    return Math.min(tokensMax, bucket.tokens + ((nowMs - bucket.countedMs) * perSecond) / 1_000)
  }

  #makeRoom(nowMs: number): void {
    const isOver = nowMs - this.#sinceMs >= Math.max(this.#recentMs, this.#olderMs)
    // Beyond the number of tenants that we count, the tenants that asked longest ago get a full bucket for nothing.
    if (!isOver && this.#recent.size < bucketsMax / 2) return
    this.#older = this.#recent
    this.#olderMs = this.#recentMs
    this.#recent = new Map()
    this.#recentMs = 0
    this.#sinceMs = nowMs
  }
}

/** At least one: the share of a process may be less than one in two seconds. */
function tokensMaxOf(perSecond: number): number {
  return Math.max(1, perSecond * burstSeconds)
}
