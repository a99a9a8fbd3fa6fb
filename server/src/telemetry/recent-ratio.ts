// The share of successes over the last five minutes, in buckets of ten seconds.

const bucketMs = 10_000
const buckets = 30

export interface RecentCounts {
  good: number
  all: number
}

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
    return ratioOf([this.counts()])
  }

  counts(): RecentCounts {
    this.#turn()
    const sum = (counts: Uint32Array) => counts.reduce((total, one) => total + one, 0)
    return { good: sum(this.#good), all: sum(this.#all) }
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

/** Of several together. */
export function ratioOf(counts: readonly RecentCounts[]): number | null {
  const sum = (key: keyof RecentCounts) => counts.reduce((total, one) => total + one[key], 0)
  const all = sum('all')
  return all === 0 ? null : sum('good') / all
}
