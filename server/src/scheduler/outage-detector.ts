// Distinguishes slots that are late because of an outage (a failover, a restart, an unreachable database, a process that
// stood still) from slots that are late because of load. The former are owed: they wait for each other. The latter are
// slots like any other, and one that finds its predecessor under way overlaps with it: were they owed too, each would cost
// several times as much when there is least to spend ([m] 10,000 a second on a machine that manages 8,300: 1,500 were run,
// later by the second, and it did not recover at 8,000).
import { lateAfterMs } from '../domain/scheduling/misfire.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export class OutageDetector {
  /** When a pass of a fire loop last ended, by the database's clock: a jump of that clock counts as an outage too. */
  #passedAt = Number.NEGATIVE_INFINITY
  #upTo = Number.NEGATIVE_INFINITY as EpochMs

  /** Slots that were due up to then and are late were delayed by an outage. */
  get upTo(): EpochMs {
    return this.#upTo
  }

  /** A pass begins. A long time since the last one was an outage. */
  begin(now: EpochMs): void {
    if (now - this.#passedAt > lateAfterMs) this.#upTo = now
  }

  /** A pass ends, and has succeeded. */
  end(now: EpochMs): void {
    this.begin(now)
    this.#passedAt = now
  }
}
