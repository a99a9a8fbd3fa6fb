import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { testTenantRoom } from '../../../test/conformance/access/tenant-room.ts'
import { createScenario } from '../../../test/conformance/scenario.ts'
import { openPostgres, testOnStores } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS } from '../../../test/database.ts'
import { unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import { beginStorageCount, endStorageCount } from './tenant-room.sql.ts'

testOnStores(testTenantRoom)

for (const version of POSTGRES_VERSIONS) {
  const limit = 100_000
  const setup = async (t: TestContext) => {
    const bundle = await openPostgres(t, version)
    const s = await createScenario(bundle)
    await s.tiers.put({ ...unlimitedTier, tier: 'small', storageBytesMax: limit })
    const tenantId = s.ids.next()
    await s.tenants.create({ tenantId, name: 'sales', tier: 'small' })
    const draw = (bytes: number) =>
      s.tenantRoom.drawStorage({ tenantId, limit, bytesMin: bytes, bytesMax: bytes })
    const row = async () => (await bundle.client.query('SELECT * FROM storage_usage')).rows[0]
    const age = (seconds: number) =>
      bundle.client.query(`UPDATE storage_usage SET counted_at = counted_at - $1 * interval '1 second'`, [
        seconds,
      ])
    return { s, tenantId, client: bundle.client, draw, row, age }
  }

  test(`PostgreSQL ${version}: a count that would refuse is taken anew, and deleted bytes are free`, async (t) => {
    const { s, tenantId, draw, age } = await setup(t)
    const content = Buffer.alloc(90_000)
    await s.artifacts.put({ tenantId, artifactId: 'a', sha256: '0'.repeat(64), content, by: 'tester' })
    assert.deepEqual(await draw(20_000), { granted: 0, used: 90_000 })
    await s.artifacts.remove(tenantId, 'a')
    assert.deepEqual(await draw(20_000), { granted: 0, used: 90_000 }, 'not at once')
    await age(1)
    assert.deepEqual(await draw(20_000), { granted: 20_000, used: 0 })
  })

  test(`PostgreSQL ${version}: a count that took long is taken anew less often`, async (t) => {
    const { client, draw, age } = await setup(t)
    await draw(90_000)
    await client.query('UPDATE storage_usage SET count_ms = 1000')
    await age(49)
    assert.equal((await draw(20_000)).granted, 0)
    await age(2)
    assert.equal((await draw(20_000)).granted, 20_000)
  })

  test(`PostgreSQL ${version}: a count of ten minutes' age is taken anew`, async (t) => {
    const { s, tenantId, draw, row, age } = await setup(t)
    await draw(1)
    await s.createJob({ tenantId })
    await draw(1)
    assert.equal((await row()).version_bytes, '0')
    await age(601)
    await draw(1)
    assert(Number((await row()).version_bytes) > 200)
    assert.equal((await row()).drawn_bytes, '1', 'what was drawn before is in the count')
  })

  test(`PostgreSQL ${version}: while one process counts, others go by the count before; a count that died is taken over`, async (t) => {
    const { client, draw, row, age } = await setup(t)
    await draw(90_000)
    await age(601)
    await client.query('UPDATE storage_usage SET counting_at = clock_ms()')
    assert.deepEqual(await draw(20_000), { granted: 0, used: 90_000 })
    await client.query(`UPDATE storage_usage SET counting_at = clock_ms() - interval '61 seconds'`)
    assert.deepEqual(await draw(20_000), { granted: 20_000, used: 0 })
    assert.equal((await row()).counting_at, null)
  })

  test(`PostgreSQL ${version}: bytes that are drawn while it counts stay drawn`, async (t) => {
    const { client, tenantId, draw, row } = await setup(t)
    await draw(50_000)
    const begun = await client.query(beginStorageCount.text, [tenantId])
    await draw(7)
    const { counting_at: countingAt, drawn_bytes: drawn } = begun.rows[0]
    await client.query(endStorageCount.text, [tenantId, countingAt.getTime(), 1, 2, 3, drawn])
    const { drawn_bytes: left, version_bytes: versions, counting_at: after } = await row()
    assert.deepEqual([left, versions, after], ['7', '2', null])
  })

  test(`PostgreSQL ${version}: a tenant without a limit leaves no row, neither by logs nor by writes`, async (t) => {
    const { s, client } = await setup(t)
    const job = await s.createJob()
    const line = { at: s.at(1), level: 'info', message: 'hello' } as const
    const part = { executionId: s.ids.next(), attempt: 1, firstLine: 0, lines: [line] }
    await s.logs.append([{ tenantId: job.tenantId, ...part }])
    for (const table of ['storage_usage', 'log_days'])
      assert.equal((await client.query(`SELECT FROM ${table}`)).rowCount, 0)
  })

  test(`PostgreSQL ${version}: bytes of logs are kept by the day of their execution, and pruned with it`, async (t) => {
    const { s, tenantId, client } = await setup(t)
    const line = { at: s.at(1), level: 'info', message: 'x'.repeat(68) } as const
    const old = '01941f29-7c00-7000-8000-000000000000'
    for (const executionId of [s.ids.next(), old, old]) {
      const attempt = executionId === old ? 1 : 2
      await s.logs.append([{ tenantId, executionId, attempt, firstLine: 0, lines: [line] }])
    }
    const days = async () =>
      (await client.query('SELECT day::text, bytes::int FROM log_days ORDER BY day')).rows
    const [first, ...rest] = await days()
    assert.deepEqual(first, { day: '2025-01-01', bytes: 100 })
    assert.equal(rest.length, 1)
    assert.equal(await s.logs.prune(30, 1_000), 1)
    assert.deepEqual(await days(), rest)
  })

  test(`PostgreSQL ${version}: a tenant that only logs is counted, so that its artifacts leave no room for logs`, async (t) => {
    const { s, tenantId } = await setup(t)
    const content = Buffer.alloc(limit)
    await s.artifacts.put({ tenantId, artifactId: 'a', sha256: '0'.repeat(64), content, by: 'tester' })
    const line = { at: s.at(1), level: 'info', message: 'hello' } as const
    const ids = [s.ids.next(), s.ids.next()]
    for (const executionId of ids)
      await s.logs.append([{ tenantId, executionId, attempt: 1, firstLine: 0, lines: [line] }])
    const read = async (executionId: string) => {
      const query = { tenantId, executionId, attempt: null, after: null, limit: 10 }
      return (await s.logs.read(query)).lines.map(({ message }) => message)
    }
    assert.deepEqual(await read(ids[0]!), ['hello'], 'it was not counted yet')
    const [mark] = await read(ids[1]!)
    assert.match(mark!, /^The log is cut here/)
  })
}
