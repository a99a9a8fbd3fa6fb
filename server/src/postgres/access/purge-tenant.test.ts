// A purge leaves nothing of a tenant in any table: which tables there are is asked of the catalogue.
import assert from 'node:assert/strict'
import test from 'node:test'
import type pg from 'pg'
import { createScenario } from '../../../test/conformance/scenario.ts'
import { openPostgres } from '../../../test/conformance/stores.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { endTenants } from '../../maintenance/end-tenants.ts'

/** Rows of a tenant outside of jobs ($1 the tenant, $2 a job of it), which the scenario does not make. */
const fills: readonly string[] = [
  `INSERT INTO active_jobs VALUES ($1, 1, clock_ms())`,
  `INSERT INTO execution_budgets VALUES ($1, 1, clock_ms())`,
  `INSERT INTO storage_usage (tenant_id) VALUES ($1)`,
  `INSERT INTO log_days VALUES ($1, current_date, 1)`,
  `INSERT INTO calendars VALUES ($1, 'holidays', NULL, '[]', 1, clock_ms(), 'ada', clock_ms(), 'ada')`,
  `INSERT INTO artifacts VALUES ($1, 'bundle', repeat('0', 64), 1, 'x', clock_ms(), 'ada')`,
  `INSERT INTO idempotency_keys VALUES ($1, 'k', 'x', 200, '{}', '', clock_ms())`,
  `INSERT INTO operations (operation_id, tenant_id, kind, status, filter, options, total, total_capped, created_by,
    created_at, finished_at)
    VALUES (gen_random_uuid(), $1, 'pause', 'COMPLETED', '{}', '{}', 0, false, 'ada', clock_ms(), clock_ms())`,
  `INSERT INTO api_keys (key_id, tenant_id, name, prefix, hash, scopes, created_by)
    VALUES (gen_random_uuid(), $1, 'a key', 'crl_', sha256('key'), '{read}', 'ada')`,
  `INSERT INTO sessions (hash, key_hash, expires_at)
    VALUES (sha256('s'), sha256('key'), clock_ms() + interval '1 day')`,
  `INSERT INTO session_codes VALUES (sha256('c'), sha256('key'), clock_ms() + interval '1 day')`,
  `INSERT INTO workers (worker_id, host, version, labels, capacity, tenant_id, executors, handlers, generation)
    VALUES (gen_random_uuid(), 'h', '1', '{}', 1, $1, '{}', '{}', 1)`,
  `INSERT INTO former_workers SELECT gen_random_uuid(), $1, 'h', NULL, '1', '{}', '{}', '{}', 1, clock_ms(), clock_ms(),
    'LEFT', clock_ms(), clock_ms() + interval '1 day'`,
  `INSERT INTO late_slots VALUES ($1, clock_ms(), $2, 'late', 1, NULL, 1, NULL)`,
  `INSERT INTO tenant_activity SELECT $1, 60, clock_ms(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, clock_ms()`,
  `INSERT INTO job_activity SELECT $2, 3600, clock_ms(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0`,
  `INSERT INTO failure_groups VALUES ($1, clock_ms(), $2, 'TIMEOUT', 0, gen_random_uuid(), 'm', 1, clock_ms(), clock_ms(),
    gen_random_uuid())`,
  `INSERT INTO job_health SELECT $2, $1, gen_random_uuid(), 'succeeded', clock_ms(), NULL, NULL, NULL, 0, NULL, NULL`,
  `INSERT INTO job_days VALUES ($2, current_date, 1, 0, 0, 1, 1, gen_random_uuid(), 'succeeded', NULL)`,
  `INSERT INTO catchups VALUES ($2, clock_ms(), clock_ms(), 0, clock_ms(), 0)`,
  `INSERT INTO version_notes VALUES ($2, 0, clock_ms()) ON CONFLICT DO NOTHING`,
  `INSERT INTO changes SELECT partition_id, job_id FROM cursors WHERE job_id = $2 ON CONFLICT DO NOTHING`,
  `INSERT INTO job_edges SELECT $2, job_id, 'success' FROM jobs WHERE tenant_id = $1 AND job_id <> $2 LIMIT 1`,
  `INSERT INTO run_roots VALUES ($2, gen_random_uuid(), gen_random_uuid(), NULL)`,
  `INSERT INTO run_notes (run_id, what, job_id, execution_id, at, tenant_id)
    VALUES (gen_random_uuid(), 'end', $2, gen_random_uuid(), clock_ms(), $1)`,
  `INSERT INTO graph_runs (run_id, tenant_id, kind, slot, status, job_ids, roles, states, unfired, versions,
    execution_ids, edges, created_at)
    VALUES (gen_random_uuid(), $1, 'slot', clock_ms(), 'RUNNING', ARRAY[$2], 'r', 'u', true, '{1}', '{NULL}', '[]',
      clock_ms())`,
  `INSERT INTO logs SELECT tenant_id, execution_id, 1, 1, 1, 1, '[]' FROM attempts WHERE tenant_id = $1`,
]

/** Of each table with rows of tenants or of jobs: how many it has of the tenant. */
async function countRows(client: pg.Client, tenantId: string, jobIds: readonly string[]) {
  const { rows } = await client.query<{ name: string; owned: boolean }>(`
    SELECT c.relname AS name, bool_or(a.attname = 'tenant_id') AS owned
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname IN ('tenant_id', 'job_id')
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    GROUP BY c.relname ORDER BY c.relname`)
  const counts: Record<string, number> = {}
  for (const { name, owned } of rows) {
    const found = owned
      ? await client.query(`SELECT FROM ${name} WHERE tenant_id = $1`, [tenantId])
      : await client.query(`SELECT FROM ${name} WHERE job_id = ANY ($1::uuid[])`, [jobIds])
    counts[name] = found.rowCount!
  }
  for (const name of ['sessions', 'session_codes'])
    counts[name] = (await client.query(`SELECT FROM ${name}`)).rowCount!
  return counts
}

test('a purge deletes the rows of a tenant from every table, and only these', async (t) => {
  const bundle = await openPostgres(t, 18)
  const s = await createScenario(bundle)
  const { client } = bundle
  const add = async (name: string) => {
    const tenantId = s.ids.next()
    await s.tenants.create({ tenantId, name, tier: 'unlimited' })
    const jobs = [await s.createJob({ tenantId }), await s.createJob({ tenantId })]
    await s.fire(jobs[0]!, 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.died())
    return { tenantId, jobIds: jobs.map(({ jobId }) => jobId) }
  }
  const [gone, kept] = [await add('gone'), await add('kept')]
  const literals = { $1: `'${gone.tenantId}'::uuid`, $2: `'${gone.jobIds[0]}'::uuid` }
  for (const fill of fills)
    await client.query(fill.replaceAll(/\$[12]/g, (name) => literals[name as '$1' | '$2']))
  const order = { tenantId: gone.tenantId, operationId: s.ids.next(), requestedBy: 'ada' }
  await s.tenantEnds.delete({ ...order, cancelRunning: false, purgeAfterMs: 0 })
  const before = await countRows(client, gone.tenantId, gone.jobIds)
  const { batches, live, ...others } = before
  assert.deepEqual([batches, live], [undefined, 0], 'executions end before a purge')
  const unfilled = Object.entries(others).filter(([, rows]) => rows === 0)
  assert.deepEqual(
    unfilled.map(([name]) => name),
    ['skips'],
    'a new table needs a row here, and a statement in the purge',
  )
  const keptBefore = await countRows(client, kept.tenantId, kept.jobIds)

  await bundle.ageTenants(60_000)
  const clock = { databaseNow: () => epochMs(Date.now()) }
  const deps = { ...bundle, clock, onChanged() {}, onCancelled() {} }
  for (let steps = 0; steps < 50 && (await endTenants(deps)) === 'more'; steps++);

  const after = Object.entries(await countRows(client, gone.tenantId, gone.jobIds)).filter(
    ([, rows]) => rows > 0,
  )
  assert.deepEqual(Object.fromEntries(after), { operations: 1, tenants: 1 })
  const rest = await countRows(client, kept.tenantId, kept.jobIds)
  assert.deepEqual(
    { ...rest, sessions: 0, session_codes: 0 },
    { ...keptBefore, sessions: 0, session_codes: 0 },
  )
  const { rows } = await client.query('SELECT name FROM tenants WHERE purged_at IS NOT NULL')
  assert.deepEqual(rows, [{ name: 'gone' }])
})
