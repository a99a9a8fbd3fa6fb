// The statements on budgets, with full-size parameters, for the test that checks their query plans.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import {
  letHeldGo,
  selectBudgetLimits,
  selectBudgets,
  selectHeldBack,
  skipExpired,
} from '../src/postgres/queue/execution-budgets.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const tenants = `SELECT array_agg(md5(n::text)::uuid) || '${defaultTenantId}'::uuid FROM generate_series(1, 500) n`
const grants = `SELECT json_agg(json_build_object('tenant_id', md5(n::text)::uuid, 'granted', 500)) FROM generate_series(1, 500) n`

export const budgetStatements: HotStatement[] = [
  { statement: selectBudgetLimits, values: [tenants], types: 'uuid[]' },
  { statement: selectBudgets, values: [tenants], types: 'uuid[]' },
  {
    statement: selectHeldBack,
    values: [`SELECT '${defaultTenantId}'::uuid`, 'SELECT 500', 'SELECT 500'],
    types: 'uuid, int, int',
  },
  { statement: letHeldGo, values: [grants], types: 'json' },
  { statement: skipExpired, values: ['SELECT 500', `SELECT 'Skipped.'`], types: 'int, text' },
]
