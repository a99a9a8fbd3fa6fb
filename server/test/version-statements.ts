// The statements that prune the versions of jobs, with full-size parameters, for the test that checks their query plans.

import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import { selectVersionCount } from '../src/postgres/jobs/job-versions.sql.ts'
import {
  endVersionNote,
  moveVersionNote,
  pruneVersions,
  takeVersionNote,
} from '../src/postgres/jobs/prune-versions.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const job = `SELECT md5('7')::uuid`

export const versionStatements: HotStatement[] = [
  { statement: takeVersionNote, values: ['SELECT 120000'], types: 'float8' },
  { statement: moveVersionNote, values: [job, 'SELECT 100'], types: 'uuid, int' },
  { statement: endVersionNote, values: [job], types: 'uuid' },
  {
    statement: selectVersionCount,
    values: [`SELECT '${defaultTenantId}'::uuid`, job],
    types: 'uuid, uuid',
  },
  {
    statement: pruneVersions,
    values: [
      ...[job, 'SELECT 0', 'SELECT 100', 'SELECT 1000', 'SELECT 120000', `SELECT '{payload}'`],
      'SELECT 10000',
    ],
    types: 'uuid, int, bigint, bigint, float8, text[], int',
  },
]
