// The plans of the hot statements on a large database, as the store's own pool plans them: none reads a whole table,
// neither its rows nor an index of it from end to end.
import assert from 'node:assert/strict'
import test from 'node:test'
import type pg from 'pg'
import { budgetStatements } from '../../../test/budget-statements.ts'
import { dashboardStatements } from '../../../test/dashboard-statements.ts'
import { useDatabase } from '../../../test/database.ts'
import { graphStatements } from '../../../test/graph-statements.ts'
import { hotFireStatements } from '../../../test/hot-fire-statements.ts'
import { hotRunStatements } from '../../../test/hot-run-statements.ts'
import { type HotStatement, hotStatements } from '../../../test/hot-statements.ts'
import { fillDatabase } from '../../../test/large-database.ts'
import { tenantStatements } from '../../../test/tenant-statements.ts'
import { versionStatements } from '../../../test/version-statements.ts'
import { workerStatementsToPlan } from '../../../test/worker-statements.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { sql } from '../../lib/sql.ts'
import { apiRole, prepareApiRole } from '../connection/api-role.ts'
import type { Database } from '../connection/database.ts'

const tables = [
  ...['cursors', 'job_versions', 'jobs', 'slots', 'attempts', 'live', 'batches', 'job_edges'],
  ...['graph_runs', 'run_roots', 'run_notes', 'job_activity', 'tenant_activity', 'workers', 'former_workers'],
  ...['version_notes', 'job_health'],
]

/** Of a table that is mostly empty and read in full: see deleted-tenants.ts. */
const fenceIndex = 'deleted_tenants_pkey'

interface Node {
  'Node Type': string
  'Parent Relationship'?: string
  'Relation Name'?: string
  'Index Cond'?: string
  'Index Name'?: string
  Plans?: Node[]
}

/** Reads no more than the first rows, in the order of the index. */
const bounding = ['Limit', 'LockRows', 'Result', 'Append', 'Merge Append']

/** The tables that a plan reads in full, in any order; daily partitions by the name of their parent. */
function wholeReads(node: Node, bounded = false): string[] {
  const { 'Node Type': type, 'Relation Name': name = '', 'Index Cond': condition } = node
  const relation = name.replace(/_\d{8}$/, '')
  const whole =
    type === 'Seq Scan' || (/^Index( Only)? Scan$/.test(type) && condition === undefined && !bounded)
  // A bitmap names only its index, which begins with the name of its table.
  const { 'Index Name': index = '' } = node
  if (type === 'Bitmap Index Scan' && condition === undefined)
    return index === fenceIndex ? [] : [`${index} by ${type}`]
  const below = type === 'Limit' || (bounded && bounding.includes(type))
  const found = (node.Plans ?? []).flatMap((plan) => wholeReads(plan, below))
  return whole && tables.includes(relation) ? [`${relation} by ${type}`, ...found] : found
}

async function planOf(client: pg.Client, { statement, values, types }: HotStatement): Promise<Node> {
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
  // As lockCursors leaves it for fireFast, and lockFreeJobs for insertTriggers.
  for (const name of ['unlocked', 'triggered'])
    await client.query(`SELECT set_config('carillon.${name}', '{}', false)`)
}

const statements = [
  ...hotStatements,
  ...graphStatements,
  ...hotRunStatements,
  ...hotFireStatements,
  ...dashboardStatements,
  ...workerStatementsToPlan,
  ...versionStatements,
  ...budgetStatements,
  ...tenantStatements,
]

/** Each with the tables that its plan reads in full. */
async function findWholeReads(client: pg.Client, which = statements): Promise<string[]> {
  const found: string[] = []
  for (const one of which)
    for (const whole of new Set(wholeReads(await planOf(client, one))))
      found.push(`${one.statement.name}: ${whole}`)
  return found
}

test('no hot statement reads a whole table, whether or not the tables were ever analyzed', async (t) => {
  const { client, database } = await useDatabase(t)
  await client.query(fillDatabase)
  await adopt(database, client)
  assert.deepEqual(await findWholeReads(client), [], 'never analyzed')
  await client.query('VACUUM ANALYZE')
  assert.deepEqual(await findWholeReads(client), [], 'analyzed')
})

/** The nodes that read the fence, each with whether the statement reads it once, before all else. */
function fenceReads(node: Node, isFirst = false): boolean[] {
  const first = isFirst || node['Parent Relationship'] === 'InitPlan'
  const below = (node.Plans ?? []).flatMap((plan) => fenceReads(plan, first))
  return node['Relation Name'] === 'deleted_tenants' ? [first, ...below] : below
}

test('a fire and a trigger read the deleted tenants once, not for each job', async (t) => {
  const { client, database } = await useDatabase(t)
  await adopt(database, client)
  const fenced = ['lockCursors', 'lockJobs', 'lockFreeJobs', 'lockHeldJobs']
  const found = new Map<string, boolean[]>()
  for (const one of statements) {
    const { name } = one.statement
    if (fenced.includes(name)) found.set(name, fenceReads(await planOf(client, one)))
  }
  assert.deepEqual(Object.fromEntries(found), Object.fromEntries(fenced.map((name) => [name, [true]])))
})

test('no statement of the API’s reads loses its plan to row-level security', async (t) => {
  const { client, database } = await useDatabase(t)
  await client.query(fillDatabase)
  await adopt(database, client)
  await prepareApiRole(database)
  await client.query(`SET ROLE ${apiRole}`)
  await client.query("SELECT set_config('carillon.tenant', $1, false)", [defaultTenantId])
  const reads: HotStatement[] = []
  for (const one of statements)
    await planOf(client, one).then(
      () => reads.push(one),
      (error: { code?: string }) => assert.equal(error.code, '42501', one.statement.name),
    )
  const names = reads.map(({ statement: { name } }) => name)
  for (const name of [
    'listOfTenant',
    'listFailedOfJob',
    'countOfTenant',
    'listJobs',
    'selectExecution',
    'listRunsOfJob',
    ...['listFailing', 'listFlaky', 'listOthers', 'countFailing', 'selectHealth'],
  ])
    assert(names.includes(name), name)
  assert.deepEqual(await findWholeReads(client, reads), [], 'never analyzed')
  await client.query('RESET ROLE')
  await client.query('VACUUM ANALYZE')
  await client.query(`SET ROLE ${apiRole}`)
  assert.deepEqual(await findWholeReads(client, reads), [], 'analyzed')
})
