// Single sessions are ended, killed and hang under load: the pool replaces them, no lease is lost, nothing else either.
import assert from 'node:assert/strict'
import test from 'node:test'
import type pg from 'pg'
import { realTimers } from '../../src/lib/time/timers.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import { loopFailed, schedulerExpelled, workerReclaimed } from '../../src/telemetry/events.ts'
import { until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { assertWhole } from '../races/invariants.ts'
import { rollDice } from '../races/sessions.ts'
import {
  assertAllRan,
  assertEachSlotOnce,
  assertOnlyUnavailable,
  Customer,
  startCarillon,
  untilWorking,
} from './carillon.ts'
import { startOwnPostgres } from './postgres.ts'

const terminationsMin = 25

/** The sessions of Carillon, the one of its leases among them. */
async function sessionsOf(client: pg.Client): Promise<{ pid: number; name: string }[]> {
  const { rows } = await client.query<{ pid: number; name: string }>(
    `SELECT pid, application_name AS name FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'carillon %' ORDER BY pid`,
  )
  return rows
}

test('sessions that are ended, killed or hang cost nothing but a repetition', async (t) => {
  const postgres = await startOwnPostgres(t)
  const strange: unknown[] = []
  const expelled: string[] = []
  using _failed = loopFailed.subscribe(({ error }) => {
    if (!(error instanceof Unavailable)) strange.push(error)
  })
  using _reclaimed = workerReclaimed.subscribe(({ workerId }) => expelled.push(workerId))
  using _expelled = schedulerExpelled.subscribe(({ schedulerId }) => expelled.push(schedulerId))
  const { server, api } = await startCarillon(t, { url: postgres.url })
  const receiver = await startReceiver(t)
  const execution = { callback_url: receiver.url }
  const { job_id: jobId } = await api.post<{ job_id: string }>('/jobs', {
    ...{ name: 'tick', schedule: '* * * * * *', execution, overlap_policy: 'ALLOW' },
  })
  const customers = [1, 2, 3].map((n) => new Customer(t, server.url!, execution, `customer-${n}`))
  await untilWorking(receiver, customers)

  await t.test('one after the other is ended, whichever it is', async () => {
    const dice = rollDice(t)
    const client = await postgres.connect(t)
    const names = new Set<string>()
    const pools = ['carillon lease', 'carillon listen', 'carillon main', 'carillon reads']
    for (let count = 0; count < terminationsMin || names.size < pools.length; count++) {
      const sessions = await sessionsOf(client)
      if (sessions.length > 0) {
        const { pid, name } = dice.pick(sessions)
        names.add(name)
        await client.query('SELECT pg_terminate_backend($1)', [pid])
      }
      await realTimers.wait(20)
    }
    assert.deepEqual([...names].sort(), pools)
    await untilWorking(receiver, customers)
  })

  await t.test('one is killed, so that PostgreSQL ends them all and recovers', async () => {
    const client = await postgres.connect(t)
    const [{ pid } = assert.fail()] = await sessionsOf(client)
    // Not by `once` of node:events: it fails with the error that comes first.
    const ended = new Promise<void>((resolve) => client.once('end', () => resolve()))
    process.kill(pid, 'SIGKILL')
    await ended
    await untilWorking(receiver, customers)
  })

  await t.test('some hang, the one of the leases among them', async () => {
    const client = await postgres.connect(t)
    const workers = 'SELECT worker_id, beats FROM workers'
    const { rows: before } = await client.query(workers)
    // It is back with the first beat after the recovery.
    const sessions = await until(async () => {
      const all = await sessionsOf(client)
      return all.some(({ name }) => name === 'carillon lease') ? all : null
    }, 'the lease has its connection')
    const lease = sessions.filter(({ name }) => name === 'carillon lease')
    const main = sessions.filter(({ name }) => name === 'carillon main').slice(0, 4)
    const stopped = [...lease, ...main].map(({ pid }) => pid)
    try {
      for (const pid of stopped) await stopIdle(client, pid)
      // Every caller that waits for one of them gives it up; the lease is renewed on another connection.
      await until(async () => {
        const { rows } = await client.query(workers)
        assert.deepEqual([rows[0]?.worker_id], [before[0].worker_id])
        return Number(rows[0].beats) >= Number(before[0].beats) + 2 ? true : null
      }, 'the worker beats on')
      await untilWorking(receiver, customers)
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT')
    }
  })

  await Promise.all(customers.map((one) => one.stop()))
  const client = await postgres.connect(t)
  await assertAllRan(client, customers)
  for (const { refused } of customers) assertOnlyUnavailable(refused)
  await assertEachSlotOnce(client, { jobId, receiver })
  await assertWhole(client)
  assert.deepEqual(strange, [])
  assert.deepEqual(expelled, [])
})

/**
 * Stops a backend where it holds no lock: a backend that hangs with a lock blocks everybody that needs it, and nothing
 * can help that. A backend that reports idle may still be writing its statistics, which all write to; a backend that
 * waits for its client is not.
 */
async function stopIdle(client: pg.Client, pid: number): Promise<void> {
  await until(async () => {
    process.kill(pid, 'SIGSTOP')
    const looked = 'SELECT state, wait_event FROM pg_stat_activity WHERE pid = $1'
    const { rows } = await client.query(looked, [pid])
    if (rows[0].state === 'idle' && rows[0].wait_event === 'ClientRead') return true
    process.kill(pid, 'SIGCONT')
    return null
  }, `the session ${pid} stops while it is idle`)
}
