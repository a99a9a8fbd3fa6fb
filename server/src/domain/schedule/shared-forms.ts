// A bounded cache in two generations: what was used since the last turn survives it, the rest is dropped. Cheaper
// than a true least-recently-used list, and as bounded: at most twice `generationMax` entries.

export class SharedForms<T> {
  readonly #generationMax: number
  #young = new Map<string, T>()
  #old = new Map<string, T>()

  constructor(generationMax: number) {
    this.#generationMax = generationMax
  }

  get(key: string): T | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: T): void {
    if (this.#young.size >= this.#generationMax) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }
}
