import assert from 'node:assert/strict'
import test from 'node:test'
import { testFeed } from '../../../test/conformance/history/feed.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'
import { connect, createDatabase, openDatabase, POSTGRES_VERSIONS } from '../../../test/database.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import type { FeedMark } from '../../ports/feed.ts'
import { PostgresFeed } from './feed.ts'

testOnStores(testFeed)

const job = '0192abcd-ef01-7000-8000-00000000000a'
const record = (
  executionId: string,
) => `INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id,
  attempt, final, kind, outcome, slot, enqueued_at, started_at, finished_at, duration_ms)
  VALUES (clock_ms(), '${defaultTenantId}', '${job}', 1, '${executionId}', 1, true, 'slot', 'succeeded', clock_ms(),
    clock_ms(), clock_ms(), clock_ms(), 1)`
const idOf = (n: number) => `0192abcd-ef01-7000-8000-0000000001${String(n).padStart(2, '0')}`

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: a late commit is reported when it happens, once, and nothing else is repeated`, async (t) => {
    const address = await createDatabase(t, { version })
    const [client, slow] = [await connect(t, address), await connect(t, address)]
    await client.query(`INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
      VALUES ('${job}', '${defaultTenantId}', 1, clock_ms(), clock_ms(), 'a', '{}', 'a')`)
    const feed = new PostgresFeed(openDatabase(t, address))
    let since: FeedMark = await feed.begin()
    const look = async () => {
      const seen = await feed.look({ tenantId: defaultTenantId, since, running: [], runs: [] })
      since = seen.mark
      assert.equal(seen.succeeded, seen.recorded.length)
      return seen.recorded.map(({ executionId }) => executionId)
    }
    await slow.query('BEGIN')
    await slow.query(record(idOf(1)))
    await client.query(record(idOf(2)))
    assert.deepEqual(await look(), [idOf(2)])
    await client.query(record(idOf(3)))
    assert.deepEqual(await look(), [idOf(3)])
    assert.deepEqual(await look(), [])
    await slow.query('COMMIT')
    await client.query(record(idOf(4)))
    assert.deepEqual((await look()).toSorted(), [idOf(1), idOf(4)])
    assert.deepEqual(await look(), [])
  })

  test(`PostgreSQL ${version}: concurrent commits are reported once each, however polls fall between`, async (t) => {
    const address = await createDatabase(t, { version })
    const clients = await Promise.all(Array.from({ length: 6 }, () => connect(t, address)))
    await clients[0]!.query(`INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
      VALUES ('${job}', '${defaultTenantId}', 1, clock_ms(), clock_ms(), 'a', '{}', 'a')`)
    const feed = new PostgresFeed(openDatabase(t, address))
    let since = await feed.begin()
    let told = 0
    let writing = true
    const each = 60
    const written = Promise.all(
      clients.map(async (client, c) => {
        for (let n = 0; n < each; n++) {
          await client.query('BEGIN')
          const id = `0192abcd-ef01-7000-8000-00000${c}00${String(n).padStart(4, '0')}`
          await client.query(record(id))
          if (n % 7 === 0) await client.query('SELECT pg_sleep(0.01)')
          await client.query(n % 10 === 9 ? 'ROLLBACK' : 'COMMIT')
        }
      }),
    ).then(() => {
      writing = false
    })
    for (let more = true; more; ) {
      more = writing
      const seen = await feed.look({ tenantId: defaultTenantId, since, running: [], runs: [] })
      since = seen.mark
      told += seen.succeeded
    }
    await written
    assert.equal(told, clients.length * each * 0.9)
  })
}
