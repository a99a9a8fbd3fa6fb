// Tells slots that are late because nobody could fire them (a failover, a restart, a database that was away, a process that
// stood still) from those that are late because there is more to do than can be done. The former are owed: they wait for
// each other. The latter are slots like any other, and one that finds its predecessor under way overlaps with it: were they
// owed too, each would cost several times as much when there is least to spend ([m] 10,000 a second on a machine that
// manages 8,300: 1,500 were run, later by the second, and it did not recover at 8,000).
import { lateAfterMs } from '../domain/scheduling/misfire.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export class OutageDetector {
  /** When a pass of a fire loop was last over, by the database's clock: that it was put on is a hold-up too. */
  #passedAt = Number.NEGATIVE_INFINITY
  #upTo = Number.NEGATIVE_INFINITY as EpochMs

  /** What was due up to then, and is late, was held up. */
  get upTo(): EpochMs {
    return this.#upTo
  }

  /** A pass begins: the time since the last one is not over by itself. */
  begin(now: EpochMs): void {
    if (now - this.#passedAt > lateAfterMs) this.#upTo = now
  }

  /** A pass is over, and what it had to do is done. */
  end(now: EpochMs): void {
    this.begin(now)
    this.#passedAt = now
  }
}
