import assert from 'node:assert/strict'
import test from 'node:test'
import { testTiers } from '../../../test/conformance/access/tiers.ts'
import { createScenario } from '../../../test/conformance/scenario.ts'
import { openPostgres, testOnStores } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS } from '../../../test/database.ts'
import { firstTiers } from '../../../testing/memory-store/first-tiers.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

testOnStores(testTiers)

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: payloads are measured unread, and read where an older program wrote them`, async (t) => {
    const bundle = await openPostgres(t, version)
    const s = await createScenario(bundle)
    const { execution } = await s.createJob()
    await s.createJob({ execution: { ...execution, payload: 'x'.repeat(2_000) } })
    const measured = async () => (await s.tiers.measure(defaultTenantId, firstTiers[1]!)).payloadBytes
    await bundle.client.query('UPDATE job_versions SET payload_bytes = 3000 WHERE payload_bytes > 0')
    assert.deepEqual(await measured(), { jobs: 1, furthest: 3_000 })
    await bundle.client.query('UPDATE job_versions SET lean_execution = NULL, payload_bytes = NULL')
    assert.deepEqual(await measured(), { jobs: 1, furthest: 2_002 })
  })
}
