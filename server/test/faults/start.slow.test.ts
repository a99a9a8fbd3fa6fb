// Connections besides the pool: the migrations of a start, and the one that hears wake-ups.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { Loop } from '../../src/lib/loop.ts'
import { realRandom } from '../../src/lib/random.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import { migrateWhenReachable } from '../../src/postgres/connection/migrate.ts'
import { DatabaseWakeup } from '../../src/postgres/connection/wakeup.ts'
import { databaseWaited } from '../../src/telemetry/events.ts'
import { startProxy } from '../chaos/proxy.ts'
import { cleanUp } from '../cleanup.ts'
import { connect, createDatabase, openDatabase } from '../database.ts'
import { until } from '../e2e/api.ts'
import { useProxy } from './carillon.ts'

const deps = {
  clock: { monotonicMs: () => performance.now() },
  timers: realTimers,
  signal: new AbortController().signal,
}

test('the answers to several commits of the migrations are lost: the start goes on by itself', async (t) => {
  const address = await createDatabase(t, { template: 'empty' })
  const proxy = await startProxy({ target: { path: join(address.socketDir, '.s.PGSQL.5432') } })
  cleanUp(t, () => proxy.close())
  const fast = { ...realTimers, wait: (ms: number, signal?: AbortSignal) => realTimers.wait(ms / 20, signal) }
  proxy.swallowCommitReplies({ next: 5 })
  await migrateWhenReachable({ ...deps, timers: fast }, { url: proxy.databaseUrl(address.database) })
  assert.equal(proxy.swallowed, 5)
  const client = await connect(t, address)
  assert.equal((await client.query('SELECT FROM jobs')).rowCount, 0)
})

test('a start that meets a server which takes no writes waits until it does', async (t) => {
  const address = await createDatabase(t, { template: 'empty' })
  const client = await connect(t, address)
  await client.query(`ALTER DATABASE ${address.database} SET default_transaction_read_only = on`)
  const waited = databaseWaited.next()
  const started = migrateWhenReachable(deps, address)
  assert.match((await waited).error, /read-only/)
  await client.query(`ALTER DATABASE ${address.database} RESET default_transaction_read_only`)
  await started
  assert.equal((await client.query('SELECT FROM jobs')).rowCount, 0)
})

test('a listener that a network has silently lost notices, and hears again', async (t) => {
  const { address, openProxy } = await useProxy(t)
  const [lost, sound] = [await openProxy(), await openProxy()]
  const fast = { ...realTimers, wait: (ms: number, signal?: AbortSignal) => realTimers.wait(ms / 10, signal) }
  const wakeupOn = (url: string, self: string) => {
    const database = openDatabase(t, address)
    const wakeup = new DatabaseWakeup({ timers: fast, database, address: { url } }, self)
    cleanUp(t, () => wakeup[Symbol.asyncDispose]())
    return wakeup
  }
  const listener = wakeupOn(lost.url, 'listener')
  const sender = wakeupOn(sound.url, 'sender')
  let heard = 0
  let failures = 0
  listener.on('queue', () => (heard += 1))
  const loop = new Loop(
    { timers: realTimers, random: realRandom },
    {
      name: 'listen',
      idleMs: 20,
      step: (signal) => listener.listen(signal),
      onFailure: () => (failures += 1),
    },
  )
  cleanUp(t, () => loop[Symbol.asyncDispose]())
  await until(() => (heard > 0 ? true : null), 'it listens')
  // Open connections stay open, and no answer comes through any more.
  lost.proxy.halfOpen('to-server')
  await until(() => (failures > 0 ? true : null), 'it has given the connection up')
  lost.proxy.resume()
  const before = heard
  await until(() => {
    sender.send('queue')
    return heard > before + 1 ? true : null
  }, 'it hears again')
})
