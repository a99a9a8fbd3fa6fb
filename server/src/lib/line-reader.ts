// Lines out of a stream of bytes, in bounded memory: of a longer line the rest is dropped.

export class LineReader {
  readonly #bytesMax: number
  readonly #onLine: (line: string) => void
  #parts: Buffer[] = []
  #bytes = 0

  constructor(bytesMax: number, onLine: (line: string) => void) {
    this.#bytesMax = bytesMax
    this.#onLine = onLine
  }

  push(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      this.#keep(chunk.subarray(from, at))
      this.#flush()
      from = at + 1
    }
    this.#keep(chunk.subarray(from))
  }

  /** The input has ended: a rest without an end of line is a line too. */
  end(): void {
    if (this.#bytes > 0) this.#flush()
  }

  #keep(piece: Buffer): void {
    const kept = piece.subarray(0, this.#bytesMax - this.#bytes)
    if (kept.length === 0) return
    this.#parts.push(kept)
    this.#bytes += kept.length
  }

  #flush(): void {
    const line = Buffer.concat(this.#parts, this.#bytes).toString()
    this.#parts = []
    this.#bytes = 0
    this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line)
  }
}

const newline = 10
