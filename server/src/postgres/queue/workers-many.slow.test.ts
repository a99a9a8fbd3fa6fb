// 10,000 workers of one tenant beside 500 of another one: all of them are watched, and a dead one is found within its lease.
import assert from 'node:assert/strict'
import test from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import { listWorkers } from '../../../test/list-workers.ts'
import { workerLeaseMs, workersPerTenantMax } from '../../domain/queue/worker.ts'
import { UuidV7 } from '../../lib/id.ts'
import { realRandom } from '../../lib/random.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { createLeaseWatch, reclaimEveryMs, reclaimLost } from '../../maintenance/reclaim-lost.ts'
import { openPostgresStore } from '../open-store.ts'

test('one dead worker among 10,500 is reclaimed when its lease is over, and no other', async (t) => {
  const { client, database } = await useDatabase(t)
  const store = openPostgresStore(database)
  const ids = new UuidV7(() => epochMs(Date.now()), realRandom)
  const tenantOf = async (name: string) => {
    const tenantId = ids.next()
    const values = [tenantId, name]
    await client.query(`INSERT INTO tenants (tenant_id, name, tier) VALUES ($1, $2, 'free')`, values)
    return tenantId
  }
  const [many, few] = [await tenantOf('many'), await tenantOf('few')]
  const workers = Array.from({ length: workersPerTenantMax + 500 }, (_, at) => ({
    ...{ workerId: ids.next(), tenantId: at < workersPerTenantMax ? many : few, host: 'a', port: null },
    ...{ version: '1', labels: [], executors: ['worker'] as const, handlers: ['report'], capacity: 50 },
  }))
  const waiting = workers.values()
  const register = async () => {
    for (const worker of waiting) await store.leases.register(worker)
  }
  await Promise.all(Array.from({ length: 4 }, register))
  // As the first ones do while the last ones register, which takes some seconds.
  await client.query('UPDATE workers SET beats = beats + 1, beat_at = clock_timestamp()')
  assert.equal((await store.workers.count({ tenantId: many })).active, workersPerTenantMax)

  const dead = workers.at(-100)!.workerId
  let nowMs = 0
  const watch = createLeaseWatch()
  const deps = { clock: { monotonicMs: () => nowMs }, maintenance: store.maintenance }
  const reclaimed: number[] = []
  for (; nowMs <= workerLeaseMs + reclaimEveryMs; nowMs += reclaimEveryMs) {
    await client.query(
      `UPDATE workers SET beats = beats + 1, beat_at = clock_timestamp() WHERE worker_id <> $1`,
      [dead],
    )
    if ((await reclaimLost(deps, watch)).count > 0) reclaimed.push(nowMs)
  }
  assert.deepEqual(reclaimed, [workerLeaseMs])
  const counts = await store.workers.count({ tenantId: few })
  assert.deepEqual([counts.active, counts.deadLastHour], [499, 1])
  assert.equal((await listWorkers(store.workers, { tenantId: few, status: 'DEAD' }))[0]!.workerId, dead)
  assert.equal((await store.workers.count({ tenantId: many })).active, workersPerTenantMax)

  // A page at a time, every worker is listed once.
  const seen = new Set<string>()
  for (let after: string | null = null; ; ) {
    const page = await listWorkers(store.workers, { tenantId: many, after, limit: 999 })
    for (const { workerId } of page) seen.add(workerId)
    if (page.length < 999) break
    after = page.at(-1)!.workerId
  }
  assert.equal(seen.size, workersPerTenantMax)
})
