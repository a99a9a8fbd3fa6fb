// The statements on dependencies, with the parameters of the largest graph, for the test that checks query plans.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import {
  countGraphJobs,
  lockGraphJobs,
  selectEdges,
  selectGraphIds,
  selectGraphJobs,
  writeGraph,
} from '../src/postgres/graphs/job-graph.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const job = 'md5(n::text)::uuid'
const jobs = `SELECT array_agg(${job}) FROM generate_series(1000, 1999) AS n`
const graphs = `SELECT ARRAY[md5('1')::uuid, md5('2')::uuid]`
const cursors = `SELECT json_agg(json_build_object('j', ${job}, 'g', ${job})) FROM generate_series(1000, 1999) AS n`
const rules = `SELECT array_agg('success'::text) FROM generate_series(1000, 1999) AS n`

export const graphStatements: readonly HotStatement[] = [
  { statement: selectGraphIds, values: [`SELECT '${defaultTenantId}'::uuid`, jobs], types: 'uuid, uuid[]' },
  { statement: countGraphJobs, values: [graphs], types: 'uuid[]' },
  { statement: lockGraphJobs, values: [jobs, graphs], types: 'uuid[], uuid[]' },
  { statement: selectGraphJobs, values: [jobs], types: 'uuid[]' },
  { statement: selectEdges, values: [jobs], types: 'uuid[]' },
  {
    statement: writeGraph,
    values: [`SELECT md5('2500')::uuid`, jobs, rules, cursors, 'SELECT 20000'],
    types: 'uuid, uuid[], text[], json, float8',
  },
]
