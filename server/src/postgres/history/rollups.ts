// What dashboards read, folded from the record of attempts every few seconds, beside whoever records. Each step is one
// transaction that moves its mark, so that everything is counted once: whoever dies in a step has not begun it, and of
// two that fold at once one finds nothing to do.
import type { Sql } from '../../lib/sql.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Database, Queries } from '../connection/database.ts'
import * as statements from './rollups.sql.ts'

export type Feed = 'tenant' | 'job' | 'skip'

export interface RollupOptions {
  /** How far a fold stays behind the clock, besides what is being recorded. Default 1,000. */
  lagMs?: number
}

/** Of the record in one step, at first; after one that failed, which may have been too large, a second. */
const spanMsFirst = 10_000
const spanMsMin = 1_000
/** After a month without a server there is a month without rows to pass over. */
const spanMsMax = dayMs

/** After a step that folded so many rows the next one waits until it is worth its while: a row is written less often then. */
const busyRows = 2_000

/** Where nothing is recorded the mark is moved so often: who is idle writes nothing. */
const idleMs = 10_000

interface Pace {
  /** How long a busy one waits. */
  busyMs: number
  /** A step that folded fewer rows could have gone further; one that folded more has taken too long. */
  fewRows: number
  manyRows: number
}

const paces: Readonly<Record<Feed, Pace>> = {
  tenant: { busyMs: 5_000, fewRows: 50_000, manyRows: 200_000 },
  // With very many jobs each row is of another one, and to write them all takes long however few attempts there are.
  job: { busyMs: 60_000, fewRows: 200_000, manyRows: 700_000 },
  skip: { busyMs: 5_000, fewRows: 5_000, manyRows: 20_000 },
}

/** Different failures of a tenant that are kept in ten minutes, at most. */
const groupsMax = 1_000
/** Late slots of a tenant that are kept in an hour, at most. */
const lateMax = 1_000

export class RollupFold {
  readonly #database: Database
  readonly #feed: Feed
  readonly #lagMs: number
  #spanMs = spanMsFirst
  #leastMs = 1

  constructor(database: Database, feed: Feed, { lagMs = 1_000 }: RollupOptions = {}) {
    this.#database = database
    this.#feed = feed
    this.#lagMs = lagMs
  }

  async step(): Promise<'more' | 'idle'> {
    const [spanMs, leastMs] = [this.#spanMs, this.#leastMs]
    ;[this.#spanMs, this.#leastMs] = [spanMsMin, 1]
    const folded = await this.#database.transaction((queries) => this.#fold(queries, spanMs, leastMs))
    ;[this.#spanMs, this.#leastMs] = [spanMs, leastMs]
    if (folded === null) return 'idle'
    const { busyMs, fewRows, manyRows } = paces[this.#feed]
    this.#leastMs = folded.recorded >= busyRows ? busyMs : 1
    if (folded.recorded < fewRows) this.#spanMs = Math.min(spanMs * 2, spanMsMax)
    else if (folded.recorded > manyRows) this.#spanMs = Math.max(Math.floor(spanMs / 2), spanMsMin)
    return folded.ms >= spanMs ? 'more' : 'idle'
  }

  async #fold(
    queries: Queries,
    spanMs: number,
    leastMs: number,
  ): Promise<{ recorded: number; ms: number } | null> {
    const values = [this.#feed, spanMs, this.#lagMs]
    const { rows } = await queries.query<{ since: number; until: number }>(statements.lockFeed, values)
    if (rows[0] === undefined) return null
    const { since, until } = rows[0]
    const ms = until - since
    if (ms < Math.min(spanMs, leastMs)) return null
    // A statement of its own, so that its snapshot is younger than the end that was set.
    const recorded = await foldSpan(queries, this.#feed, [since, until])
    const isIdle = recorded === 0 && ms < Math.min(spanMs, idleMs)
    if (!isIdle) await queries.query(statements.moveFeed, [this.#feed, until])
    return { recorded, ms }
  }
}

async function foldSpan(queries: Queries, feed: Feed, span: readonly number[]): Promise<number> {
  const count = async (statement: Sql, values: readonly number[]) => {
    const { rows } = await queries.query<{ recorded: number }>(statement, values)
    return rows[0]!.recorded
  }
  if (feed === 'skip') return count(statements.foldSkips, [...span, lateMax])
  if (feed === 'job') return count(statements.foldJobs, span)
  const recorded = await count(statements.foldTenants, span)
  if (recorded > 0) await queries.query(statements.foldTroubles, [...span, groupsMax, lateMax])
  return recorded
}

const dayPartMs = 225_000

/** Adds a sixteenth of the jobs' last hour to their days. */
export function foldDays(database: Database): Promise<'more' | 'idle'> {
  return database.transaction(async (queries) => {
    const { rows } = await queries.query<{ since: number; next_hour: number }>(statements.lockDays, [])
    if (rows[0] === undefined) return 'idle'
    const { since, next_hour: nextHour } = rows[0]
    if (nextHour <= since) await queries.query(statements.foldDays, [since])
    await queries.query(statements.moveFeed, ['day', Math.max(nextHour, since + dayPartMs)])
    return 'more'
  })
}

const prunedMax = 10_000
const minutesDaysKept = 2
const hoursDaysKept = 60
const daysKept = 400
const failuresDaysKept = 14
const lateDaysKept = 7

/** Forgets what no dashboard asks for any more. */
export async function pruneRollups(database: Database): Promise<'more' | 'idle'> {
  const works: [Sql, number[]][] = [
    [statements.pruneTenantActivity, [minutesDaysKept, prunedMax, 60]],
    [statements.pruneTenantActivity, [hoursDaysKept, prunedMax, 3_600]],
    [statements.pruneTenantActivity, [daysKept, prunedMax, 86_400]],
    [statements.pruneJobActivity, [hoursDaysKept, prunedMax, 3_600]],
    [statements.pruneJobActivity, [daysKept, prunedMax, 86_400]],
    [statements.pruneFailureGroups, [failuresDaysKept, prunedMax]],
    [statements.pruneLateSlots, [lateDaysKept, prunedMax]],
  ]
  let more = false
  for (const [statement, values] of works) {
    const { count } = await database.query(statement, values)
    if (count === prunedMax) more = true
  }
  return more ? 'more' : 'idle'
}
