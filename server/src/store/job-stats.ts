// How jobs went, by day: folded from the record of attempts every few seconds, so that nobody counts a history when
// somebody asks. A reader adds what was recorded since the last fold.
import { historyDaysMax } from '../domain/tenant.ts'
import type { Database } from './database.ts'
import * as statements from './job-stats.sql.ts'

/** Of history in one step; at 10,000 a second that is 100,000 rows. */
const foldMsMax = 10_000
const prunedMax = 10_000

export async function foldStats(database: Database): Promise<'more' | 'idle'> {
  const { rows } = await database.query<{ more: boolean }>(statements.foldStats, [foldMsMax])
  return rows[0]?.more === true ? 'more' : 'idle'
}

/** Forgets days that no history reaches any more. */
export async function pruneStats(database: Database): Promise<'more' | 'idle'> {
  const { count } = await database.query(statements.pruneStats, [historyDaysMax, prunedMax])
  return count === prunedMax ? 'more' : 'idle'
}
