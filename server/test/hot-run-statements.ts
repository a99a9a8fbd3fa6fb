// The statements on runs of graphs with full-size parameters, for the test that looks at their plans.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import * as advance from '../src/postgres/graphs/advance-runs.sql.ts'
import * as read from '../src/postgres/graphs/graph-runs.sql.ts'
import * as again from '../src/postgres/graphs/resume-run.sql.ts'
import * as find from '../src/postgres/graphs/run-steps.sql.ts'
import * as make from '../src/postgres/graphs/start-runs.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const tenant = `SELECT '${defaultTenantId}'::uuid`
const lastId = `SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`
const job = 'md5(n::text)::uuid'
const oneJob = `SELECT md5('7')::uuid`
const oneRun = `SELECT md5('run7')::uuid`
const some = (value: string, count: number) =>
  `SELECT array_agg(${value}) FROM generate_series(1, ${count}) AS n`
const runs = some(`md5('run' || n)::uuid`, 200)
const jobs = some(job, 1_000)
const executions = some(`md5('live' || n)::uuid`, 1_000)
const items = (fields: string, count = 1_000) =>
  `SELECT json_agg(json_build_object(${fields})) FROM generate_series(1, ${count}) AS n`
const page = [
  tenant,
  lastId,
  'SELECT 0',
  'SELECT 9e12',
  'SELECT 50',
  'SELECT 10000',
  oneJob,
  'SELECT 2000000',
]
const pageTypes = 'uuid, uuid, float8, float8, int, bigint, uuid, bigint'
const node = `'execution_id', md5('live' || n)::uuid`

export const hotRunStatements: HotStatement[] = [
  {
    statement: find.selectNoted,
    values: [
      'SELECT 200',
      some(`md5('run' || n)::uuid`, 100),
      `SELECT '00000000-0000-0000-0000-000000000000'`,
      oneRun,
    ],
    types: 'int, uuid[], uuid, uuid',
  },
  {
    statement: find.selectUnfired,
    values: [
      'SELECT 200',
      `SELECT '00000000-0000-0000-0000-000000000000'`,
      some(`md5('run' || n)::uuid`, 100),
    ],
    types: 'bigint, uuid, uuid[]',
  },
  { statement: find.lockRuns, values: [runs], types: 'uuid[]' },
  { statement: find.lockRun, values: [oneRun, tenant], types: 'uuid, uuid' },
  { statement: find.selectPlans, values: [runs], types: 'uuid[]' },
  { statement: find.deleteOldRuns, values: ['SELECT 1000'], types: 'bigint' },
  { statement: make.claimStarts, values: [runs], types: 'uuid[]' },
  { statement: make.selectStarts, values: [runs], types: 'uuid[]' },
  { statement: make.dropNotes, values: [some('n::bigint', 1_000)], types: 'bigint[]' },
  { statement: make.selectGraphs, values: [some(job, 100)], types: 'uuid[]' },
  { statement: make.selectGraphSizes, values: [some(job, 200)], types: 'uuid[]' },
  { statement: make.selectLatestEnded, values: [jobs, 'SELECT 2'], types: 'uuid[], int' },
  {
    statement: make.insertRuns,
    values: [
      items(
        `'run_id', md5('new' || n)::uuid, 'tenant_id', '${defaultTenantId}', 'kind', 'trigger', 'slot_ms', 0, 'job_ids', json_build_array(${job}),
        'roles', 'r', 'states', 'u', 'versions', '[1]'::json, 'execution_ids', '[null]'::json, 'edges', '[]'::json`,
        200,
      ),
      items(
        `'run_id', md5('new' || n % 200)::uuid, 'job_id', ${job}, 'version', 1, 'execution_id', gen_random_uuid()`,
      ),
    ],
    types: 'json, json',
  },
  { statement: advance.selectNotes, values: [runs, 'SELECT 20000'], types: 'uuid[], bigint' },
  {
    statement: advance.selectUnrun,
    values: [items(`'run_id', md5('run' || n)::uuid, 'job_id', ${job}, 'slot_ms', 0`)],
    types: 'json',
  },
  { statement: advance.lockMembers, values: [jobs], types: 'uuid[]' },
  { statement: advance.lockNodes, values: [executions], types: 'uuid[]' },
  { statement: advance.letNodesGo, values: [items(`'number', n, 'lane', 'shared', ${node}`)], types: 'json' },
  { statement: advance.selectNames, values: [jobs], types: 'uuid[]' },
  {
    statement: advance.skipNodes,
    values: [items(`'reason', 'dependency', 'message', 'no', ${node}`)],
    types: 'json',
  },
  {
    statement: advance.writePlans,
    values: [
      items(`'run_id', md5('run' || n)::uuid, 'versions', '[1]'::json, 'execution_ids', '[null]'::json`, 200),
    ],
    types: 'json',
  },
  {
    statement: advance.writeRuns,
    values: [
      items(
        `'run_id', md5('run' || n)::uuid, 'status', 'RUNNING', 'states', 'g', 'unfired', false, 'is_over', n % 2 = 0`,
        200,
      ),
      some('n', 1_000),
      executions,
      items(`'job_id', ${job}, 'run_id', md5('run' || n)::uuid`, 200),
    ],
    types: 'json, bigint[], uuid[], json',
  },
  { statement: again.selectPresent, values: [jobs], types: 'uuid[]' },
  { statement: again.selectBlocker, values: [oneJob], types: 'uuid' },
  {
    statement: again.selectEnds,
    values: [items(`'job_id', ${job}, ${node}`), 'SELECT 0', 'SELECT 9e12'],
    types: 'json, float8, float8',
  },
  {
    statement: again.insertAgain,
    values: [
      oneRun,
      items(`'execution_id', gen_random_uuid(), 'job_id', ${job}, 'version', 1, 'kind', 'retry'`),
    ],
    types: 'uuid, json',
  },
  { statement: read.selectRun, values: [tenant, oneRun], types: 'uuid, uuid' },
  {
    statement: read.selectNodes,
    values: [items(`'node_index', n, 'job_id', ${job}, ${node}`), 'SELECT 9e12'],
    types: 'json, float8',
  },
  { statement: read.listRuns, values: page, types: pageTypes },
  ...[read.listRunsByStatus, read.listRunsOfJob].map((statement) => ({
    statement,
    values: [...page, `SELECT 'FAILED'`],
    types: `${pageTypes}, text`,
  })),
  { statement: read.selectParents, values: [items(node, 200), 'SELECT 1048576'], types: 'json, bigint' },
  { statement: read.noteCancel, values: [tenant, oneRun, `SELECT 'stop'`], types: 'uuid, uuid, text' },
]
