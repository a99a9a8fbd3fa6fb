// The statements of dashboard users, with full-size parameters, for the test that checks their query plans.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import { selectFeed } from '../src/postgres/history/feed.sql.ts'
import * as health from '../src/postgres/history/job-health.sql.ts'
import { pageOfJob, pastOfJob } from '../src/postgres/history/job-page.sql.ts'
import { selectVersions } from '../src/postgres/jobs/job-versions.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const tenant = `SELECT '${defaultTenantId}'::uuid`
const job = `SELECT md5('7')::uuid`
const lastId = `SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`
const daysAgo = (days: number) => `SELECT now() - interval '${days} days'`

const filter = ['SELECT NULL', 'SELECT NULL']
const page = ['SELECT 50', 'SELECT 2000000', 'SELECT false']
const listTypes = 'uuid, uuid, text, text'
const flaky = 'SELECT 86400000'
const now = 'SELECT to_ms(now())'

/** Lists of jobs by health, and the fold of the health. */
const healthStatements: HotStatement[] = [
  {
    statement: health.listFailing,
    values: [tenant, lastId, ...filter, 'SELECT NULL', 'SELECT 25000', ...page, now],
    types: `${listTypes}, text, bigint, int, bigint, boolean, float8`,
  },
  {
    statement: health.listFlaky,
    values: [tenant, lastId, ...filter, 'SELECT NULL', 'SELECT 25000', ...page, now, flaky],
    types: `${listTypes}, text, bigint, int, bigint, boolean, float8, float8`,
  },
  {
    statement: health.listOthers,
    values: [tenant, lastId, ...filter, 'SELECT 0', 'SELECT 25000', ...page],
    types: `${listTypes}, bigint, bigint, int, bigint, boolean`,
  },
  {
    statement: health.listOthersByStatus,
    values: [tenant, lastId, ...filter, 'SELECT 0', 'SELECT 25000', ...page, `SELECT 'PAUSED'`],
    types: `${listTypes}, bigint, bigint, int, bigint, boolean, text`,
  },
  {
    statement: health.countFailing,
    values: [tenant, ...filter, 'SELECT NULL', 'SELECT 25000'],
    types: 'uuid, text, text, text, bigint',
  },
  {
    statement: health.countFlaky,
    values: [tenant, ...filter, 'SELECT NULL', 'SELECT 25000', flaky],
    types: 'uuid, text, text, text, bigint, float8',
  },
  { statement: health.selectHealth, values: [tenant, job], types: 'uuid, uuid' },
  {
    statement: health.foldHealth,
    values: [`SELECT to_ms(now() - interval '10 seconds')`, now, 'SELECT 300'],
    types: 'float8, float8, int',
  },
]

export const dashboardStatements: HotStatement[] = [
  ...healthStatements,
  {
    statement: selectFeed,
    values: [
      tenant,
      'SELECT pg_current_snapshot()',
      `SELECT to_ms(now() - interval '2 seconds')`,
      `SELECT array_agg(md5('live' || n)::uuid) FROM generate_series(1, 100) AS n`,
      `SELECT array_agg(md5('run' || n)::uuid) FROM generate_series(1, 100) AS n`,
      'SELECT 100',
      'SELECT 20',
      'SELECT 2000',
      `SELECT to_ms(now() - interval '1 second')`,
    ],
    types: 'uuid, pg_snapshot, float8, uuid[], uuid[], bigint, bigint, bigint, float8',
  },
  {
    statement: selectVersions,
    values: [tenant, job, 'SELECT 2147483647', 'SELECT 50', 'SELECT 2000000', 'SELECT true'],
    types: 'uuid, uuid, int, int, bigint, boolean',
  },
  {
    statement: pastOfJob,
    values: [job, tenant, 'SELECT 51', 'SELECT now()'],
    types: 'uuid, uuid, bigint, timestamptz',
  },
  {
    statement: pageOfJob,
    values: [
      ...[job, lastId, daysAgo(2), 'SELECT 51', 'SELECT 20000'],
      ...[daysAgo(4), daysAgo(3), daysAgo(1), 'SELECT 10001'],
    ],
    types: 'uuid, uuid, timestamptz, bigint, bigint, timestamptz, timestamptz, timestamptz, bigint',
  },
]
