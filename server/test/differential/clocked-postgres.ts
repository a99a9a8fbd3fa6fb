// PostgreSQL on the clock of a simulation: functions of our own precede the ones of pg_catalog in the search path, so
// every default, trigger and statement of the schema reads the time that was set last.
import type { TestContext } from 'node:test'
import pg from 'pg'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import type { RunSteps } from '../../src/ports/graph-runs.ts'
import { addressOf, type Database } from '../../src/postgres/connection/database.ts'
import { migrate } from '../../src/postgres/connection/migrate.ts'
import { rowTypes } from '../../src/postgres/connection/rows.ts'
import { PostgresRunSteps } from '../../src/postgres/graphs/run-steps.ts'
import { openPostgresStore } from '../../src/postgres/open-store.ts'
import { cleanUp } from '../cleanup.ts'
import { createDatabase, openDatabase, type PostgresVersion } from '../database.ts'
import type { Ports } from './history.ts'

export interface ClockedPostgres {
  ports: Ports
  /** Beside the pool: to look at the tables. */
  client: pg.Client
  setClock(at: EpochMs): Promise<void>
}

// A sequence and not a table: it is seen at once by every session, and leaves no dead rows.
const clockFunctions = `
  CREATE SEQUENCE public.simulated_ms;
  CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS $$ SELECT 'epoch'::timestamptz + last_value * interval '1 millisecond' FROM public.simulated_ms $$;
  CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT 'epoch'::timestamptz + last_value * interval '1 millisecond' FROM public.simulated_ms $$;`

// Of executions with the same rank, a claim takes the ones that its index has first. The memory store goes by id; here the
// indexes do so too. A real clock hardly ever makes two ranks equal, the clock of a simulation often does.
const rankThenId = `
  DROP INDEX batches_waiting, live_ready, live_for_host;
  CREATE INDEX batches_waiting ON batches (route, lane, rank, batch_id) WHERE worker_id IS NULL;
  CREATE INDEX live_ready ON live (route, lane, rank, execution_id) WHERE state = 'ready' AND host IS NULL;
  CREATE INDEX live_for_host ON live (route, host, rank, execution_id) WHERE state = 'ready' AND host IS NOT NULL;`

export async function openClockedPostgres(
  t: TestContext,
  options: { version: PostgresVersion; startAt: EpochMs; tenantIds: readonly string[] },
): Promise<ClockedPostgres> {
  const { version, startAt, tenantIds } = options
  const address = await createDatabase(t, { version, template: 'empty' })
  const config = { ...addressOf(address), types: rowTypes }
  const setup = new pg.Client(config)
  await setup.connect()
  await setup.query(clockFunctions)
  // For future sessions, including the migration, so that the functions it binds use our clock.
  await setup.query(`ALTER DATABASE ${address.database} SET search_path = public, pg_catalog`)
  await setup.end()
  const client = new pg.Client(config)
  await client.connect()
  cleanUp(t, () => client.end())
  const setClock = async (at: EpochMs) => {
    await client.query({ name: 'setClock', text: `SELECT setval('simulated_ms', $1)`, values: [at] })
  }
  await setClock(startAt)
  const clock = { monotonicMs: () => performance.now() }
  await migrate({ clock, timers: realTimers, signal: new AbortController().signal }, address)
  await client.query(rankThenId)
  for (const tenantId of tenantIds)
    await client.query(`INSERT INTO tenants (tenant_id, name, tier) VALUES ($1::uuid, $1, 'unlimited')`, [
      tenantId,
    ])
  const database = openDatabase(t, address)
  const ports = { ...openPostgresStore(database), runSteps: openRunSteps(database) }
  return { ports, client, setClock }
}

/** Where its round through open runs is, each process knows for itself; here all servers of a history would share it. */
function openRunSteps(database: Database): RunSteps {
  const steps = new PostgresRunSteps(database)
  return {
    findNoted: (...args) => new PostgresRunSteps(database).findNoted(...args),
    step: (...args) => steps.step(...args),
    prune: (limit) => steps.prune(limit),
  }
}
