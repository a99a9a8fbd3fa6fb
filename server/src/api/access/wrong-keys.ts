// Bounds guesses of keys and cookies by client address. A key that has not been right here yet takes a token of its
// address before it is looked up, and gets it back when it is right; so guesses reach the store 20 times a second at
// most, and clients that share an address with the guesser, such as a proxy's, keep working with the keys they use.
import type { Clock } from '../../ports/clock.ts'
import { ApiError } from '../http/api-error.ts'
import { TokenBuckets } from '../http/rate-limit.ts'
import { networkOf } from './client-network.ts'

/** Wrong keys from one address, or one network of IPv6, and twice as many at once. */
const wrongKeysPerSecondMax = 20
/** Tries to log in, right or wrong, out of the same bucket. */
const logInsPerSecondMax = 5
/** Hashes in memory: about 1 MB. */
const provenMax = 10_000

export class WrongKeys {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #buckets = new TokenBuckets()
  /** Hashes of keys that were right, the first ones in front. */
  readonly #proven = new Set<string>()
  /** First checks that are under way, by hash; they resolve also when the key is wrong. */
  readonly #firstChecks = new Map<string, Promise<void>>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** `check` rejects with UNAUTHENTICATED when the key is wrong; its other errors say nothing about the key. */
  async bound<T>(address: string, keyHash: Uint8Array, check: () => Promise<T>): Promise<T> {
    const hash = keyHash.toHex()
    if (this.#proven.has(hash)) return this.#checkProven(hash, check)
    // A client that begins with a hundred requests at once takes one token: the others wait for its first answer.
    const first = this.#firstChecks.get(hash)
    if (first !== undefined) await first
    return this.#proven.has(hash) ? this.#checkProven(hash, check) : this.#checkFirst(hash, address, check)
  }

  async #checkProven<T>(hash: string, check: () => Promise<T>): Promise<T> {
    try {
      return await check()
    } catch (error) {
      if (isWrongKey(error)) this.#proven.delete(hash)
      throw error
    }
  }

  async #checkFirst<T>(hash: string, address: string, check: () => Promise<T>): Promise<T> {
    this.#take(address, 1, `${wrongKeysPerSecondMax} wrong API keys`)
    const ended = Promise.withResolvers<void>()
    this.#firstChecks.set(hash, ended.promise)
    try {
      const result = await check()
      this.#prove(hash, address)
      return result
    } catch (error) {
      if (!isWrongKey(error)) this.#giveBack(address)
      throw error
    } finally {
      if (this.#firstChecks.get(hash) === ended.promise) this.#firstChecks.delete(hash)
      ended.resolve()
    }
  }

  boundLogIn(address: string): void {
    const cost = wrongKeysPerSecondMax / logInsPerSecondMax
    this.#take(address, cost, `${logInsPerSecondMax} tries to log in`)
  }

  #take(address: string, cost: number, bound: string): void {
    const rate = { perSecond: wrongKeysPerSecondMax, nowMs: this.#clock.monotonicMs(), cost }
    const { taken, waitSeconds } = this.#buckets.take(networkOf(address), rate)
    if (taken) return
    const detail = `From one address, ${bound} are taken a second.`
    throw new ApiError('RATE_LIMITED', detail, [], { retryAfterSeconds: waitSeconds })
  }

  #giveBack(address: string): void {
    const nowMs = this.#clock.monotonicMs()
    this.#buckets.take(networkOf(address), { perSecond: wrongKeysPerSecondMax, nowMs, cost: -1 })
  }

  #prove(hash: string, address: string): void {
    this.#giveBack(address)
    if (this.#proven.size >= provenMax) this.#proven.delete(this.#proven.values().next().value!)
    this.#proven.add(hash)
  }
}

function isWrongKey(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'UNAUTHENTICATED'
}
