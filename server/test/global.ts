// Before all tests: one real PostgreSQL of each version of this run (15, 18 or both) from npm packages, through our own
// embedded engine, with the migrated schema as a template. After them: stopped, their data removed.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { EmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.ts'
import { programRole } from '../src/lib/program-role.ts'
import { realTimers } from '../src/lib/time/timers.ts'
import { migrate } from '../src/postgres/connection/migrate.ts'
import { makeTemporaryDir, setTemplate } from './data-dir.ts'
import {
  POSTGRES_VERSIONS,
  type PostgresVersion,
  packageOf,
  socketDirVariable,
  templateName,
} from './database.ts'

const clock = { monotonicMs: () => performance.now() }
/** The data is thrown away, so it need not survive a power cut, and no standby follows. */
const settings = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '300',
  // It would find a hundred databases that are dropped soon, and change the statistics of some.
  autovacuum: 'off',
}
const servers: { postgres: EmbeddedPostgres; dir: string }[] = []

export async function globalSetup(): Promise<void> {
  servers.push(...(await Promise.all(POSTGRES_VERSIONS.map(start))))
}

export async function globalTeardown(): Promise<void> {
  await Promise.all(
    servers.map(async ({ postgres, dir }) => {
      await postgres[Symbol.asyncDispose]()
      await rm(dir, { recursive: true, force: true })
    }),
  )
}

async function start(version: PostgresVersion) {
  const dir = await makeTemporaryDir(`carillon-test-${version}-`)
  const open = () =>
    EmbeddedPostgres.open(
      { clock, timers: realTimers },
      { dataDir: dir, packageName: packageOf(version), settings },
    )
  let postgres = await open()
  const { socketDir } = postgres
  const database = 'carillon'
  const { signal } = new AbortController()
  await migrate({ clock, timers: realTimers, signal }, { socketDir, database })
  // The embedded PostgreSQL of servers that tests start.
  if (version === 18) {
    await postgres[Symbol.asyncDispose]()
    const template = join(dir, 'template')
    await mkdir(template)
    await setTemplate(dir, template)
    postgres = await open()
  }
  const client = new pg.Client({ host: postgres.socketDir, user: 'postgres', database: 'postgres' })
  await client.connect()
  // Copying this template is faster than copying a database in use.
  await client.query(`CREATE DATABASE ${templateName} TEMPLATE ${database} STRATEGY FILE_COPY`)
  await client.end()
  await prepareTemplate(postgres.socketDir)
  process.env[socketDirVariable(version)] = postgres.socketDir
  return { postgres, dir }
}

/**
 * Leaves the days around today: the migrations make two weeks of them, and every session that meets them first reads all
 * their indexes (a new database and its first statements: 90 ms of CPU with 16 days, see kept-database.ts).
 */
async function prepareTemplate(socketDir: string): Promise<void> {
  const client = new pg.Client({ host: socketDir, user: 'postgres', database: templateName })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(`
    SELECT inhrelid::regclass::text AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE relkind = 'r' AND right(relname, 8) > to_char((clock_timestamp() AT TIME ZONE 'UTC')::date + 2, 'YYYYMMDD')`)
  for (const { name } of rows) await client.query(`DROP TABLE ${name}`)
  // Tests make tables as the superuser, and the program writes to some of them.
  await client.query(`ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO ${programRole}`)
  await client.end()
}
