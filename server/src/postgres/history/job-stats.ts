// How jobs went, by day: folded from the record of attempts every few seconds, so that nobody counts a history when
// somebody asks. A reader adds what was recorded since the last fold.
import { historyDaysMax } from '../../domain/tenants/tenant.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './job-stats.sql.ts'

/** Of history in one step; at 10,000 a second that is 100,000 rows. */
const foldMsMin = 10_000
/** After a month without a server there is a month without rows to pass over. */
const foldMsMax = dayMs
/** A step that folded fewer could have gone further. */
const fewRows = 1_000
const prunedMax = 10_000

export class StatsFold {
  readonly #database: Database
  #spanMs = foldMsMin

  constructor(database: Database) {
    this.#database = database
  }

  async step(): Promise<'more' | 'idle'> {
    const spanMs = this.#spanMs
    // Back to a small step also when this one fails: it may have been too large.
    this.#spanMs = foldMsMin
    const { rows } = await this.#database.query<{ more: boolean; ended: number }>(statements.foldStats, [
      spanMs,
    ])
    if (rows[0]?.more !== true) return 'idle'
    if (rows[0].ended < fewRows) this.#spanMs = Math.min(spanMs * 2, foldMsMax)
    return 'more'
  }
}

/** Forgets days that no history reaches any more. */
export async function pruneStats(database: Database): Promise<'more' | 'idle'> {
  const { count } = await database.query(statements.pruneStats, [historyDaysMax, prunedMax])
  return count === prunedMax ? 'more' : 'idle'
}
