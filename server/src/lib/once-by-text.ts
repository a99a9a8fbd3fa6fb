// Makes something of a JSON document once, however many equal documents come. Keeps everything it made.

export class OnceByText<T> {
  readonly #made = new Map<string, T>()

  get(document: unknown, make: () => T): T {
    const text = JSON.stringify(document) ?? ''
    let made = this.#made.get(text)
    if (made === undefined) {
      made = make()
      this.#made.set(text, made)
    }
    return made
  }
}
