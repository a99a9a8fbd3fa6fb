// The implementations that every suite runs on: memory, and PostgreSQL 15 and 18. A suite knows only the ports, the
// time it is there and the helpers of `scenario.ts`; PostgreSQL's clock cannot be advanced, so tests look back.
import type { TestContext } from 'node:test'
import type pg from 'pg'
import { RollupFold } from '../../src/history/fold-rollups.ts'
import { StatsFold } from '../../src/history/fold-stats.ts'
import { UuidV7 } from '../../src/lib/id.ts'
import { realRandom } from '../../src/lib/random.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { ROLLUP_SOURCES } from '../../src/ports/rollups.ts'
import type { Database } from '../../src/postgres/connection/database.ts'
import { openPostgresStore } from '../../src/postgres/open-store.ts'
import { POSTGRES_VERSIONS, type PostgresVersion } from '../database.ts'
import { openKeptPool, useKeptDatabase } from '../kept-database.ts'
import { openMemory } from './open-memory.ts'
import { createScenario, type ScenarioStore } from './scenario.ts'

/** Helpers that the suites need besides the ports. */
export interface StoreBundle extends ScenarioStore {
  /** Returns when the clock has moved on. */
  tick(): Promise<void>
  /** A tenant beside the default one, on a tier of its own. */
  addTenant(weight: number): Promise<string>
  /**
   * Makes the lease of every worker and of every process with the role `history` look as if its last beat were this much
   * older, and the end of workers that are gone.
   */
  ageLeases(ms: number): Promise<void>
  /** Makes all that was recorded look this many days older. */
  ageHistory(days: number): Promise<void>
  /** Folds all that has ended into the statistics. */
  foldStats(): Promise<void>
  /** Folds all records into the rollups that dashboards read. */
  foldRollups(): Promise<void>
  /** Makes executions that wait to be claimed look this much older. */
  ageQueue(ms: number): Promise<void>
  /** Makes skips look a minute old. */
  ageSkips(): Promise<void>
  /** Makes the answers that are kept look this much older. */
  ageRequests(ms: number): Promise<void>
  /** Makes the next steps of operations due this much sooner, and their ends look this much older. */
  ageOperations(ms: number): Promise<void>
  /** Makes the deletes of tenants look this much older, and the next steps of their end due this much sooner. */
  ageTenants(ms: number): Promise<void>
  /** Makes the deadlines of executions come this much sooner, and claims of batches look this much older. */
  ageDeadlines(ms: number): Promise<void>
  /** Makes budgets earn so much time's worth at once. */
  ageBudgets(ms: number): Promise<void>
  /** Whether writes can be rolled back: a dry run, a step that failed. */
  canUndo: boolean
}

export type StoreScenario = Awaited<ReturnType<typeof createScenario<StoreBundle>>>
export type Suite = (name: string, setup: (t: TestContext) => Promise<StoreScenario>) => void

export function testOnStores(suite: Suite): void {
  suite('memory', async () => createScenario(openMemory()))
  for (const version of POSTGRES_VERSIONS) {
    suite(`PostgreSQL ${version}`, async (t) => createScenario(await openPostgres(t, version)))
  }
}

/** `client`: for queries that no port offers. */
export async function openPostgres(
  t: TestContext,
  version: PostgresVersion,
): Promise<StoreBundle & { client: pg.Client }> {
  const { sessions: database, client } = await useKeptDatabase(t, version, {
    name: 'stores',
    open: openKeptPool,
  })
  return bundlePostgres({ database, client })
}

/** The ports on a database that has our schema already. */
export function bundlePostgres({
  database,
  client,
}: {
  database: Database
  client: pg.Client
}): StoreBundle & { client: pg.Client } {
  const ids = new UuidV7(() => epochMs(Date.now()), realRandom)
  const store = openPostgresStore(database)
  const { rollups } = store
  return {
    client,
    ...store,
    ids,
    async now() {
      const { rows } = await client.query('SELECT to_ms(clock_ms()) AS now')
      return epochMs(Number(rows[0].now))
    },
    async tick() {
      await client.query('SELECT pg_sleep(0.002)')
    },
    async addTenant(weight) {
      const tenantId = ids.next()
      await client.query(`INSERT INTO tiers VALUES ($1, $2, 365)`, [tenantId, weight])
      await client.query(`INSERT INTO tenants (tenant_id, name, tier) VALUES ($1::uuid, $1, $1)`, [tenantId])
      return tenantId
    },
    async ageLeases(ms) {
      for (const table of ['workers', 'history_processes', 'api_processes'])
        await client.query(`UPDATE ${table} SET beat_at = beat_at - $1 * interval '1 millisecond'`, [ms])
      const older = (column: string) => `${column} = ${column} - $1 * interval '1 millisecond'`
      await client.query(`UPDATE former_workers SET ${older('ended_at')}, ${older('shown_until')}`, [ms])
    },
    async ageHistory(days) {
      await ageAttempts(client, days * 1_440)
      const older = (column: string) => `${column} = ${column} - make_interval(days => $1)`
      await client.query(`UPDATE graph_runs SET ${older('created_at')}, ${older('finished_at')}`, [days])
      await client.query(`UPDATE job_versions SET ${older('created_at')}`, [days])
      await client.query(`UPDATE jobs SET ${older('deleted_at')}`, [days])
      await client.query(`UPDATE version_notes SET ${older('due_at')}`, [days])
    },
    async foldStats() {
      // A fold stays a minute behind the clock, and takes ten seconds of history at a time.
      await ageAttempts(client, 2)
      await client.query(`UPDATE stats_feed SET folded_to = clock_ms() - interval '10 minutes'`)
      const fold = new StatsFold(rollups)
      while ((await fold.step()) === 'more');
    },
    async foldRollups() {
      // Attempts recorded in this millisecond are left to the next fold.
      await client.query('SELECT pg_sleep(0.002)')
      for (const source of ROLLUP_SOURCES) {
        const fold = new RollupFold(rollups, source, { lagMs: 0 })
        while ((await fold.step()) === 'more');
      }
      while ((await rollups.foldDays()) === 'more');
    },
    async ageQueue(ms) {
      await client.query(`UPDATE batches SET enqueued_at = enqueued_at - $1 * interval '1 millisecond'`, [ms])
    },
    async ageSkips() {
      await client.query(`UPDATE skips SET changed_at = changed_at - interval '1 minute'`)
    },
    async ageRequests(ms) {
      await client.query(
        `UPDATE idempotency_keys SET created_at = created_at - $1 * interval '1 millisecond'`,
        [ms],
      )
    },
    async ageOperations(ms) {
      const older = (column: string) => `${column} = ${column} - $1 * interval '1 millisecond'`
      await client.query(`UPDATE operations SET ${older('next_at')}, ${older('finished_at')}`, [ms])
    },
    async ageBudgets(ms) {
      await client.query(
        `UPDATE execution_budgets SET counted_at = counted_at - $1 * interval '1 millisecond'`,
        [ms],
      )
    },
    async ageTenants(ms) {
      const older = (column: string) => `${column} = ${column} - $1 * interval '1 millisecond'`
      await client.query(`UPDATE tenants SET ${older('deleted_at')}, ${older('purge_at')}`, [ms])
      await client.query(`UPDATE tenant_work SET ${older('deleted_at')}, ${older('next_at')}`, [ms])
      await client.query(`UPDATE jobs SET ${older('paused_at')}`, [ms])
    },
    async ageDeadlines(ms) {
      const sooner = (column: string) => `${column} = ${column} - $1 * interval '1 millisecond'`
      const columns = ['deadline', 'silent_at', 'total_deadline'].map(sooner)
      await client.query(`UPDATE live SET ${columns.join(', ')}`, [ms])
      await client.query(`UPDATE batches SET ${sooner('claimed_at')}`, [ms])
    },
    canUndo: true,
  }
}

async function ageAttempts(client: pg.Client, minutes: number): Promise<void> {
  const older = `(recorded_at - make_interval(mins => $1))`
  await client.query(
    `SELECT make_day('attempts', d) FROM (
      SELECT DISTINCT (${older} AT TIME ZONE 'UTC')::date AS d FROM attempts) x`,
    [minutes],
  )
  await client.query(`UPDATE attempts SET recorded_at = ${older}`, [minutes])
  // The existing rollups are for the old times of these attempts.
  await client.query('SELECT refold_rollups(min(recorded_at)) FROM attempts HAVING count(*) > 0')
}
