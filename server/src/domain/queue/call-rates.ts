// Limits how often a tenant calls a host: a token bucket for each tenant and host name, all ports together, with room for two
// seconds' worth. Each worker enforces its share of the tier's limit: the limit divided by the workers that make calls.
//
// A call takes its token when its execution comes in, before it is put in flight. Without a token the execution goes back to
// the store, where it waits under a name of its own (`rateKeyOf`). From then on calls of the tenant to this host are behind:
// new executions go back too, and tokens are kept for the waiting ones, which are claimed in the order of their rank, as
// many as there are tokens (`grant`). That ends when a claim brings fewer than it had tokens for, or a look at the store finds
// none. An execution that is on its way to the store just then may be overtaken until the next look.
//
// A tenant without a limit costs one comparison while no tenant has one, and one look into a map otherwise.
import assert from 'node:assert'
import { hostOfKey, tenantOfKey } from './host-gate.ts'

interface Bucket {
  tokens: number
  /** When the tokens were counted last. */
  countedMs: number
  /** Tokens for executions that are being claimed. */
  granted: number
  /** Since when executions wait in the store, or are on their way there; null: none does. */
  behindMs: number | null
}

export interface CallRatesOptions {
  /** Buckets remembered. Default 10,000. */
  bucketsMax?: number
}

const burstSeconds = 2
const rateWord = ' rate'
/** An execution that went back is in the store after this time, nearly always: until then its absence there says nothing. */
const settledMs = 250

/** The name under which executions wait for a host because of their tenant's rate. `name`: of host and tenant, see `hostKeyOf`. */
export function rateKeyOf(name: string): string {
  return `${name}${rateWord}`
}

export function isRateKey(name: string): boolean {
  return name.endsWith(rateWord)
}

/** The name of host and tenant, for one under which executions wait. */
export function callKeyOf(name: string): string {
  return isRateKey(name) ? name.slice(0, -rateWord.length) : name
}

/** `nowMs` is monotonic throughout; `name`: of host and tenant. */
export class CallRates {
  readonly #bucketsMax: number
  /** Calls a second to one host, by tenant with a limit. */
  readonly #limits = new Map<string, number>()
  readonly #buckets = new Map<string, Bucket>()
  /** The ones with a `behindMs`, and the ones with `granted` tokens. */
  readonly #behind = new Set<Bucket>()
  readonly #granted = new Set<Bucket>()
  #workers = 1

  constructor({ bucketsMax = 10_000 }: CallRatesOptions = {}) {
    this.#bucketsMax = bucketsMax
  }

  /** Whether any tenant has a limit. */
  get isLimited(): boolean {
    return this.#limits.size > 0
  }

  /** Workers that make calls, this one included. */
  set workers(count: number) {
    assert(count >= 1)
    this.#workers = count
  }

  /** Null: no limit. */
  setLimit(tenantId: string, perSecond: number | null): void {
    if (perSecond === null) this.#limits.delete(tenantId)
    else this.#limits.set(tenantId, perSecond)
  }

  /** Takes a token for an execution that was claimed. False: it goes back to wait. */
  tryCall(name: string, nowMs: number): boolean {
    const share = this.#shareOf(name)
    if (share === null) return true
    const bucket = this.#bucketOf(name, share, nowMs)
    if (bucket.granted > 0) {
      bucket.granted -= 1
      return true
    }
    if (bucket.behindMs === null && bucket.tokens >= 1) {
      bucket.tokens -= 1
      return true
    }
    this.#fallBehind(bucket, nowMs)
    return false
  }

  /** How many waiting executions may be claimed now. */
  room(name: string, nowMs: number): number {
    const share = this.#shareOf(name)
    if (share === null) return Number.POSITIVE_INFINITY
    return Math.floor(this.#bucketOf(name, share, nowMs).tokens)
  }

  /** Keeps tokens for waiting executions that are about to be claimed: no more than there is room for. */
  grant(name: string, count: number, nowMs: number): void {
    const share = this.#shareOf(name)
    if (share === null) return
    const bucket = this.#bucketOf(name, share, nowMs)
    assert(bucket.tokens >= count, 'more was granted than there is room for')
    bucket.tokens -= count
    bucket.granted += count
    this.#granted.add(bucket)
  }

  /** The claim has ended: tokens that it brought no executions for are free again, and no execution is left waiting. */
  endGrants(): void {
    for (const bucket of this.#granted) {
      if (bucket.granted > 0) this.#catchUp(bucket)
      bucket.tokens += bucket.granted
      bucket.granted = 0
    }
    this.#granted.clear()
  }

  /** The names under which executions wait in the store, by a look that began at `askedMs`. */
  see(waiting: readonly string[], askedMs: number): void {
    if (!this.isLimited) return
    const seen = new Set<Bucket>()
    for (const one of waiting) {
      if (!isRateKey(one)) continue
      const name = callKeyOf(one)
      const share = this.#shareOf(name)
      if (share === null) continue
      const bucket = this.#bucketOf(name, share, askedMs)
      this.#fallBehind(bucket, askedMs)
      seen.add(bucket)
    }
    for (const bucket of this.#behind)
      if (!seen.has(bucket) && askedMs - bucket.behindMs! >= settledMs) this.#catchUp(bucket)
  }

  /** Forgets buckets that say nothing: full ones. */
  forgetIdle(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) {
      const share = this.#shareOf(key)
      if (share !== null) fill(bucket, share, nowMs)
      if (share !== null && (!isIdle(bucket) || bucket.tokens < burstOf(share))) continue
      this.#catchUp(bucket)
      this.#buckets.delete(key)
    }
  }

  #fallBehind(bucket: Bucket, nowMs: number): void {
    bucket.behindMs ??= nowMs
    this.#behind.add(bucket)
  }

  #catchUp(bucket: Bucket): void {
    if (bucket.behindMs === null) return
    bucket.behindMs = null
    this.#behind.delete(bucket)
  }

  /** Calls a second that this worker may make; null: no limit. */
  #shareOf(name: string): number | null {
    if (!this.isLimited) return null
    const limit = this.#limits.get(tenantOfKey(name) ?? '')
    return limit === undefined ? null : limit / this.#workers
  }

  #bucketOf(name: string, share: number, nowMs: number): Bucket {
    const key = bucketKeyOf(name)
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#bucketsMax) this.#makeRoom()
      bucket = { tokens: burstOf(share), countedMs: nowMs, granted: 0, behindMs: null }
      this.#buckets.set(key, bucket)
    } else fill(bucket, share, nowMs)
    return bucket
  }

  /** The one that was made first goes; it is made anew, and full, when its host is called again. */
  #makeRoom(): void {
    for (const [key, bucket] of this.#buckets) {
      if (bucket.granted > 0) continue
      this.#catchUp(bucket)
      this.#buckets.delete(key)
      return
    }
  }
}

function fill(bucket: Bucket, share: number, nowMs: number): void {
  const earned = ((nowMs - bucket.countedMs) / 1_000) * share
  if (earned > 0) bucket.countedMs = nowMs
  bucket.tokens = Math.min(burstOf(share), bucket.tokens + Math.max(0, earned))
}

/** At least one call: the share of a worker may be less than one in two seconds. */
function burstOf(share: number): number {
  return Math.max(1, share * burstSeconds)
}

function isIdle({ granted, behindMs }: Bucket): boolean {
  return granted === 0 && behindMs === null
}

/** Without the port: another port is no other machine. */
function bucketKeyOf(name: string): string {
  const host = hostOfKey(name)
  const bare = host.replace(/:\d+$/, '')
  return bare === host ? name : `${bare}${name.slice(host.length)}`
}
