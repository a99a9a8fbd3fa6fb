// Hints between processes: by the connection that listens, or by the pool while there is none.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { cleanUp } from '../../../test/cleanup.ts'
import { type TestAddress, useDatabase } from '../../../test/database.ts'
import { realTimers } from '../../lib/time/timers.ts'
import type { WakeupTopic } from '../../ports/wakeup.ts'
import type { Database } from './database.ts'
import { DatabaseWakeup } from './wakeup.ts'

const msMax = 10_000

function open(
  t: TestContext,
  { database, address }: { database: Database; address: TestAddress },
  self: string,
) {
  const wakeup = new DatabaseWakeup({ timers: realTimers, database, address }, self)
  cleanUp(t, () => wakeup[Symbol.asyncDispose]())
  return wakeup
}

/** Listens until the test is over; returns once it hears a sent wake-up. */
async function listen(
  t: TestContext,
  wakeup: DatabaseWakeup,
  topic: WakeupTopic,
): Promise<() => Promise<void>> {
  const stop = new AbortController()
  let heard = Promise.withResolvers<void>()
  wakeup.on(topic, () => heard.resolve())
  const listening = wakeup.listen(stop.signal)
  cleanUp(t, async () => {
    stop.abort()
    await listening
  })
  // A new listener is woken: something may have been sent before.
  await heard.promise
  heard = Promise.withResolvers<void>()
  return async () => {
    const late = wait(msMax, 'late' as const, { ref: false })
    assert.notEqual(await Promise.race([heard.promise, late]), 'late')
    heard = Promise.withResolvers<void>()
  }
}

test('a hint reaches another process, from one that listens itself and from one that does not', async (t) => {
  const place = await useDatabase(t)
  const receiver = open(t, place, 'receiver')
  const hears = await listen(t, receiver, 'queue')
  const deaf = open(t, place, 'deaf')
  deaf.send('queue')
  await hears()
  const sender = open(t, place, 'sender')
  await listen(t, sender, 'keys')
  sender.send('queue')
  await hears()
})

test('five hundred hints at once are heard, and take few messages', async (t) => {
  const place = await useDatabase(t)
  const hears = await listen(t, open(t, place, 'receiver'), 'queue')
  const sender = open(t, place, 'sender')
  await listen(t, sender, 'keys')
  // Counted as messages: transaction ids would count the other tests of this server too.
  const { client } = place
  let messages = 0
  client.on('notification', () => {
    messages += 1
  })
  await client.query('LISTEN carillon')
  for (let i = 0; i < 500; i++) sender.send('queue')
  await hears()
  await client.query('SELECT')
  assert(messages > 0 && messages < 10, `${messages} messages`)
})

test('hints go by the session that listens, and take none of the pool', async (t) => {
  const place = await useDatabase(t)
  const sender = open(t, place, 'sender')
  await listen(t, sender, 'keys')
  const { rows } = await place.client.query(
    `SELECT count(*)::int AS sessions FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'carillon listen'`,
  )
  assert.deepEqual(rows, [{ sessions: 1 }])
  // Its wake-ups go through that session: the pool has none while it runs no queries.
  const hears = await listen(t, open(t, place, 'receiver'), 'queue')
  sender.send('queue')
  await hears()
  const pools = await place.client.query(
    `SELECT count(*)::int AS sessions FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'carillon test'`,
  )
  assert.deepEqual(pools.rows, [{ sessions: 0 }])
})
