// Folds executions that ended into the statistics of their jobs, by day, so that no reader counts a whole history. A
// reader adds the executions that ended since the last fold.
import { dayMs } from '../lib/time/units.ts'
import type { Rollups } from '../ports/rollups.ts'

export const foldStatsEveryMs = 10_000

/** Of history in one step; at 10,000 a second that is 100,000 rows. */
const spanMsMin = 10_000
/** After a month without a server there is a month without rows to pass over. */
const spanMsMax = dayMs
/** A step that folded fewer could have gone further. */
const fewRows = 1_000

export class StatsFold {
  readonly #rollups: Pick<Rollups, 'foldStats'>
  #spanMs = spanMsMin

  constructor(rollups: Pick<Rollups, 'foldStats'>) {
    this.#rollups = rollups
  }

  async step(): Promise<'more' | 'idle'> {
    const spanMs = this.#spanMs
    // Back to a small step also when this one fails: it may have been too large.
    this.#spanMs = spanMsMin
    const folded = await this.#rollups.foldStats(spanMs)
    if (folded === null || !folded.isFull) return 'idle'
    if (folded.ended < fewRows) this.#spanMs = Math.min(spanMs * 2, spanMsMax)
    return 'more'
  }
}
