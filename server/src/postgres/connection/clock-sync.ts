// Keeps our clock on the database's: a few samples at the start, then one every few seconds, and faster while the
// estimate is not good.
import { uncertaintyMsMax } from '../../domain/scheduling/partition-share.ts'
import { sql } from '../../lib/sql.ts'
import type { DatabaseClock } from '../../lib/time/clock.ts'
import { clockStepped } from '../../telemetry/events.ts'
import type { Queries } from './database.ts'

const selectClock = sql('selectClock')`
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`

const syncAgainMs = 500
const samplesAtStart = 5

export async function startClock(queries: Queries, clock: DatabaseClock): Promise<void> {
  for (let i = 0; i < samplesAtStart; i++) await syncClock(queries, clock)
}

/** One sample: a step for a Loop, repeated soon while the estimate is not good. */
export async function syncClock(queries: Queries, clock: DatabaseClock): Promise<'idle' | number> {
  const sentMs = clock.monotonicMs()
  const { rows } = await queries.query<{ ms: number }>(selectClock, [])
  const stepMs = clock.observe({ sentMs, receivedMs: clock.monotonicMs(), databaseMs: rows[0]!.ms })
  if (stepMs > 0) clockStepped.emit({ stepMs })
  return clock.uncertaintyMs() > uncertaintyMsMax ? syncAgainMs : 'idle'
}
