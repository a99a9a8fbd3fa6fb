// The statements of people who look, with full-size parameters, for the test that looks at their plans.
import { defaultTenantId } from '../src/domain/tenant.ts'
import { selectFeed } from '../src/store/feed.sql.ts'
import { selectVersions } from '../src/store/job-versions.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const tenant = `SELECT '${defaultTenantId}'::uuid`

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
    values: [tenant, `SELECT md5('7')::uuid`, 'SELECT 2147483647', 'SELECT 201'],
    types: 'uuid, uuid, int, bigint',
  },
]
