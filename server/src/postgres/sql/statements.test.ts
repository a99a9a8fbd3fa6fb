// Every named statement, on the real schema of the oldest and the newest PostgreSQL.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import {
  DEAD_REASONS,
  DEPENDENCY_RULES,
  EXECUTION_KINDS,
  EXECUTION_SKIP_REASONS,
  JOB_STATUSES,
  MISFIRE_POLICIES,
  OPERATION_KINDS,
  OPERATION_STATUSES,
  OVERLAP_POLICIES,
  RUN_KINDS,
  RUN_STATUSES,
  SKIP_REASONS,
} from '@carillon/contract/constants.ts'
import { POSTGRES_VERSIONS, useDatabase } from '../../../test/database.ts'
import { LIVE_STATES, OUTCOMES } from '../../domain/queue/execution.ts'
import { FORMER_STATUSES, WORKER_STATUSES } from '../../domain/queue/worker.ts'
import { TENANT_STAGES } from '../../domain/tenants/tenant-end.ts'
import type { Sql } from '../../lib/sql.ts'

const postgres = join(import.meta.dirname, '..')

async function allStatements(): Promise<Sql[]> {
  const names = (await readdir(postgres, { recursive: true })).filter((name) => name.endsWith('.sql.ts'))
  const modules = await Promise.all(names.map((name) => import(join(postgres, name))))
  return modules.flatMap((module) => Object.values(module as Record<string, Sql>))
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version} prepares every statement`, async (t) => {
    const { client } = await useDatabase(t, { version })
    for (const { name, text } of await allStatements()) await client.query(`PREPARE "${name}" AS ${text}`)
  })
}

test('statements have unique names, each the name of its constant', async () => {
  const names = (await allStatements()).map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
})

/** Each closed set in the code and the CHECK that guards its column. */
const closedSets: { table: string; column: string; values: readonly string[] }[] = [
  { table: 'workers', column: 'status', values: WORKER_STATUSES },
  { table: 'former_workers', column: 'status', values: FORMER_STATUSES },
  { table: 'cursors', column: 'status', values: JOB_STATUSES },
  { table: 'job_versions', column: 'overlap_policy', values: OVERLAP_POLICIES },
  { table: 'job_versions', column: 'misfire_policy', values: MISFIRE_POLICIES },
  { table: 'slots', column: 'reason', values: SKIP_REASONS },
  { table: 'skips', column: 'reason', values: SKIP_REASONS },
  { table: 'live', column: 'kind', values: EXECUTION_KINDS },
  { table: 'live', column: 'state', values: LIVE_STATES },
  { table: 'attempts', column: 'kind', values: EXECUTION_KINDS },
  { table: 'attempts', column: 'outcome', values: OUTCOMES },
  { table: 'attempts', column: 'skip_reason', values: EXECUTION_SKIP_REASONS },
  { table: 'job_edges', column: 'rule', values: DEPENDENCY_RULES },
  { table: 'graph_runs', column: 'kind', values: RUN_KINDS },
  { table: 'graph_runs', column: 'status', values: RUN_STATUSES },
  { table: 'dead_letters', column: 'reason', values: DEAD_REASONS },
  { table: 'tenant_work', column: 'stage', values: TENANT_STAGES },
  { table: 'operations', column: 'kind', values: OPERATION_KINDS },
  { table: 'operations', column: 'status', values: OPERATION_STATUSES },
]

for (const { table, column, values } of closedSets) {
  test(`${table}.${column} takes exactly the values the code knows`, async (t) => {
    const { client } = await useDatabase(t)
    const { rows } = await client.query<{ definition: string }>(
      `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conrelid = $1::regclass AND conname = $2`,
      [table, `${table}_${column}_check`],
    )
    const inTable = [...rows[0]!.definition.matchAll(/'([^']+)'::text/g)].map((match) => match[1])
    assert.deepEqual(inTable, [...values])
  })
}
