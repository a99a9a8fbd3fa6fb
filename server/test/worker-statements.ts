// The statements on workers with full-size parameters, for the test that looks at their plans: thousands of workers must
// not make one of them read all that is held.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import { firstId } from '../src/lib/id.ts'
import { countRunning } from '../src/postgres/queue/peers.sql.ts'
import { lockRoomyWorker, selectRoom, selectWaiting } from '../src/postgres/queue/queue.sql.ts'
import { countWaiting, selectWaitingRoutes } from '../src/postgres/queue/routes.sql.ts'
import * as workerStatements from '../src/postgres/queue/workers.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const tenant = `SELECT '${defaultTenantId}'::uuid`
const routes = `SELECT array_agg(CASE n WHEN 1 THEN 'server' ELSE 'worker t h' || n END) FROM generate_series(1, 50) AS n`
const page = ['SELECT 10000', 'SELECT 1000', `SELECT '${firstId}'::uuid`, 'SELECT NULL', 'SELECT 2097152']
const pageTypes = 'float8, int, uuid, text, bigint'
const wanted = ['SELECT 10000', tenant, `SELECT 'worker'`, `SELECT 'report'`, `SELECT '{eu}'`]
const wantedTypes = 'float8, uuid, text, text, text[]'

export const workerStatementsToPlan: HotStatement[] = [
  ...[lockRoomyWorker, selectRoom].map((statement) => ({
    statement,
    values: [`SELECT md5('worker1')::uuid`],
    types: 'uuid',
  })),
  {
    statement: selectWaiting,
    values: [
      routes,
      'SELECT 256',
      routes,
      `SELECT array_agg('${defaultTenantId}'::uuid)`,
      `SELECT ARRAY['a.example']`,
    ],
    types: 'text[], bigint, text[], uuid[], text[]',
  },
  {
    statement: selectWaitingRoutes,
    values: [`SELECT array_agg('worker t h' || n || ' ') FROM generate_series(1, 200) AS n`, 'SELECT 10'],
    types: 'text[], bigint',
  },
  {
    statement: countWaiting,
    values: [
      `SELECT array_agg('worker t h' || n || ' ') || 'server'::text FROM generate_series(1, 200) AS n`,
      'SELECT 100',
    ],
    types: 'text[], int',
  },
  { statement: workerStatements.selectAllWorkers, values: page, types: pageTypes },
  {
    statement: workerStatements.selectRunners,
    values: [...wanted, 'SELECT 50'],
    types: `${wantedTypes}, bigint`,
  },
  {
    statement: workerStatements.findRunner,
    values: [...wanted, 'SELECT true'],
    types: `${wantedTypes}, boolean`,
  },
  {
    statement: workerStatements.selectTenantWorkers,
    values: [...page, tenant],
    types: `${pageTypes}, uuid`,
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
  {
    statement: workerStatements.insertTenantWorker,
    values: [
      ...[`SELECT md5('new worker')::uuid`, tenant, `SELECT 'host'`, 'SELECT NULL', `SELECT '1'`],
      ...[`SELECT '{}'`, `SELECT '{worker}'`, `SELECT '{a}'`, 'SELECT 50', 'SELECT 1', 'SELECT 10000'],
    ],
    types: 'uuid, uuid, text, int, text, text[], text[], text[], int, smallint, bigint',
  },
  {
    statement: countRunning,
    values: [
      `SELECT ARRAY['${defaultTenantId}'::uuid]`,
      `SELECT ARRAY[md5('worker1')::uuid]`,
      `SELECT md5('worker1')::uuid`,
      'SELECT 1000000',
    ],
    types: 'uuid[], uuid[], uuid, bigint',
  },
  { statement: workerStatements.pruneFormerWorkers, values: ['SELECT 5000'], types: 'bigint' },
]
