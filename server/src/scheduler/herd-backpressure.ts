// Whether a herd is being fired, so that workers hold back: a due slot is durable only once it is enqueued, and firing a
// herd during its own calls takes three times as long ([m] 50,000 due at once: 10.7 s against 3.4). After 20 s workers resume
// in any case: where more is due than can ever be fired, calls must continue, or nothing ever ends.

/** Due jobs that make a herd: more than come due in any second that a scheduler can keep up with. */
const herdMin = 20_000
/** Due jobs below which the herd is over. */
const overMax = 2_000
const backpressuredMsMax = 20_000

export class HerdBackpressure {
  /** When the herd came; null: there is none. */
  #sinceMs: number | null = null

  /** Whether workers hold back now. `waiting`: due jobs that are not fired. `nowMs` is monotonic. */
  check(waiting: number, nowMs: number): boolean {
    if (waiting <= overMax) this.#sinceMs = null
    else if (waiting >= herdMin) this.#sinceMs ??= nowMs
    return this.#sinceMs !== null && nowMs - this.#sinceMs < backpressuredMsMax
  }
}
