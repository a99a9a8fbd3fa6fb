// Values by key, bounded by what they weigh; what was not used for long goes first. In two generations: when the newer one is
// half of what may be, it becomes the older one, and that is forgotten. (SharedForms does so by number.) Not by deleting a
// key and setting it again at each use: a Map keeps what was deleted in the chain of its key until it is built anew ([m] one
// key of 20,000, again and again: 35 µs each).

export interface RecentMapOptions<V> {
  weigh: (value: V) => number
  weightMax: number
}

export class RecentMap<V> {
  readonly #options: RecentMapOptions<V>
  #recent = new Map<string, V>()
  #older = new Map<string, V>()
  #recentWeight = 0
  #olderWeight = 0

  constructor(options: RecentMapOptions<V>) {
    this.#options = options
  }

  /** Of one that is both newer and older: twice. */
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

  /** Nothing is forgotten for it: that is for `prune`. */
  set(key: string, value: V): void {
    const { weigh } = this.#options
    const before = this.#recent.get(key)
    this.#recentWeight += weigh(value) - (before === undefined ? 0 : weigh(before))
    this.#recent.set(key, value)
  }

  /** Forgets what was not used since the half before this one was full, once this one is. */
  prune(): void {
    if (this.#recentWeight <= this.#options.weightMax / 2) return
    this.#older = this.#recent
    this.#olderWeight = this.#recentWeight
    this.#recent = new Map()
    this.#recentWeight = 0
  }
}
