// Bounds guesses of keys and cookies by client address. A key that has not been right here yet takes a token of its
// address before it is looked up, and gets it back when it is right; so guesses reach the store 20 times a second at
// most, and clients that share an address with the guesser, such as a proxy's, keep working with the keys they use.
import type { Clock } from '../../ports/clock.ts'
import { ApiError } from '../http/api-error.ts'
import { TokenBuckets } from '../http/rate-limit.ts'

/** Wrong keys from one address, and twice as many at once. */
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

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** `check` rejects with UNAUTHENTICATED when the key is wrong; its other errors say nothing about the key. */
  async bound<T>(address: string, keyHash: Uint8Array, check: () => Promise<T>): Promise<T> {
    const hash = keyHash.toHex()
    const isProven = this.#proven.has(hash)
    if (!isProven) this.#take(address, 1, `${wrongKeysPerSecondMax} wrong API keys`)
    try {
      const result = await check()
      if (!isProven) this.#prove(hash, address)
      return result
    } catch (error) {
      const isWrong = error instanceof ApiError && error.code === 'UNAUTHENTICATED'
      if (isWrong) this.#proven.delete(hash)
      else if (!isProven) this.#giveBack(address)
      throw error
    }
  }

  boundLogIn(address: string): void {
    const cost = wrongKeysPerSecondMax / logInsPerSecondMax
    this.#take(address, cost, `${logInsPerSecondMax} tries to log in`)
  }

  #take(address: string, cost: number, bound: string): void {
    const rate = { perSecond: wrongKeysPerSecondMax, nowMs: this.#clock.monotonicMs(), cost }
    const { taken, waitSeconds } = this.#buckets.take(address, rate)
    if (taken) return
    const detail = `From one address, ${bound} are taken a second.`
    throw new ApiError('RATE_LIMITED', detail, [], { retryAfterSeconds: waitSeconds })
  }

  #giveBack(address: string): void {
    const nowMs = this.#clock.monotonicMs()
    this.#buckets.take(address, { perSecond: wrongKeysPerSecondMax, nowMs, cost: -1 })
  }

  #prove(hash: string, address: string): void {
    this.#giveBack(address)
    if (this.#proven.size >= provenMax) this.#proven.delete(this.#proven.values().next().value!)
    this.#proven.add(hash)
  }
}
