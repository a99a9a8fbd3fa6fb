// Keeps our clock on the database's: a few samples at the start, then one every few seconds.
import type { DatabaseClock } from '../lib/clock.ts'
import { sql } from '../lib/sql.ts'
import type { Queries } from './database.ts'

const selectClock = sql('selectClock')`
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`

export const clockSyncMs = 5_000
const samplesAtStart = 5

export async function startClock(queries: Queries, clock: DatabaseClock): Promise<void> {
  for (let i = 0; i < samplesAtStart; i++) await syncClock(queries, clock)
}

export async function syncClock(queries: Queries, clock: DatabaseClock): Promise<'idle'> {
  const sentMs = clock.monotonicMs()
  const { rows } = await queries.query<{ ms: number }>(selectClock, [])
  clock.observe({ sentMs, receivedMs: clock.monotonicMs(), databaseMs: rows[0]!.ms })
  return 'idle'
}
