// Others hold the resources we need: every connection of the pool, a table, rows of a process that was paused within
// its transaction. Nobody waits without end, no lease is lost, and all goes on afterwards.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type pg from 'pg'
import { realTimers } from '../../src/lib/time/timers.ts'
import { schedulerExpelled, workerReclaimed } from '../../src/telemetry/events.ts'
import { cleanUp } from '../cleanup.ts'
import { connect, createDatabase } from '../database.ts'
import { until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { assertWhole, watchFlags } from '../races/invariants.ts'
import {
  type Answer,
  assertAllRan,
  assertEachSlotOnce,
  assertOnlyUnavailable,
  Customer,
  get,
  startCarillon,
  untilRefused,
  untilWorking,
} from './carillon.ts'

/** As many as a server has connections. */
const connectionsMax = 16
/** So many that a lease which had to wait with them would be lost. */
const readersCount = 5 * connectionsMax

async function setup(t: TestContext, customersCount: number) {
  const address = await createDatabase(t)
  const client = await connect(t, address)
  await watchFlags(client)
  const url = `postgres://carillon@/${address.database}?host=${encodeURIComponent(address.socketDir)}`
  const { server, api } = await startCarillon(t, { url })
  const receiver = await startReceiver(t)
  const execution = { callback_url: receiver.url }
  const { job_id: jobId } = await api.post<{ job_id: string }>('/jobs', {
    ...{ name: 'tick', schedule: '* * * * * *', execution, overlap_policy: 'ALLOW' },
  })
  const customers = Array.from(
    { length: customersCount },
    (_, n) => new Customer(t, server.url!, execution, `customer-${n}`),
  )
  await untilWorking(receiver, customers)
  return { address, url, server, client, receiver, jobId, customers, operator: await connect(t, address) }
}

type Scene = Awaited<ReturnType<typeof setup>>

async function assertAllWell(scene: Scene): Promise<void> {
  const { client, customers } = scene
  await untilWorking(scene.receiver, customers)
  await Promise.all(customers.map((one) => one.stop()))
  await assertAllRan(client, customers)
  for (const { refused } of customers) assertOnlyUnavailable(refused)
  await assertEachSlotOnce(client, scene)
  await assertWhole(client)
}

/**
 * Of the workers and their executions, which are read on the main pool; lists of jobs have a pool of their own. Returns a
 * function that stops the reader and returns the refused answers.
 */
function readOnAndOn(t: TestContext, { server }: Scene): () => Promise<Answer[]> {
  const refused: Answer[] = []
  let stopped = false
  const read = async () => {
    while (!stopped) {
      const answer = await get(server.url!, '/workers?limit=1')
      if (answer.status !== 200) refused.push(answer)
      await realTimers.wait(50)
    }
  }
  const done = read()
  const stop = async () => {
    stopped = true
    await done
    return refused
  }
  cleanUp(t, stop)
  return stop
}

interface Leases {
  workers: string[]
  schedulers: string[]
  /** Of the worker. */
  beats: number
}

async function leasesOf(client: pg.Client): Promise<Leases> {
  const { rows } = await client.query<Leases>(
    `SELECT (SELECT array_agg(worker_id::text) FROM workers) AS workers, (SELECT max(beats)::int FROM workers) AS beats,
      (SELECT array_agg(scheduler_id::text) FROM schedulers) AS schedulers`,
  )
  return rows[0]!
}

test('while every connection of the pool is held, leases are renewed and the API says 503; then all goes on', async (t) => {
  const taken: string[] = []
  using _reclaimed = workerReclaimed.subscribe(({ workerId }) => taken.push(workerId))
  using _expelled = schedulerExpelled.subscribe(({ schedulerId }) => taken.push(schedulerId))
  const scene = await setup(t, 3)
  const { client, operator, customers } = scene
  // Writes are gathered into few statements; reads are not.
  const readers = Array.from({ length: readersCount }, () => readOnAndOn(t, scene))
  const before = await leasesOf(client)
  // Every request that creates a job waits for the lock, each for as long as lock_timeout allows, and then comes the
  // next.
  await operator.query('BEGIN')
  await operator.query('LOCK TABLE jobs, cursors, batches, live IN ACCESS EXCLUSIVE MODE')
  const heldMost = { connections: 0 }
  // A worker's lease is over after three beats that did not come.
  await until(async () => {
    const { rows } = await client.query<{ held: number }>(
      `SELECT count(*)::int AS held FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'carillon main' AND wait_event_type = 'Lock'`,
    )
    heldMost.connections = Math.max(heldMost.connections, rows[0]!.held)
    return (await leasesOf(client)).beats >= before.beats + 5 ? true : null
  }, 'the worker has beaten for longer than its lease')
  assert.equal(heldMost.connections, connectionsMax)
  await untilRefused(customers)
  await operator.query('ROLLBACK')
  for (const stop of readers) assertOnlyUnavailable(await stop())
  await assertAllWell(scene)
  const { workers, schedulers } = await leasesOf(client)
  assert.deepEqual([workers, schedulers, taken], [before.workers, before.schedulers, []])
})

test('a process that is stopped within its transaction keeps its locks for two seconds, and none of its writes', async (t) => {
  const scene = await setup(t, 3)
  const { url, client } = scene
  const script = join(import.meta.dirname, 'lock-and-wait.ts')
  const child = spawn(process.execPath, [script, url], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  cleanUp(t, async () => {
    child.kill('SIGKILL')
    await exit
  })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk))
  await until(() => (said.includes('locked') ? true : null), 'it holds its locks')
  child.kill('SIGSTOP')
  const holders = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'carillon paused'`
  assert.equal((await client.query(holders)).rowCount, 1)
  // Nobody fires or changes a job as long as it does.
  await until(
    async () => ((await client.query(holders)).rowCount === 0 ? true : null),
    'its session is ended',
  )
  await untilWorking(scene.receiver, scene.customers)
  child.kill('SIGCONT')
  child.stdin.end('go on\n')
  await exit
  assert.match(said, /^locked\nUnavailable/)
  assert.equal((await client.query('SELECT FROM cursors WHERE runs = 77')).rowCount, 0)
  await assertAllWell(scene)
})
