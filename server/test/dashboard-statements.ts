// The statements of dashboard users, with full-size parameters, for the test that checks their query plans.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import { selectFeed } from '../src/postgres/history/feed.sql.ts'
import { pageOfJob, pastOfJob } from '../src/postgres/history/job-page.sql.ts'
import { selectVersions } from '../src/postgres/jobs/job-versions.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const tenant = `SELECT '${defaultTenantId}'::uuid`
const job = `SELECT md5('7')::uuid`
const lastId = `SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`
const daysAgo = (days: number) => `SELECT now() - interval '${days} days'`

export const dashboardStatements: HotStatement[] = [
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
