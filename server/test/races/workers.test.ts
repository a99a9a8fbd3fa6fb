// Registrations of one tenant at the same moment: the second counts the first, which is not committed yet.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import { insertTenantWorker } from '../../src/postgres/queue/workers.sql.ts'
import { testWorker } from '../app.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { createRace } from './sessions.ts'

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: two registrations for one free place take one`, async (t) => {
    const { s, first, second, waiting } = await createRace(t, version)
    const worker = () => testWorker({ workerId: s.ids.next(), tenantId: defaultTenantId })
    assert.equal(await s.leases.register(worker(), 2), 'registered')
    const held = first.holdAfter(insertTenantWorker)
    const early = first.leases.register(worker(), 2)
    await held.reached
    const late = second.leases.register(worker(), 2)
    await Promise.race([waiting(), late])
    held.resume()
    assert.deepEqual([await early, await late], ['registered', 'too_many'])
    assert.equal((await s.workers.count({ tenantId: defaultTenantId })).active, 2)
  })
}
