// Brings the schema up to date: numbered SQL files, forward only, each in its own transaction together with the
// row that says it was applied. One process migrates at a time; the others wait and find nothing to do.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { OperatingError, StopRequested } from '../../lib/operating-error.ts'
import { sql } from '../../lib/sql.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Timers } from '../../ports/timers.ts'
import { databaseWaited, migrationApplied, schemaMigrated, schemaNewer } from '../../telemetry/events.ts'
import { addressOf, type DatabaseAddress, isConnectionError } from './database.ts'

interface Migration {
  number: number
  name: string
  text: string
  checksum: string
}

const lockMsMax = 60_000
const lockEveryMs = 100
const reachableMsMax = 60_000
const reachableEveryMs = 1_000
/** PostgreSQL 15 to 18; a newer one may work and is not refused. */
const serverVersionMin = 150_000

const readServer = sql('readServer')`
  SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS shown,
    current_setting('server_encoding') AS encoding`
const tryMigrationLock = sql('tryMigrationLock')`SELECT pg_try_advisory_lock(7420, 2) AS locked`
const createLedger = sql('createLedger')`
  CREATE TABLE IF NOT EXISTS schema_migrations (
    number     integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
  )`
const selectApplied = sql(
  'selectApplied',
)`SELECT number, name, checksum FROM schema_migrations ORDER BY number`
const insertApplied = sql(
  'insertApplied',
)`INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)`

export interface MigrateDeps {
  clock: Pick<Clock, 'monotonicMs'>
  timers: Timers
  /** Ends a wait, not a migration. */
  signal: AbortSignal
}

export async function migrate(
  deps: MigrateDeps,
  address: DatabaseAddress,
  dir: string = join(import.meta.dirname, '../schema/migrations'),
): Promise<void> {
  const migrations = await readMigrations(dir)
  const client = new pg.Client({
    ...addressOf(address),
    application_name: 'carillon migrate',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  client.on('error', () => {}) // the running statement fails with it
  await client.connect()
  try {
    await checkServer(client)
    await takeLock(deps, client)
    await client.query(createLedger.text)
    const { rows: applied } = await client.query<Omit<Migration, 'text'>>(selectApplied.text)
    const missing = planMigrations(migrations, applied)
    const beganMs = deps.clock.monotonicMs()
    for (const migration of missing) {
      const startedMs = deps.clock.monotonicMs()
      await apply(client, migration)
      const { number, name } = migration
      migrationApplied.emit({ number, name, tookMs: deps.clock.monotonicMs() - startedMs })
    }
    if (missing.length > 0)
      schemaMigrated.emit({ steps: missing.length, tookMs: deps.clock.monotonicMs() - beganMs })
  } finally {
    // Ends the session, and with it the lock.
    await client.end().catch(() => {})
  }
}

/** For a database that may come up after us, as in a compose file; gives up after a minute. */
export async function migrateWhenReachable(deps: MigrateDeps, address: DatabaseAddress): Promise<void> {
  const { signal } = deps
  const startedMs = deps.clock.monotonicMs()
  while (true) {
    try {
      return await migrate(deps, address)
    } catch (error) {
      const waitedMs = deps.clock.monotonicMs() - startedMs
      if (error instanceof OperatingError || error instanceof StopRequested) throw error
      const reason = describe(error)
      if (signal.aborted) throw new StopRequested()
      if (waitedMs > reachableMsMax || !isConnectionError(error)) {
        throw new OperatingError(`The database of CARILLON_DATABASE_URL cannot be used: ${reason}`, {
          cause: error,
        })
      }
      databaseWaited.emit({ waitedMs, error: reason })
      await deps.timers.wait(reachableEveryMs, signal)
    }
  }
}

// An address with several IPs fails with one error for each.
function describe(error: unknown): string {
  const { message, errors } = error as AggregateError
  return message || (errors ?? []).map((one: Error) => one.message).join('; ')
}

/** The migrations not applied yet. Refuses if the text of an applied one was changed since: no schema is known then. */
function planMigrations(
  migrations: readonly Migration[],
  applied: readonly Omit<Migration, 'text'>[],
): Migration[] {
  for (const { number, name, checksum } of applied) {
    const ours = migrations.find((migration) => migration.number === number)
    // A newer version of the program was here: it must keep its schema usable for ours.
    if (ours === undefined) schemaNewer.emit({ known: migrations.length, found: number })
    else if (ours.checksum !== checksum) {
      throw new OperatingError(
        `Migration ${ours.name} differs from the one that was applied to this database as ${name}. ` +
          'An applied migration never changes; restore the file or use the version of Carillon that applied it.',
      )
    }
  }
  const done = new Set(applied.map(({ number }) => number))
  return migrations.filter(({ number }) => !done.has(number))
}

async function readMigrations(dir: string): Promise<Migration[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(dir, name), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      return { number: Number.parseInt(name, 10), name, text, checksum }
    }),
  )
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: number; shown: string; encoding: string }>(readServer.text)
  const { version, shown, encoding } = rows[0]!
  if (version < serverVersionMin) {
    throw new OperatingError(`CARILLON_DATABASE_URL is a PostgreSQL ${shown}; Carillon needs 15 or newer.`)
  }
  if (encoding !== 'UTF8') {
    throw new OperatingError(
      `The database's encoding is ${encoding}; Carillon needs UTF8 (CREATE DATABASE … ENCODING 'UTF8').`,
    )
  }
}

async function takeLock({ clock, timers, signal }: MigrateDeps, client: pg.Client): Promise<void> {
  const startedMs = clock.monotonicMs()
  while (true) {
    const { rows } = await client.query<{ locked: boolean }>(tryMigrationLock.text)
    if (rows[0]!.locked) return
    if (signal.aborted) throw new StopRequested()
    if (clock.monotonicMs() - startedMs > lockMsMax) {
      throw new OperatingError(
        `Another process has been migrating this database for over ${lockMsMax / 1_000} s.`,
      )
    }
    await timers.wait(lockEveryMs, signal)
  }
}

async function apply(client: pg.Client, { number, name, text, checksum }: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(text)
    await client.query(insertApplied.text, [number, name, checksum])
    await client.query('COMMIT')
  } catch (cause) {
    // Whether it was applied is not known; a repeated call finds out.
    if (isConnectionError(cause)) throw cause
    await client.query('ROLLBACK').catch(() => {})
    throw new OperatingError(`Migration ${name} failed: ${(cause as Error).message}`, { cause })
  }
}
