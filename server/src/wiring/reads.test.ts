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
import { actForCaller, actForTenant } from '../domain/tenants/tenant-scope.ts'
import { realRandom } from '../lib/random.ts'
import { sql } from '../lib/sql.ts'
import { DatabaseClock } from '../lib/time/clock.ts'
import { realTimers } from '../lib/time/timers.ts'
import { openReadPools } from '../postgres/connection/read-pools.ts'
import { openPostgresStore } from '../postgres/open-store.ts'
import { eventConnections, readConnections } from './connections.ts'
import { turnsToRead, withReads } from './reads.ts'

const slowRead = sql('slowRead')`SELECT pg_advisory_xact_lock_shared(1)`
const quickRead = sql('quickRead')`SELECT 1 AS one`
/** A planted bug: its WHERE forgot the tenant. */
const forgetful = sql('forgetful')`SELECT tenant_id FROM jobs`
const forgetfulHistory = sql('forgetfulHistory')`SELECT tenant_id FROM attempts`
const planted = sql('planted')`INSERT INTO calendars VALUES ($1, 'a', NULL, '[]', 1, now(), 'a', now(), 'a')`
const selectSecrets = sql('selectSecrets')`SELECT signing_key FROM tenants`
const selectHashes = sql('selectHashes')`SELECT hash FROM api_keys`

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
  return { ...pools, database, takeTurn, client }
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
    [selectHashes, []],
  ] as const) {
    const denied = actForTenant(defaultTenantId, () => reads.query(statement, values))
    await assert.rejects(denied, { code: '42501' }, statement.name)
  }
})

test('an operator reads while tenants have all the connections that they may', async (t) => {
  const { reads, client } = await setup(t)
  await client.query('SELECT pg_advisory_lock(1)')
  const slow = ['a', 'a', 'b', 'b', 'c', 'd'].map((tenantId) =>
    actForTenant(tenantId, () => reads.query(slowRead, [])),
  )
  const operator = { tenantId: 'a', operator: true }
  const { rows } = await actForCaller(operator, () => reads.query(quickRead, []))
  assert.deepEqual(rows, [{ one: 1 }])
  await client.query('SELECT pg_advisory_unlock(1)')
  await Promise.all(slow)
})

test('a tenant lists its own workers and keys under row-level security, an operator all workers as before', async (t) => {
  const { reads, database, takeTurn, client } = await setup(t)
  const [own, readStore] = [openPostgresStore(database), openPostgresStore(reads)]
  const { workers, apiKeys, tiers } = withReads(own, readStore, takeTurn)
  const owners = [null, defaultTenantId, other]
  for (const [at, tenantId] of owners.entries()) {
    const id = `0192abcd-ef01-7000-8000-00000000010${at}`
    const plain = { host: 'a', port: null, version: '1', labels: [], handlers: [], capacity: 5 }
    await own.leases.register({ workerId: id, tenantId, executors: ['http'], ...plain })
    const key = { keyId: id, tenantId, name: 'a', prefix: 'crl_', hash: Buffer.alloc(32, at) }
    await own.apiKeys.create({ ...key, scopes: ['read'], createdBy: 'a', expiresAt: null })
  }
  const keysOf = async (tenantId: string | null) =>
    (await apiKeys.list({ tenantId, before: null, limit: 10 })).keys.map((key) => key.tenantId)
  await actForTenant(other, async () => {
    assert.deepEqual((await workers.page({ tenantId: other })).workers.length, 1)
    assert.equal((await workers.count({ tenantId: other })).active, 1)
    assert.deepEqual(await keysOf(other), [other])
    assert.equal((await tiers.list()).length, (await own.tiers.list()).length)
    // The question of a tenant that a statement got wrong.
    assert.equal((await workers.page({ tenantId: defaultTenantId })).workers.length, 0)
    assert.deepEqual(await keysOf(defaultTenantId), [])
    assert.equal((await readStore.workers.page({ tenantId: null })).workers.length, 1)
    const call = { executor: 'http', tenantId: null, handler: null, labels: [] } as const
    assert.equal((await workers.runners(call)).count, 1, 'ours may run its jobs')
  })
  await actForCaller({ tenantId: other, operator: true }, async () => {
    assert.equal((await workers.page({ tenantId: null })).workers.length, 3)
    assert.equal((await workers.count({ tenantId: null })).active, 3)
    assert.deepEqual(await keysOf(null), [null])
  })
  await client.query('SELECT pg_advisory_lock(1)')
  const slow = [1, 2].map(() => actForTenant(other, () => reads.query(slowRead, [])))
  let isAnswered = false
  const call = { executor: 'http', tenantId: null, handler: null, labels: [] } as const
  const waiting = actForTenant(other, () => workers.runners(call)).then(() => {
    isAnswered = true
  })
  await actForTenant('b', () => reads.query(quickRead, []))
  assert.equal(isAnswered, false, 'a tenant has two reads at once, on whichever pool')
  await client.query('SELECT pg_advisory_unlock(1)')
  await Promise.all([...slow, waiting])
})
