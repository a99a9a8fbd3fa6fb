// Work of the same key one after the other, of different keys side by side. A key that nobody waits for is forgotten.

export class TurnsByKey {
  readonly #last = new Map<string, Promise<unknown>>()

  get size(): number {
    return this.#last.size
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    // An error of the work before is told to its own caller.
    const own = before === undefined ? work() : before.then(work, work)
    this.#last.set(key, own)
    try {
      return await own
    } finally {
      if (this.#last.get(key) === own) this.#last.delete(key)
    }
  }
}
