// The share of successes over the last five minutes, in buckets of ten seconds.

const bucketMs = 10_000
const buckets = 30

export class RecentRatio {
  readonly #nowMs: () => number
  readonly #good = new Uint32Array(buckets)
  readonly #all = new Uint32Array(buckets)
  #bucket = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  add(good: boolean): void {
    const at = this.#turn() % buckets
    this.#all[at]! += 1
    if (good) this.#good[at]! += 1
  }

  /** Null: nothing was counted. */
  read(): number | null {
    this.#turn()
    const sum = (counts: Uint32Array) => counts.reduce((total, one) => total + one, 0)
    const all = sum(this.#all)
    return all === 0 ? null : sum(this.#good) / all
  }

  #turn(): number {
    const now = Math.floor(this.#nowMs() / bucketMs)
    for (let one = Math.max(this.#bucket + 1, now - buckets + 1); one <= now; one++) {
      this.#good[one % buckets] = 0
      this.#all[one % buckets] = 0
    }
    this.#bucket = now
    return now
  }
}
