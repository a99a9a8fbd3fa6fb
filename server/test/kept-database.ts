// Databases that the tests in a process use one after the other, with sessions that stay open: emptied after each test
// instead of copied anew. A new database and the first statements of its sessions take PostgreSQL 90 ms of CPU time,
// emptying one takes 5 ms. A database that differs from a new one in anything but its rows is dropped.
import { after, type TestContext } from 'node:test'
import type pg from 'pg'
import { realRandom } from '../src/lib/random.ts'
import type { Sql } from '../src/lib/sql.ts'
import { realTimers } from '../src/lib/time/timers.ts'
import { Database, type Queries, type Rows } from '../src/postgres/connection/database.ts'
import { cleanUp } from './cleanup.ts'
import { makeDatabase, openClient, type PostgresVersion, type TestAddress } from './database.ts'

export interface KeptSessions extends AsyncDisposable {
  /** False: a test has left something in them. */
  readonly areFree: boolean
}

export interface Recipe<Sessions extends KeptSessions> {
  /** Databases with the same name are interchangeable. */
  name: string
  /** Adds to the migrated schema. */
  prepare?(client: pg.Client): Promise<void>
  open(address: TestAddress): Sessions
}

interface Kept<Sessions> {
  address: TestAddress
  /** For the test. */
  client: pg.Client
  sessions: Sessions
  /** A session of ours: it has the first rows of every table, in temporary tables that no other session sees. */
  keeper: pg.Client
  empty: string
  schema: string
  dispose(): Promise<void>
}

/** Above it, the dead rows that a test leaves would slow the next one down. */
const deletedRowsMax = 2_000
const idleMsMax = 5_000

/** In the application name of every session that stays. */
export const keptName = 'kept'

const unused = new Map<string, Kept<never>[]>()
after(async () => {
  for (const kept of [...unused.values()].flat()) await kept.dispose()
  unused.clear()
})

/** A database as new, with a client and the recipe's sessions. A setting of the database that a test changes is not theirs. */
export async function useKeptDatabase<Sessions extends KeptSessions>(
  t: TestContext,
  version: PostgresVersion,
  recipe: Recipe<Sessions>,
): Promise<Pick<Kept<Sessions>, 'address' | 'client' | 'sessions'>> {
  const key = `${recipe.name} ${version}`
  const free = unused.get(key) ?? []
  unused.set(key, free)
  const kept = (free.pop() as Kept<Sessions> | undefined) ?? (await make(version, recipe))
  cleanUp(t, async () => {
    let isAsNew = false
    try {
      isAsNew = await restore(kept)
    } finally {
      if (isAsNew) free.push(kept as Kept<never>)
      else await kept.dispose()
    }
  })
  return kept
}

async function make<Sessions extends KeptSessions>(
  version: PostgresVersion,
  { prepare, open }: Recipe<Sessions>,
): Promise<Kept<Sessions>> {
  const { address, drop } = await makeDatabase({ version })
  const keeper = await openClient(address, keptName)
  const client = await openClient(address, keptName)
  await prepare?.(client)
  const sessions = open(address)
  const dispose = async () => {
    await sessions[Symbol.asyncDispose]()
    await Promise.all([client.end(), keeper.end()])
    await drop()
  }
  const { rows } = await keeper.query<{ name: string; filled: boolean }>(`
    SELECT relname AS name, (xpath('/row/f/text()', query_to_xml(
      format('SELECT EXISTS (SELECT FROM %I) AS f', relname), false, true, '')))[1]::text = 'true' AS filled
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`)
  const filled = rows.filter((table) => table.filled).map(({ name }) => name)
  const sequences = await keeper.query<{ call: string }>(`
    SELECT format('SELECT setval(%L, %s, %L)', relname, coalesce(last_value, 1), last_value IS NOT NULL) AS call
    FROM pg_class JOIN pg_sequences ON sequencename = relname WHERE relkind = 'S' AND schemaname = 'public'`)
  for (const name of filled) await keeper.query(`CREATE TEMPORARY TABLE first_${name} AS TABLE ${name}`)
  // As a replica: no trigger runs, and no foreign key asks for an order.
  const empty = [
    'BEGIN; SET LOCAL session_replication_role = replica',
    ...rows.map(({ name }) => `DELETE FROM ${name}`),
    ...filled.map((name) => `INSERT INTO ${name} OVERRIDING SYSTEM VALUE TABLE first_${name}`),
    ...sequences.rows.map(({ call }) => call),
    'COMMIT',
  ].join(';\n')
  return { address, client, sessions, keeper, empty, schema: await readSchema(keeper), dispose }
}

/** A pool that knows whether a test has left a statement in it. */
export class KeptPool extends Database implements KeptSessions {
  #underWay = 0

  get areFree(): boolean {
    return this.#underWay === 0
  }

  override query<R extends object>(statement: Sql, values: readonly unknown[]): Promise<Rows<R>> {
    return this.#count(super.query<R>(statement, values))
  }

  override transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#count(super.transaction(work))
  }

  #count<T>(work: Promise<T>): Promise<T> {
    this.#underWay += 1
    const end = () => {
      this.#underWay -= 1
    }
    work.then(end, end)
    return work
  }
}

export function openKeptPool(address: TestAddress): KeptPool {
  const deps = { timers: realTimers, random: realRandom }
  return new KeptPool(deps, { name: keptName, address, connectionsMax: 4 })
}

/** Whether the database is as new. */
async function restore({ client, keeper, empty, sessions, schema }: Kept<KeptSessions>): Promise<boolean> {
  if (!sessions.areFree) return false
  try {
    await client.query('DISCARD ALL')
  } catch {
    return false // its backend was killed
  }
  await untilIdle(keeper)
  if ((await readSchema(keeper)) !== schema) return false
  const results = (await keeper.query(empty)) as unknown as pg.QueryResult[]
  const deletes = results.filter(({ command }) => command === 'DELETE')
  return deletes.reduce((sum, { rowCount }) => sum + rowCount!, 0) <= deletedRowsMax
}

/** A statement that the test did not wait for would change rows of the next test. Sessions of the test itself end. */
async function untilIdle(keeper: pg.Client): Promise<void> {
  const startedMs = performance.now()
  while (true) {
    const { rows } = await keeper.query<{ application_name: string; state: string; query: string }>({
      name: 'busy',
      text: `SELECT application_name, state, query,
          application_name NOT LIKE '%${keptName}' AND pg_terminate_backend(pid) AS ended
        FROM pg_stat_activity a
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
          AND (application_name NOT LIKE '%${keptName}' OR state <> 'idle' OR EXISTS (
            SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory'))`,
    })
    if (rows.length === 0) return
    if (performance.now() - startedMs > idleMsMax)
      throw new Error(`still under way after the test: ${JSON.stringify(rows)}`)
  }
}

/** Differs as soon as a function, a trigger, a table, an index, a statistic or a setting of the database does. */
async function readSchema(keeper: pg.Client): Promise<string> {
  const rows = `concat(count(*), ' ', sum(xmin::text::bigint)`
  const found = await keeper.query<{ schema: string }>({
    name: 'readSchema',
    text: `SELECT concat_ws(', ',
      (SELECT ${rows}) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
      (SELECT ${rows}) FROM pg_trigger),
      (SELECT ${rows}, ' ', sum(reltuples)) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
      (SELECT ${rows}) FROM pg_db_role_setting WHERE setdatabase = (
        SELECT oid FROM pg_database WHERE datname = current_database()))) AS schema`,
  })
  return found.rows[0]!.schema
}
