// Whether a herd is being fired, so that workers hold back: what is due is durable only once it is enqueued, and firing it
// beside its own calls takes three times as long ([m] 50,000 due at once: 10.7 s against 3.4). Not when more is due than can
// be fired for good: then calls must go on, or nothing ever ends.

/** Jobs that are due: more than any second brings that can be kept up with. */
const herdMin = 20_000
const overMax = 2_000
const backpressuredMsMax = 20_000

export class HerdBackpressure {
  /** Null: there is no herd. */
  #sinceMs: number | null = null

  /** `waiting`: jobs that are due and not fired. `nowMs` is monotonic. */
  look(waiting: number, nowMs: number): boolean {
    if (waiting <= overMax) this.#sinceMs = null
    else if (waiting >= herdMin) this.#sinceMs ??= nowMs
    return this.#sinceMs !== null && nowMs - this.#sinceMs < backpressuredMsMax
  }
}
