import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { connect, createDatabase, POSTGRES_VERSIONS } from '../../../test/database.ts'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import { StopRequested } from '../../lib/operating-error.ts'
import { realTimers } from '../../lib/time/timers.ts'
import { migrationApplied, schemaMigrated, schemaNewer } from '../../telemetry/events.ts'
import { migrate, migrateWhenReachable } from './migrate.ts'

const clock = { monotonicMs: () => performance.now() }
const deps = { clock, timers: realTimers, signal: new AbortController().signal }

async function setup(t: TestContext, files: Record<string, string>) {
  const address = await createDatabase(t, { template: 'empty' })
  const dir = await mkdtemp(join(tmpdir(), 'carillon-migrations-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  const client = await connect(t, address)
  const applied = async () =>
    (await client.query<{ name: string }>('SELECT name FROM schema_migrations ORDER BY number')).rows.map(
      (r) => r.name,
    )
  return { address, dir, client, applied, run: () => migrate(deps, address, dir) }
}

const files = {
  '0001-a.sql': 'CREATE TABLE a (n int)',
  '0002-b.sql': 'INSERT INTO a VALUES (1); CREATE TABLE b (n int)',
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: an empty database gets our whole schema, and a second run changes nothing`, async (t) => {
    const address = await createDatabase(t, { version, template: 'empty' })
    await migrate(deps, address)
    let again = 0
    using _ = migrationApplied.subscribe(() => again++)
    await migrate(deps, address)
    assert.equal(again, 0)
  })
}

test('eight processes that start at once apply every migration once, and one of them says so', async (t) => {
  const { client, applied, run } = await setup(t, files)
  const said: number[] = []
  using _ = schemaMigrated.subscribe(({ steps }) => void said.push(steps))
  await Promise.all(Array.from({ length: 8 }, run))
  assert.deepEqual(await applied(), ['0001-a.sql', '0002-b.sql'])
  assert.equal((await client.query('SELECT * FROM a')).rowCount, 1)
  assert.deepEqual(said, [2])
})

test('a migration that fails leaves nothing behind, names itself, and is applied once it is mended', async (t) => {
  const { dir, client, applied, run } = await setup(t, {
    ...files,
    '0003-c.sql': 'CREATE TABLE c (n int); SELECT 1/0',
  })
  await assert.rejects(run(), /Migration 0003-c\.sql failed: division by zero/)
  assert.deepEqual(await applied(), ['0001-a.sql', '0002-b.sql'])
  await assert.rejects(client.query('SELECT * FROM c'), { code: '42P01' })
  await writeFile(join(dir, '0003-c.sql'), 'CREATE TABLE c (n int)')
  await run()
  assert.equal((await applied()).length, 3)
})

test('an applied migration with a changed text is refused', async (t) => {
  const { dir, run } = await setup(t, files)
  await run()
  await writeFile(join(dir, '0001-a.sql'), 'CREATE TABLE a (n bigint)')
  await assert.rejects(run(), /0001-a\.sql differs from the one that was applied/)
})

test('an older program runs on the schema of a newer one, and says so', async (t) => {
  const { dir, run } = await setup(t, files)
  await run()
  await rm(join(dir, '0002-b.sql'))
  const said = schemaNewer.next()
  await run()
  assert.deepEqual(await said, { known: 1, found: 2 })
})

test('a database that does not exist stops the start at once with a reason', async (t) => {
  const { address } = await setup(t, {})
  const timers = { wait: () => assert.fail('must not wait'), schedule: () => assert.fail() }
  await assert.rejects(
    migrateWhenReachable({ ...deps, timers }, { ...address, database: 'no_such_database' }),
    /CARILLON_DATABASE_URL cannot be used: database "no_such_database" does not exist/,
  )
})

test('a database that is not there yet is tried again until the stop', async () => {
  const stop = new AbortController()
  const waits: number[] = []
  const timers = {
    async wait(ms: number) {
      if (waits.push(ms) === 3) stop.abort()
    },
    schedule: () => assert.fail(),
  }
  const away = { url: 'postgres://a:secret@127.0.0.1:1/b' }
  await assert.rejects(migrateWhenReachable({ clock, timers, signal: stop.signal }, away), StopRequested)
  assert.deepEqual(waits, [1_000, 1_000, 1_000])
})

test('a database that stays away ends the start after a minute, without its password', async () => {
  const world = createVirtualWorld()
  const timers = { wait: (ms: number) => world.advance(ms), schedule: () => assert.fail() }
  const away = { url: 'postgres://a:secret@127.0.0.1:1/b' }
  await assert.rejects(
    migrateWhenReachable({ ...deps, clock: world.clock, timers }, away),
    (error: Error) =>
      /cannot be used: connect ECONNREFUSED/.test(error.message) && !error.message.includes('secret'),
  )
})

test('a migration that waits for another one can be stopped', async (t) => {
  const { address, dir, client } = await setup(t, files)
  await client.query('SELECT pg_advisory_lock(7420, 2)')
  const stop = new AbortController()
  const timers = { ...realTimers, wait: async () => stop.abort() }
  await assert.rejects(migrate({ clock, timers, signal: stop.signal }, address, dir), StopRequested)
})
