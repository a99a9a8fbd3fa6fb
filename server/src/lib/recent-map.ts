// A cache by key, bounded by number or by weight; values that were not used for long go first. In two generations: when the
// newer one is half full, it becomes the older one, and the older one is dropped. Not by deleting a key and setting it again at
// each use: a Map keeps a deleted entry in the chain of its key until the Map is built anew ([m] one key of 20,000, again and
// again: 35 µs each).

export interface RecentMapOptions<V> {
  /** Default: each value weighs 1, and `weightMax` is a number of values. */
  weigh?: (value: V) => number
  weightMax: number
}

export class RecentMap<V> {
  readonly #weigh: (value: V) => number
  readonly #halfMax: number
  #recent = new Map<string, V>()
  #older = new Map<string, V>()
  #recentWeight = 0
  #olderWeight = 0

  constructor({ weigh = () => 1, weightMax }: RecentMapOptions<V>) {
    this.#weigh = weigh
    this.#halfMax = weightMax / 2
  }

  /** A value that is in both generations counts twice. */
  get weight(): number {
    return this.#recentWeight + this.#olderWeight
  }

  has(key: string): boolean {
    return this.#recent.has(key) || this.#older.has(key)
  }

  get(key: string): V | undefined {
    const recent = this.#recent.get(key)
    if (recent !== undefined) return recent
    const older = this.#older.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  /** Drops nothing: `prune` does. */
  set(key: string, value: V): void {
    const before = this.#recent.get(key)
    this.#recentWeight += this.#weigh(value) - (before === undefined ? 0 : this.#weigh(before))
    this.#recent.set(key, value)
  }

  /** Once the newer generation is half of `weightMax`, drops the older one. */
  prune(): void {
    if (this.#recentWeight <= this.#halfMax) return
    this.#older = this.#recent
    this.#olderWeight = this.#recentWeight
    this.#recent = new Map()
    this.#recentWeight = 0
  }
}
