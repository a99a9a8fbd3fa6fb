// The plans of the hot statements on a large database, as the store's own pool plans them: none reads a whole table,
// neither its rows nor an index of it from end to end.
import assert from 'node:assert/strict'
import test from 'node:test'
import type pg from 'pg'
import { useDatabase } from '../../test/database.ts'
import { defaultTenantId } from '../domain/tenant.ts'
import { type Sql, sql } from '../lib/sql.ts'
import { cancelBatched, cancelLive } from './cancel-pending.sql.ts'
import { selectState } from './change-job.sql.ts'
import type { Database } from './database.ts'
import { selectExecution, selectStats } from './history.sql.ts'
import { foldStats } from './job-stats.sql.ts'
import * as jobStatements from './jobs.sql.ts'
import { claimWork, findOwn, finishBatches, finishLive, selectWaiting } from './queue.sql.ts'
import * as searchStatements from './search.sql.ts'
import { fireSlots, loadCursors, loadNoted, lockCursors, takeNotes } from './slots.sql.ts'
import {
  reclaimBatches,
  reclaimLive,
  releaseWaiting,
  selectNextRetry,
  selectWaitingJobs,
  wakeRetries,
} from './upkeep.sql.ts'

const tables = ['cursors', 'job_versions', 'jobs', 'slots', 'attempts', 'live', 'batches']

// 100,000 jobs with a version, a cursor and a slot each; 2,000 batches of 100, a tenth of them held; 20,000 rows in
// live, of which 2,000 wait, 2,000 retry and 6,000 are held; 200,000 attempts over four days; 500 jobs owe slots.
const fill = `
  INSERT INTO workers (worker_id, host, version, labels, capacity)
    SELECT md5('worker' || n)::uuid, 'a', '1', '{}', 100 FROM generate_series(0, 9) AS n;
  INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    SELECT md5(n::text)::uuid, '${defaultTenantId}', 1, now(), now(), 'a', ARRAY['t' || n % 100], 'a' || n
    FROM generate_series(1, 100000) AS n;
  INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy,
    priority, overlap_policy, misfire_policy, metadata)
    SELECT job_id, 1, tenant_id, 'a', '{}', '{"type":"CRON"}', now(), json_build_object('payload', repeat('x', 200)), '{}',
      5, 'SKIP', 'FIRE_ONCE', '{}' FROM jobs;
  INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at)
    SELECT job_id, '${defaultTenantId}', get_byte(uuid_send(job_id), 15) % 64, 1, 'ACTIVE', at, at FROM (
      SELECT job_id, date_trunc('second', now()) + random() * interval '1 day' AS at FROM jobs) j;
  INSERT INTO slots SELECT job_id, date_trunc('second', now()) - (n % 80000) * interval '1 second',
    execution_at(md5('batch' || n / 100)::uuid, (n % 100)::int)
    FROM (SELECT job_id, row_number() OVER (ORDER BY job_id) - 1 AS n FROM jobs) j;
  INSERT INTO batches (batch_id, route, lane, priority, enqueued_at, rank, worker_id, fence, positions, job_ids, versions,
    slots_ms)
    SELECT batch_of(md5('batch' || b)::uuid), 'server', 'shared', 5, now(), now() + b * interval '1 ms',
      CASE WHEN b % 10 = 0 THEN md5('worker' || b % 7)::uuid END, 1, array_agg(n % 100 ORDER BY n),
      array_agg(job_id ORDER BY n), array_agg(1), array_agg(1)
    FROM (SELECT job_id, n, n / 100 AS b FROM (
      SELECT job_id, row_number() OVER (ORDER BY job_id) - 1 AS n FROM jobs, generate_series(1, 2)) j) j GROUP BY b;
  INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
    ready_at, worker_id, fence, attempt)
    SELECT md5('live' || n)::uuid, md5(n::text)::uuid, 1, '${defaultTenantId}', 'trigger', state, 'server', 'shared', 5,
      now(), now(), now() + n * interval '1 ms', CASE state WHEN 'retrying' THEN now() + n * interval '1 s' END,
      CASE state WHEN 'running' THEN md5('worker' || n % 7)::uuid END, 1, 1
    FROM (SELECT n, (ARRAY['ready', 'ready', 'ready', 'ready', 'ready', 'running', 'running', 'running', 'waiting',
      'retrying'])[n % 10 + 1] AS state FROM generate_series(1, 20000) AS n) n;
  SELECT make_day('attempts', (now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(2, 4) AS n;
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
    enqueued_at)
    SELECT at, '${defaultTenantId}', md5((n % 100000 + 1)::text)::uuid, 1,
      (lpad(to_hex(to_ms(at)), 12, '0') || left(md5(n::text), 20))::uuid, 1, true, 'slot',
      CASE WHEN n % 20 = 0 THEN 'failed' ELSE 'succeeded' END, at, at
    FROM (SELECT n, now() - n * interval '1.6 s' AS at FROM generate_series(1, 200000) AS n) n;
  INSERT INTO catchups SELECT md5(n::text)::uuid, now() - interval '1 minute', now() FROM generate_series(1, 500) AS n;
  INSERT INTO changes SELECT partition_id, job_id FROM cursors LIMIT 2000`

const job = 'md5(n::text)::uuid'
const tenant = `SELECT '${defaultTenantId}'::uuid`
const lastId = `SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`
/** A search with all conditions. */
const conditions = [
  ...[
    lastId,
    `SELECT '-infinity'`,
    `SELECT '{failed}'::text[]`,
    `SELECT 'slot'`,
    `SELECT 'TIMEOUT'`,
    'SELECT true',
  ],
  ...[`SELECT 'infinity'`, `SELECT 't7'`, `SELECT 'a'`],
]
const conditionTypes = 'uuid, uuid, timestamptz, text[], text, text, boolean, timestamptz, text, text'
const ending = `json_build_object('k', 'ended', 'o', 'succeeded', 's', 0, 'z', 0, 'd', 1, 'h', 200, 'w', 'done')`

/** Each parameter as an expression that is evaluated first; types as the statement has them. */
const hot: { statement: Sql; values: string[]; types: string }[] = [
  {
    statement: loadCursors,
    values: [
      `SELECT json_agg(json_build_object('id', n, 'due', NULL, 'job', NULL)) FROM generate_series(0, 63) AS n`,
      `SELECT to_ms(now() + interval '1 minute')`,
      'SELECT 1000',
      `SELECT to_ms(now() + interval '1 hour')`,
    ],
    types: 'json, float8, bigint, float8',
  },
  {
    statement: takeNotes,
    values: ['SELECT array_agg(n) FROM generate_series(0, 63) AS n', 'SELECT 5000'],
    types: 'smallint[], bigint',
  },
  {
    statement: loadNoted,
    values: [`SELECT array_agg(${job}) FROM generate_series(1, 2000) AS n`, `SELECT to_ms('9999-01-01')`],
    types: 'uuid[], float8',
  },
  {
    statement: lockCursors,
    values: [`SELECT json_agg(${job}) FROM generate_series(1, 1000) AS n`],
    types: 'json',
  },
  {
    statement: fireSlots,
    values: [
      `SELECT json_agg(json_build_object('j', ${job}, 'v', 1, 's', to_ms(date_trunc('second', now())), 'd', 0,
        'e', execution_at(md5('new' || n / 100)::uuid, n % 100), 'b', batch_of(md5('new' || n / 100)::uuid), 'o', n % 100,
        'r', 'server', 'l', 'shared', 'p', 5, 'al', false, 'la', n % 10 = 0, 'mi', false,
        'ps', to_ms(date_trunc('second', now())) - 1000)) FROM generate_series(1, 1000) AS n`,
    ],
    types: 'json',
  },
  { statement: selectWaiting, values: [`SELECT 'server'`, 'SELECT 256'], types: 'text, bigint' },
  {
    statement: claimWork,
    values: [
      `SELECT md5('worker1')::uuid`,
      `SELECT 'server'`,
      `SELECT '[{"l":"shared","n":250}]'`,
      `SELECT '[{"h":"example.com","n":10}]'`,
      'SELECT 100',
    ],
    types: 'uuid, text, json, json, bigint',
  },
  {
    statement: finishBatches,
    values: [
      `SELECT md5('worker1')::uuid`,
      `SELECT json_agg(json_build_object('b', batch_of(md5('batch' || b * 10)::uuid), 'f', 1, 'r', (
        SELECT json_agg(json_build_object('p', p, 'k', 'ended', 'o', 'failed', 's', 0, 'z', 0, 'd', 1, 'h', 500,
          't', 'HTTP_ERROR', 'm', 'no', 'x', 'NOT_RETRYABLE')) FROM generate_series(0, 99) AS p)))
        FROM generate_series(1, 20) AS b`,
    ],
    types: 'uuid, json',
  },
  {
    statement: finishLive,
    values: [
      `SELECT md5('worker1')::uuid`,
      `SELECT json_agg((json_build_object('e', md5('live' || n)::uuid, 'f', 1)::jsonb || (${ending})::jsonb))
        FROM generate_series(1, 2000) AS n`,
    ],
    types: 'uuid, json',
  },
  {
    statement: findOwn,
    values: [
      `SELECT md5('worker1')::uuid`,
      `SELECT json_agg(json_build_object('e', execution_id, 'n', 1)) FROM (
        SELECT execution_id FROM attempts ORDER BY recorded_at DESC LIMIT 2000) a`,
    ],
    types: 'uuid, json',
  },
  { statement: wakeRetries, values: ['SELECT 1000'], types: 'bigint' },
  { statement: selectNextRetry, values: [], types: '' },
  {
    statement: selectWaitingJobs,
    values: [`SELECT '00000000-0000-0000-0000-000000000000'::uuid`, 'SELECT 500'],
    types: 'uuid, bigint',
  },
  {
    statement: releaseWaiting,
    values: [
      `SELECT json_agg(json_build_object('j', ${job}, 'v', 1, 's', to_ms(now()), 'n', to_ms(now()) + 1000,
        'e', md5('owed' || n)::uuid, 'r', 'server', 'l', 'shared', 'p', 5)) FROM generate_series(1, 500) AS n`,
    ],
    types: 'json',
  },
  {
    statement: reclaimBatches,
    values: [`SELECT md5('worker1')::uuid`, `SELECT 'lost'`],
    types: 'uuid, text',
  },
  {
    statement: reclaimLive,
    values: [`SELECT md5('worker1')::uuid`, `SELECT 'lost'`, 'SELECT 5'],
    types: 'uuid, text, int',
  },
  {
    statement: selectExecution,
    values: [
      `SELECT '${defaultTenantId}'::uuid`,
      'SELECT execution_id FROM attempts ORDER BY recorded_at LIMIT 1',
      `SELECT now() - interval '5 days'`,
      'SELECT 3600000',
    ],
    types: 'uuid, uuid, timestamptz, float8',
  },
  {
    statement: jobStatements.selectJob,
    values: [tenant, `SELECT md5('7')::uuid`],
    types: 'uuid, uuid',
  },
  {
    statement: jobStatements.listJobs,
    values: [tenant, lastId, `SELECT 't7'`, `SELECT 'a1'`, 'SELECT 0', 'SELECT 50000', 'SELECT 51'],
    types: 'uuid, uuid, text, text, bigint, bigint, bigint',
  },
  {
    statement: jobStatements.listJobsByStatus,
    values: [
      tenant,
      lastId,
      'SELECT NULL',
      'SELECT NULL',
      'SELECT 0',
      'SELECT 51',
      'SELECT 51',
      `SELECT 'PAUSED'`,
    ],
    types: 'uuid, uuid, text, text, bigint, bigint, bigint, text',
  },
  {
    statement: jobStatements.countJobs,
    values: [tenant, 'SELECT NULL', 'SELECT NULL', 'SELECT 10001'],
    types: 'uuid, text, text, bigint',
  },
  {
    statement: jobStatements.lockJobs,
    values: [
      `SELECT json_agg(json_build_object('t', (${tenant}), 'j', ${job})) FROM generate_series(1, 200) AS n`,
    ],
    types: 'json',
  },
  { statement: selectState, values: [`SELECT md5('7')::uuid`], types: 'uuid' },
  {
    statement: cancelBatched,
    values: [`SELECT md5('7')::uuid`, 'SELECT NULL', 'SELECT NULL', `SELECT 'gone'`],
    types: 'uuid, uuid, uuid, text',
  },
  {
    statement: cancelLive,
    values: [`SELECT md5('7')::uuid`, 'SELECT NULL', `SELECT 'gone'`],
    types: 'uuid, uuid, text',
  },
  { statement: selectStats, values: [`SELECT md5('7')::uuid`, 'SELECT 365'], types: 'uuid, int' },
  { statement: foldStats, values: ['SELECT 10000'], types: 'float8' },
  ...[searchStatements.listOfJob, searchStatements.listFailedOfJob].map((statement) => ({
    statement,
    values: [
      `SELECT md5('7')::uuid`,
      ...conditions,
      'SELECT 10000',
      'SELECT 51',
      tenant,
      'SELECT 20000',
      'SELECT 10000',
    ],
    types: `${conditionTypes}, bigint, bigint, uuid, bigint, bigint`,
  })),
  ...[searchStatements.listOfTenant, searchStatements.listFailedOfTenant].map((statement) => ({
    statement,
    values: [tenant, ...conditions, 'SELECT 10000', 'SELECT 51', tenant, 'SELECT 20000', 'SELECT 500'],
    types: `${conditionTypes}, bigint, bigint, uuid, bigint, bigint`,
  })),
  ...[searchStatements.countOfTenant, searchStatements.countFailedOfTenant].map((statement) => ({
    statement,
    values: [tenant, ...conditions, 'SELECT 10000', tenant],
    types: `${conditionTypes}, bigint, uuid`,
  })),
  {
    statement: jobStatements.insertTriggers,
    values: [
      `SELECT json_agg(json_build_object('n', n, 'e', gen_random_uuid(), 'j', ${job}, 'l', 'shared'))
        FROM generate_series(1, 200) AS n`,
      `SELECT 'server'`,
      'SELECT 2',
    ],
    types: 'json, text, int',
  },
]

interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  'Index Name'?: string
  Plans?: Node[]
}

/** Reads no more than the first rows, in the order of the index. */
const bounding = ['Limit', 'LockRows', 'Result', 'Append', 'Merge Append']

/** The tables that a plan reads from one end to the other, in whatever order; days by the name of their parent. */
function wholeReads(node: Node, bounded = false): string[] {
  const { 'Node Type': type, 'Relation Name': name = '', 'Index Cond': condition } = node
  const relation = name.replace(/_\d{8}$/, '')
  const whole =
    type === 'Seq Scan' || (/^Index( Only)? Scan$/.test(type) && condition === undefined && !bounded)
  // A bitmap names only its index, which begins with the name of its table.
  if (type === 'Bitmap Index Scan' && condition === undefined) return [`${node['Index Name']} by ${type}`]
  const below = type === 'Limit' || (bounded && bounding.includes(type))
  const found = (node.Plans ?? []).flatMap((plan) => wholeReads(plan, below))
  return whole && tables.includes(relation) ? [`${relation} by ${type}`, ...found] : found
}

async function planOf(client: pg.Client, { statement, values, types }: (typeof hot)[number]): Promise<Node> {
  const literals: string[] = []
  for (const value of values) {
    const { rows } = await client.query<{ value: string }>(`SELECT quote_nullable((${value})::text) AS value`)
    literals.push(rows[0]!.value)
  }
  const name = `plan_${statement.name.toLowerCase()}`
  await client.query(`PREPARE ${name}${types && `(${types})`} AS ${statement.text}`)
  const call = `${name}${literals.length > 0 ? `(${literals.join(', ')})` : ''}`
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE ${call}`)
  await client.query(`DEALLOCATE ${name}`)
  return rows[0]['QUERY PLAN'][0].Plan
}

/** Plans as the pool of the store does. */
async function adopt(database: Database, client: pg.Client): Promise<void> {
  const settings = sql('selectPlannerSettings')`
    SELECT name, setting FROM pg_settings WHERE name LIKE 'enable_%' OR name IN ('plan_cache_mode', 'jit', 'random_page_cost')`
  const { rows } = await database.query<{ name: string; setting: string }>(settings, [])
  for (const { name, setting } of rows)
    await client.query('SELECT set_config($1, $2, false)', [name, setting])
}

for (const analyzed of [true, false]) {
  test(`no hot statement reads a whole table${analyzed ? '' : ' when nothing was ever analyzed'}`, async (t) => {
    const { client, database } = await useDatabase(t)
    await client.query(fill)
    if (analyzed) await client.query('VACUUM ANALYZE')
    await adopt(database, client)
    const found: string[] = []
    for (const one of hot) {
      for (const whole of new Set(wholeReads(await planOf(client, one))))
        found.push(`${one.statement.name}: ${whole}`)
    }
    assert.deepEqual(found, [])
  })
}
