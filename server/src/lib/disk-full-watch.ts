// Remembers that the disk of the database was full, and says so once a minute.

/** For how long: reads and small writes may succeed on a full disk. */
const shownMs = 30_000
const noticeMs = 60_000

export class DiskFullWatch {
  readonly #nowMs: () => number
  readonly #onFull: () => void
  #seenMs = Number.NEGATIVE_INFINITY
  #toldMs = Number.NEGATIVE_INFINITY

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number, onFull: () => void) {
    this.#nowMs = nowMs
    this.#onFull = onFull
  }

  /** A statement found no room. */
  note(): void {
    this.#seenMs = this.#nowMs()
    if (this.#seenMs - this.#toldMs < noticeMs) return
    this.#toldMs = this.#seenMs
    this.#onFull()
  }

  isFull(): boolean {
    return this.#nowMs() - this.#seenMs < shownMs
  }
}
