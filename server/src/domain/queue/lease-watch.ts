// Detects holders that have gone silent. A lease is a counter its holder increments; it has expired once the counter
// stood still for the whole term on the watcher's own monotonic clock. No wall clock is trusted, and a watcher that
// could not read the counters (database away, process paused) starts its watch anew, because the holder could not beat
// either.

/** The counter of a lease; `holderId`: a worker or a scheduler. */
export interface Beat {
  holderId: string
  beats: number
}

export interface Silence extends Beat {
  silentMs: number
}

export class LeaseWatch {
  readonly #termMs: number
  readonly #lookMsMax: number
  #seen = new Map<string, { beats: number; sinceMs: number }>()
  #lookedMs: number | null = null

  /** `lookMsMax`: a longer break between two looks restarts the watch. */
  constructor(options: { termMs: number; lookMsMax: number }) {
    this.#termMs = options.termMs
    this.#lookMsMax = options.lookMsMax
  }

  /** Takes the counters that were just read and returns the ones that stood still for the term. */
  look(beats: readonly Beat[], nowMs: number): Silence[] {
    const sinceLookMs = this.#lookedMs === null ? Number.POSITIVE_INFINITY : nowMs - this.#lookedMs
    // Negative: a clock that must not go back did; its earlier readings count for nothing.
    const unbroken = sinceLookMs >= 0 && sinceLookMs <= this.#lookMsMax
    const before = unbroken ? this.#seen : new Map<string, never>()
    this.#seen = new Map()
    this.#lookedMs = nowMs
    const silent: Silence[] = []
    for (const { holderId, beats: count } of beats) {
      const last = before.get(holderId)
      const sinceMs = last?.beats === count ? last.sinceMs : nowMs
      this.#seen.set(holderId, { beats: count, sinceMs })
      if (nowMs - sinceMs >= this.#termMs) silent.push({ holderId, beats: count, silentMs: nowMs - sinceMs })
    }
    return silent
  }
}
