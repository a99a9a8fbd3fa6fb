// Shows the checker builds that are broken in one line, each under a short load of the real driver: it must go red with
// the broken invariant. The chaos run shows that it is silent on a sound build.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import type pg from 'pg'
import { realTimers } from '../../src/lib/time/timers.ts'
import { cleanUp } from '../cleanup.ts'
import { makeEmptyDataDir } from '../data-dir.ts'
import { connect, createDatabase } from '../database.ts'
import { launcher, Program } from '../e2e/program.ts'
import { plantedVariable } from '../planted/planted-bug.ts'
import { check } from './check.ts'
import { type DriverOptions, startDriver } from './driver.ts'
import { FILES, LineWriter } from './history.ts'
import { startReceiver } from './receiver.ts'

const key = 'crl_the_key_of_a_broken_build_0123456'
const register = join(import.meta.dirname, '../planted/register.ts')
/** They wait for outcomes, on a machine that others use. */
const testMs = 300_000
/** For a worker that is killed: its lease expires, and its executions run again. */
const reclaimMs = 16_000
/** Long enough for a backend to begin a statement it was sent, short for a lease. */
const backendMs = 1_000
/** One of them runs again, the others are dropped; two more may be cancelled meanwhile. */
const heldMin = 4
const quietMsMax = 10_000

suite('a broken build is found', { concurrency: 2 }, () => {
  test('a slot that has neither an execution nor a skip is I1', { timeout: testMs }, async (t) => {
    const { start, load, findsOnly } = await setup(t, 'buffered slot not written')
    const { url } = await start('api,scheduler,worker,history')
    // Few slots find the one before them under way: the target is quick.
    await load({ apiUrls: [url] }, () => realTimers.wait(25_000))
    await findsOnly('I1')
  })

  test('a retry that comes before its time is I17', { timeout: testMs }, async (t) => {
    const { start, load, findsOnly } = await setup(t, 'retry woken at once')
    const { url } = await start('api,scheduler,worker,history')
    await load({ apiUrls: [url] }, () => realTimers.wait(15_000))
    await findsOnly('I17')
  })

  test('two at once under a key for one is I20', { timeout: testMs }, async (t) => {
    const { start, load, findsOnly } = await setup(t, 'key limit not counted')
    const { url } = await start('api,scheduler,worker,history')
    await load({ apiUrls: [url] }, () => realTimers.wait(15_000))
    await findsOnly('I20')
  })

  test('an execution that a dead worker held and that nobody runs again is reported as I14', {
    timeout: testMs,
  }, async (t) => {
    const { start, load, findsOnly, faults, client } = await setup(t, 'reclaim drops held executions')
    const { url } = await start('api,scheduler,history')
    const { program } = await start('worker')
    await load({ apiUrls: [url] }, async () => {
      const stoppedAt = Date.now()
      await stopHolding(client, program)
      const at = Date.now()
      // A call that was just starting when its worker was stopped arrives after a cancel that was answered meanwhile.
      faults.write({ at: stoppedAt, kind: 'pause', target: 'worker-1', until: at, details: {} })
      for (const pid of program.tree()) process.kill(pid, 'SIGKILL')
      faults.write({ at, kind: 'kill', target: 'worker-1', until: null, details: {} })
      await start('worker')
      await realTimers.wait(reclaimMs)
    })
    await findsOnly('I14')
  })
})

/** Pauses a worker at a moment when it holds executions in batches, and none of them is just being finished. */
async function stopHolding(client: pg.Client, { child }: Program): Promise<void> {
  for (;;) {
    child.kill('SIGSTOP')
    // Statements it had already sent go on without it, some only when a backend gets its turn.
    const holds = await holdsIdly(client)
    if (holds) await realTimers.wait(backendMs)
    if (holds && (await holdsIdly(client))) return
    child.kill('SIGCONT')
    await realTimers.wait(20)
  }
}

async function holdsIdly(client: pg.Client): Promise<boolean> {
  if (await isBusy(client)) return false
  const { rows } = await client.query<{ held: number }>(
    `SELECT coalesce(sum(cardinality(positions) - (SELECT count(*) FROM jsonb_object_keys(cancels))), 0)::int AS held
    FROM batches WHERE worker_id IS NOT NULL`,
  )
  return rows[0]!.held >= heldMin
}

/**
 * Slots come by the second: in the middle of a second, when nothing is under way, servers may stop without leaving
 * executions that only fired. One statement sees all of them, also one that is just between two attempts, which the
 * driver's questions over the API may miss in a build that wakes retries at once. A broken build may have left some
 * for good: then waiting does not help.
 */
async function midSecond(client: pg.Client): Promise<void> {
  const untilMs = Date.now() + quietMsMax
  while (Date.now() < untilMs) {
    const { rows } = await client.query<{ quiet: boolean }>(
      `SELECT to_ms(clock_ms()) % 1000 BETWEEN 300 AND 600 AND NOT EXISTS (SELECT FROM batches)
        AND NOT EXISTS (SELECT FROM live) AS quiet`,
    )
    if (rows[0]!.quiet) return
    await realTimers.wait(20)
  }
}

/**
 * Looks only for statements of workers: schedulers are never idle for long, and a worker that stands still for that
 * long is dead.
 */
async function isBusy(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ busy: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'
      AND pid <> pg_backend_pid() AND query ~ '^/\\* (claim|finish|return|findOwn)') AS busy`,
  )
  return rows[0]!.busy
}

async function setup(t: TestContext, bug: string) {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-planted-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const address = await createDatabase(t)
  const { socketDir, database } = address
  const databaseUrl = `postgres://carillon@localhost/${database}?host=${encodeURIComponent(socketDir)}`
  const receiver = await startReceiver(dir, 0)
  cleanUp(t, () => receiver[Symbol.asyncDispose]())
  const faults = new LineWriter(join(dir, FILES.faults))
  cleanUp(t, () => faults.close())
  const programs: Program[] = []
  const client = await connect(t, address)
  return {
    faults,
    client,
    async start(roles: string) {
      const program = new Program(t, {
        command: [process.execPath, '--import', register, launcher, 'start'],
        dataDir: await makeEmptyDataDir(t),
        env: {
          [plantedVariable]: bug,
          CARILLON_DATABASE_URL: databaseUrl,
          CARILLON_API_KEY: key,
          CARILLON_ROLES: roles,
          CARILLON_PROCESSES: '1',
        },
      })
      programs.push(program)
      if (roles.startsWith('api')) return { program, url: await program.ready() }
      await program.says(/is ready\.[\s\S]*Ctrl-C/)
      return { program, url: '' }
    },
    async load({ apiUrls }: Pick<DriverOptions, 'apiUrls'>, meanwhile: () => Promise<void>) {
      const { url: receiverUrl } = receiver
      const driver = startDriver({
        dir,
        apiUrls,
        key,
        receiverUrl,
        seed: 7,
        ratePerSecond: 25,
        longCalls: false,
      })
      await driver.started
      await meanwhile()
      await driver.stop()
      await driver.drained()
    },
    async findsOnly(invariant: string) {
      await midSecond(client)
      // Its jobs would go on: calls made between two polls would belong to no process.
      for (const { child, exit } of programs) {
        child.kill('SIGTERM')
        await exit
      }
      const { violations } = await check({ dir, databaseUrl })
      assert(violations.length > 0, 'it is found')
      const others = violations.filter((one) => one.invariant !== invariant)
      assert.deepEqual(others, [], JSON.stringify(violations.slice(0, 20), null, 2))
    },
  }
}
