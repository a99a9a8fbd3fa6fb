// A tenant with a thousand workers that have as many handlers with as long names as they may.
import assert from 'node:assert/strict'
import test from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { PostgresWorkers } from './workers.ts'

const workers = 1_000

/** $1: the tenant, $2: how many. No name can be compressed away. */
const insertWorkers = `
  INSERT INTO workers (worker_id, tenant_id, host, version, labels, executors, handlers, capacity, generation)
  SELECT md5(n::text)::uuid, $1, 'a', '1', '{}', '{worker}',
    ARRAY(
      SELECT md5(n || 'a' || m) || md5(n || 'b' || m) || md5(n || 'c' || m) || md5(n || 'd' || m)
      FROM generate_series(1, 199) AS m
    ) || ARRAY['report'], 50, 1
  FROM generate_series(1, $2::int) AS n`

test('which workers could run a job is answered within a second, in a row of numbers', async (t) => {
  const { client, database } = await useDatabase(t)
  await client.query(insertWorkers, [defaultTenantId, workers])
  const store = new PostgresWorkers(database)
  const wanted = { executor: 'worker', tenantId: defaultTenantId, handler: 'report', labels: [] } as const
  const startMs = performance.now()
  const runners = await store.runners(wanted)
  const tookMs = performance.now() - startMs
  assert.deepEqual(runners, { count: workers, hasRoom: true, own: [] })
  assert.equal((await store.runners({ ...wanted, handler: 'other' })).count, 0)
  assert.equal(await store.hasRunner(wanted), true)
  assert(tookMs < 1_000, `${tookMs} ms`)
})
