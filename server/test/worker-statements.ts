// The statements on workers with full-size parameters, for the test that looks at their plans: thousands of workers must
// not make one of them read all that is held.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import { firstId } from '../src/lib/id.ts'
import { lockRoomyWorker, selectRoom } from '../src/postgres/queue/queue.sql.ts'
import * as workerStatements from '../src/postgres/queue/workers.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const tenant = `SELECT '${defaultTenantId}'::uuid`

export const workerStatementsToPlan: HotStatement[] = [
  ...[lockRoomyWorker, selectRoom].map((statement) => ({
    statement,
    values: [`SELECT md5('worker1')::uuid`],
    types: 'uuid',
  })),
  ...[workerStatements.selectAllWorkers, workerStatements.selectOwnWorkers].map((statement) => ({
    statement,
    values: ['SELECT 10000', 'SELECT 1000', `SELECT '${firstId}'::uuid`, 'SELECT NULL'],
    types: 'float8, bigint, uuid, text',
  })),
  {
    statement: workerStatements.selectTenantWorkers,
    values: ['SELECT 10000', 'SELECT 1000', `SELECT '${firstId}'::uuid`, 'SELECT NULL', tenant],
    types: 'float8, bigint, uuid, text, uuid',
  },
  {
    statement: workerStatements.countTenantWorkers,
    values: ['SELECT 10000', tenant],
    types: 'float8, uuid',
  },
  {
    statement: workerStatements.deleteWorker,
    values: [`SELECT md5('worker9')::uuid`, `SELECT 'DEAD'`, 'SELECT 3600000', 'SELECT 10000'],
    types: 'uuid, text, float8, bigint',
  },
  { statement: workerStatements.pruneFormerWorkers, values: ['SELECT 5000'], types: 'bigint' },
]
