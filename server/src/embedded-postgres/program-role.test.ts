// The program uses its database as the owner of it, not as the superuser.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import test, { type TestContext } from 'node:test'
import pg from 'pg'
import { cleanUp } from '../../test/cleanup.ts'
import { makeTemporaryDir } from '../../test/data-dir.ts'
import { realTimers } from '../lib/time/timers.ts'
import { migrate } from '../postgres/connection/migrate.ts'
import { databaseHandedOver } from '../telemetry/events.ts'
import { EmbeddedPostgres } from './embedded-postgres.ts'

const deps = { clock: { monotonicMs: () => performance.now() }, timers: realTimers }

async function setup(t: TestContext) {
  const dataDir = await makeTemporaryDir('carillon-role-')
  cleanUp(t, () => rm(dataDir, { recursive: true, maxRetries: 10 }))
  return async () => {
    const embedded = await EmbeddedPostgres.open(deps, { dataDir })
    cleanUp(t, () => embedded.stop(5_000))
    return embedded
  }
}

async function connect(
  { socketDir }: EmbeddedPostgres,
  user: string,
  database = 'carillon',
): Promise<pg.Client> {
  const client = new pg.Client({ host: socketDir, user, database })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** The tables and functions of the schema that belong to another role. */
async function foreignObjects(embedded: EmbeddedPostgres): Promise<unknown[]> {
  const client = await connect(embedded, 'postgres')
  const { rows } = await client.query(`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relowner <> 'carillon'::regrole
    UNION ALL
    SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proowner <> 'carillon'::regrole
    UNION ALL
    SELECT datname FROM pg_database WHERE datname = 'carillon' AND datdba <> 'carillon'::regrole`)
  await client.end()
  return rows
}

const migrateDeps = { ...deps, signal: new AbortController().signal }

test('the role of the program owns its database, makes roles, sees all sessions, and is no superuser', async (t) => {
  const embedded = await (await setup(t))()
  await migrate(migrateDeps, { socketDir: embedded.socketDir, database: 'carillon' })
  assert.deepEqual(await foreignObjects(embedded), [])
  const client = await connect(embedded, 'carillon')
  cleanUp(t, () => client.end())
  const { rows } = await client.query(
    'SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user',
  )
  const others = { rolcreatedb: false, rolreplication: false, rolbypassrls: false }
  assert.deepEqual(rows, [{ rolsuper: false, rolcreaterole: true, ...others }])
  // The superuser's session that holds the lock: without the right its state would be null.
  const { rows: sessions } = await client.query(
    `SELECT state FROM pg_stat_activity WHERE usename = 'postgres' AND datname = 'postgres'`,
  )
  assert.deepEqual(sessions, [{ state: 'idle' }])
  await assert.rejects(client.query(`COPY (SELECT 1) TO PROGRAM 'true'`), { code: '42501' })
  await assert.rejects(client.query('ALTER SYSTEM SET jit = on'), { code: '42501' })
})

/** As an earlier version left it: no role, everything of the superuser. */
async function makeOld(open: () => Promise<EmbeddedPostgres>, isCutShort: boolean): Promise<void> {
  const embedded = await open()
  const admin = await connect(embedded, 'postgres', 'postgres')
  await admin.query('DROP DATABASE carillon')
  await admin.query('DROP ROLE carillon')
  await admin.query('CREATE DATABASE carillon')
  const url = `postgres://postgres@/carillon?host=${encodeURIComponent(embedded.socketDir)}`
  await migrate(migrateDeps, { url })
  const client = await connect(embedded, 'postgres')
  await client.query(
    `CREATE TABLE of_a_person (n integer); CREATE ROLE person; ALTER TABLE of_a_person OWNER TO person`,
  )
  if (isCutShort) {
    await client.query('CREATE ROLE carillon LOGIN CREATEROLE; GRANT pg_read_all_stats TO carillon')
    await client.query('ALTER TABLE jobs OWNER TO carillon')
  }
  await client.end()
  await admin.end()
  await embedded.stop(5_000)
}

for (const isCutShort of [false, true]) {
  const state = isCutShort ? 'half handed over by a start that was killed' : 'of an earlier version'
  test(`a database ${state} is handed over to the role of the program`, async (t) => {
    const open = await setup(t)
    await makeOld(open, isCutShort)
    const handedOver = databaseHandedOver.next()
    const embedded = await open()
    const { objects } = await handedOver
    assert(objects > 60, `${objects}`)
    assert.deepEqual(await foreignObjects(embedded), [{ name: 'of_a_person' }])
    const client = await connect(embedded, 'carillon')
    cleanUp(t, () => client.end())
    await client.query('ALTER TABLE jobs ADD of_the_next_version integer')
    await client.query('DELETE FROM jobs')
    await embedded.stop(5_000)
    await open()
  })
}
