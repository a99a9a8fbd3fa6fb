// Before all tests: one real PostgreSQL of each supported end (15 and 18) from npm packages, through our own
// embedded engine, with the migrated schema as a template. After them: both stopped, their data removed.
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { EmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.ts'
import { realTimers } from '../src/lib/time/timers.ts'
import { migrate } from '../src/postgres/connection/migrate.ts'
import {
  POSTGRES_VERSIONS,
  type PostgresVersion,
  packageOf,
  socketDirVariable,
  templateName,
} from './database.ts'

const clock = { monotonicMs: () => performance.now() }
const freeBytesMin = 2 * 1024 ** 3
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

/** Memory where there is enough of it: a new database takes 15 ms there and up to 300 ms on a busy disk. */
async function fastestDir(): Promise<string> {
  const memory = '/dev/shm'
  const freeBytes = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return freeBytes > freeBytesMin ? memory : tmpdir()
}

async function start(version: PostgresVersion) {
  const dir = await mkdtemp(join(await fastestDir(), `carillon-test-${version}-`))
  const postgres = await EmbeddedPostgres.open(
    { clock, timers: realTimers },
    // The data is thrown away, so it need not survive a power cut.
    { dataDir: dir, packageName: packageOf(version), settings: { fsync: 'off', max_connections: '300' } },
  )
  const { socketDir } = postgres
  const client = new pg.Client({ host: socketDir, user: 'postgres', database: 'postgres' })
  await client.connect()
  await client.query(`CREATE DATABASE ${templateName}`)
  await client.end()
  await migrate(
    { clock, timers: realTimers, signal: new AbortController().signal },
    { socketDir, database: templateName },
  )
  process.env[socketDirVariable(version)] = socketDir
  return { postgres, dir }
}
