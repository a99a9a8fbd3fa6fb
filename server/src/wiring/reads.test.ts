import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../test/cleanup.ts'
import {
  connect,
  createDatabase,
  openDatabase,
  POSTGRES_VERSIONS,
  type PostgresVersion,
} from '../../test/database.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import { actForTenant } from '../domain/tenants/tenant-scope.ts'
import { realRandom } from '../lib/random.ts'
import { sql } from '../lib/sql.ts'
import { DatabaseClock } from '../lib/time/clock.ts'
import { realTimers } from '../lib/time/timers.ts'
import { openReadPools } from '../postgres/connection/read-pools.ts'
import { eventConnections, readConnections } from './connections.ts'
import { turnsToRead } from './reads.ts'

const slowRead = sql('slowRead')`SELECT pg_advisory_xact_lock_shared(1)`
const quickRead = sql('quickRead')`SELECT 1 AS one`
/** A planted bug: its WHERE forgot the tenant. */
const forgetful = sql('forgetful')`SELECT tenant_id FROM jobs`
const forgetfulHistory = sql('forgetfulHistory')`SELECT tenant_id FROM attempts`
const planted = sql('planted')`INSERT INTO calendars VALUES ($1, 'a', NULL, '[]', 1, now(), 'a', now(), 'a')`
const selectSecrets = sql('selectSecrets')`SELECT signing_key FROM tenants`

const other = '0192abcd-ef01-7000-8000-000000000002'

async function setup(t: TestContext, version: PostgresVersion = 18) {
  const address = await createDatabase(t, { version })
  const database = openDatabase(t, address)
  const client = await connect(t, address)
  const world = { timers: realTimers, random: realRandom, clock: new DatabaseClock() }
  const resources = new AsyncDisposableStack()
  cleanUp(t, () => resources.disposeAsync())
  const takeTurn = turnsToRead(world, () => true)
  const pools = await openReadPools({
    ...{ world, address, database, resources, takeTurn },
    ...{ readConnections, eventConnections },
  })
  await client.query(`INSERT INTO tenants (tenant_id, name, tier) SELECT $1, 'other', tier FROM tenants`, [
    other,
  ])
  await client.query(
    `INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
      SELECT gen_random_uuid(), tenant_id, 1, now(), now(), 'a', '{}', 'a' FROM tenants`,
  )
  await client.query(
    `SELECT make_day('attempts', (now() AT TIME ZONE 'UTC')::date + n) FROM generate_series(-1, 1) AS n`,
  )
  await client.query(
    `INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot, enqueued_at)
      SELECT now(), tenant_id, job_id, 1, gen_random_uuid(), 1, true, 'slot', 'succeeded', now(), now() FROM jobs`,
  )
  return { ...pools, client }
}

test('however many slow reads a tenant sends, a read of another tenant is answered', async (t) => {
  const { reads, client } = await setup(t)
  await client.query('SELECT pg_advisory_lock(1)')
  const slow = Array.from({ length: 20 }, () => actForTenant('a', () => reads.query(slowRead, [])))
  const { rows } = await actForTenant('b', () => reads.query(quickRead, []))
  assert.deepEqual(rows, [{ one: 1 }])
  const { rows: waiting } = await client.query(
    "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
  )
  assert(waiting.length <= 2, `${waiting.length} slow reads at once`)
  await client.query('SELECT pg_advisory_unlock(1)')
  await Promise.all(slow)
})

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: a read that forgot the tenant sees only rows of the tenant of its request`, async (t) => {
    const { reads, events, rowSecurityOff } = await setup(t, version)
    assert.equal(rowSecurityOff, null)
    for (const pool of [reads, events]) {
      for (const statement of [forgetful, forgetfulHistory]) {
        for (const tenantId of [defaultTenantId, other]) {
          const { rows } = await actForTenant(tenantId, () => pool.query(statement, []))
          assert.deepEqual(rows, [{ tenant_id: tenantId }], statement.name)
          const inside = await actForTenant(tenantId, () =>
            pool.transaction(async (queries) => {
              await queries.query(quickRead, [])
              return queries.query(statement, [])
            }),
          )
          assert.deepEqual(inside.rows, [{ tenant_id: tenantId }], statement.name)
        }
        assert.deepEqual((await pool.query(statement, [])).rows, [], 'without a tenant')
      }
    }
  })
}

test('a connection of the pool carries no tenant to the next request, also after one that failed', async (t) => {
  const { reads } = await setup(t)
  const seen = await Promise.all(
    Array.from({ length: 1_000 }, async (_, n) => {
      if (n % 7 === 0) return reads.query(forgetful, [])
      const tenantId = n % 2 === 0 ? defaultTenantId : other
      return actForTenant(tenantId, async () => {
        if (n % 5 === 0) await assert.rejects(reads.query(planted, [tenantId]), { code: '42501' })
        return reads.query(forgetful, [])
      })
    }).map(async (rows, n) => ({ n, rows: (await rows).rows })),
  )
  for (const { n, rows } of seen) {
    const own = n % 2 === 0 ? defaultTenantId : other
    assert.deepEqual(rows, n % 7 === 0 ? [] : [{ tenant_id: own }], String(n))
  }
})

test('the role of the reads changes nothing, and does not see the keys of tenants', async (t) => {
  const { reads } = await setup(t)
  for (const [statement, values] of [
    [planted, [defaultTenantId]],
    [selectSecrets, []],
  ] as const) {
    const denied = actForTenant(defaultTenantId, () => reads.query(statement, values))
    await assert.rejects(denied, { code: '42501' }, statement.name)
  }
})
