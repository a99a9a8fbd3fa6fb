import assert from 'node:assert/strict'
import test from 'node:test'
import { useDatabase } from '../../test/database.ts'
import { DatabaseClock } from '../lib/clock.ts'
import { startClock } from './clock-sync.ts'

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
