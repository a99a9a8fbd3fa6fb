// About how many executions ended recently: of the last 200 ms, as many may be claimed ahead without outliving their batch.
// Two windows follow each other, the current one and the one before it; the larger count is the answer, so a count is
// known for one to two windows. A window begins with the first count or measurement after the one before is over.

export const windowMs = 200

export class RecentEndings {
  readonly #windowMs: number
  #sinceMs = 0
  #ended = 0
  #endedBefore = 0
  #most = 0

  constructor(ofMs = windowMs) {
    this.#windowMs = ofMs
  }

  /** Counts one more, or as much as it weighs. `nowMs` is monotonic, here and below. */
  count(nowMs: number, weight = 1): void {
    this.#moveTo(nowMs, weight)
  }

  /** Begins a new window when the current one is over. */
  measure(nowMs: number): number {
    this.#moveTo(nowMs, 0)
    return Math.max(this.#ended, this.#endedBefore)
  }

  /** The largest count that a count or a measurement has found since `forgetMost`. */
  get most(): number {
    return this.#most
  }

  forgetMost(): void {
    this.#most = 0
  }

  #moveTo(nowMs: number, ended: number): void {
    const elapsedMs = nowMs - this.#sinceMs
    if (elapsedMs >= this.#windowMs) {
      this.#endedBefore = elapsedMs < 2 * this.#windowMs ? this.#ended : 0
      this.#ended = 0
      this.#sinceMs = nowMs
    }
    this.#ended += ended
    this.#most = Math.max(this.#most, this.#ended)
  }
}
