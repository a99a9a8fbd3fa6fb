// A set in order, as an index of a table: found by binary search. The sort key of an item must not change while it is
// in the set.

export type Compare<T> = (a: T, b: T) => number

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export class SortedSet<T> {
  readonly #compare: Compare<T>
  #items: T[] = []

  constructor(compare: Compare<T>) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    const at = this.#find(item)
    if (at === this.#items.length) this.#items.push(item)
    else if (this.#compare(this.#items[at]!, item) !== 0) this.#items.splice(at, 0, item)
  }

  delete(item: T): void {
    const at = this.#find(item)
    if (at === this.#items.length || this.#compare(this.#items[at]!, item) !== 0) return
    if (at === 0) this.#items.shift()
    else this.#items.splice(at, 1)
  }

  first(): T | undefined {
    return this.#items[0]
  }

  /** The first ones, at most `limit`; a copy, so that they may be deleted while it is read. */
  take(limit: number): T[] {
    return this.#items.slice(0, limit)
  }

  /** At most `limit` behind `after`, as far as `wanted` holds for one after the other. Null: from the beginning. */
  takeAfter(after: T | null, limit: number, wanted: (item: T) => boolean = () => true): T[] {
    let at = 0
    if (after !== null) {
      at = this.#find(after)
      if (at < this.#items.length && this.#compare(this.#items[at]!, after) === 0) at += 1
    }
    const taken: T[] = []
    while (taken.length < limit && at < this.#items.length && wanted(this.#items[at]!))
      taken.push(this.#items[at++]!)
    return taken
  }

  /** Where the item is, or belongs. */
  #find(item: T): number {
    let low = 0
    let high = this.#items.length
    // Most items are younger than all others: they go to the end without a search.
    if (high > 0 && this.#compare(this.#items[high - 1]!, item) < 0) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(this.#items[middle]!, item) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
