// The statements on the limits and turns of tenants, with full-size parameters, for the test that checks their query plans.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import { countWaitingOfTenants, lockStorage, measureStorage } from '../src/postgres/access/tenant-room.sql.ts'
import { selectResumable } from '../src/postgres/jobs/jobs.sql.ts'
import { selectWaitingOfTenants } from '../src/postgres/queue/maintenance.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const tenant = `SELECT '${defaultTenantId}'::uuid`
const tenants = `SELECT ARRAY['${defaultTenantId}']::uuid[]`

export const tenantStatements: HotStatement[] = [
  {
    statement: selectWaitingOfTenants,
    values: [tenant, 'SELECT 16', 'SELECT 8'],
    types: 'uuid, int, bigint',
  },
  { statement: selectResumable, values: ['SELECT 20'], types: 'bigint' },
  {
    statement: countWaitingOfTenants,
    values: [tenants, tenants, 'SELECT 100000', 'SELECT 20000', 'SELECT 500'],
    types: 'uuid[], text[], int, bigint, bigint',
  },
  {
    statement: lockStorage,
    values: [tenant, 'SELECT 600', 'SELECT 100', 'SELECT 50'],
    types: 'uuid, int, int, int',
  },
  {
    statement: measureStorage,
    values: [tenant, 'SELECT 200000', 'SELECT 200000', 'SELECT 20000', 'SELECT 200'],
    types: 'uuid, bigint, bigint, bigint, int',
  },
]
