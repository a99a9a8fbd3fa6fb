import assert from 'node:assert/strict'
import test from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import { DatabaseClock } from '../../lib/time/clock.ts'
import { clockStepped } from '../../telemetry/events.ts'
import { startClock, syncClock } from './clock-sync.ts'

test('the clock follows the clock of the database', async (t) => {
  const { database, client } = await useDatabase(t)
  const clock = new DatabaseClock()
  await startClock(database, clock)
  const before = clock.databaseNow()
  const { rows } = await client.query<{ at: Date }>('SELECT clock_timestamp() AS at')
  const after = clock.databaseNow()
  // Half a local round trip and a millisecond of truncation on either side.
  const at = rows[0]!.at.getTime()
  assert(before - 20 <= at && at <= after + 20, `${before} ${at} ${after}`)
})

test('a step of the clock is told, and until it is settled the clock is asked again soon', async () => {
  let nowMs = 0
  let databaseMs = 500_000
  const clock = new DatabaseClock(() => nowMs)
  const queries = { query: async () => ({ rows: [{ ms: databaseMs }], count: 1 }) as never }
  const pass = (ms: number) => {
    nowMs += ms
    databaseMs += ms
  }
  assert.equal(await syncClock(queries, clock), 'idle')
  pass(5_000)
  databaseMs -= 3_600_000
  const told = clockStepped.next()
  const soonMs = await syncClock(queries, clock)
  assert(soonMs !== 'idle' && soonMs <= 500, `${soonMs}`)
  assert(Math.abs((await told).stepMs - 3_600_000) < 10)
  pass(soonMs)
  assert.equal(await syncClock(queries, clock), soonMs, 'one more sample is not enough')
  pass(3_000)
  assert.equal(await syncClock(queries, clock), 'idle')
  assert.equal(clock.databaseNow(), databaseMs)
})
