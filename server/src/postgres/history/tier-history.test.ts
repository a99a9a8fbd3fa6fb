// How long a tenant sees its history is the limit of its tier; the memory store has one length for all.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../../test/conformance/scenario.ts'
import { openPostgres } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS } from '../../../test/database.ts'
import type { NewJob } from '../../ports/jobs.ts'

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: a tenant sees the days of history that its tier has, and no more`, async (t) => {
    const s = await createScenario(await openPostgres(t, version))
    const jobs: NewJob[] = []
    for (const tier of ['free', 'unlimited']) {
      const tenantId = s.ids.next()
      await s.tenants.create({ tenantId, name: tier, tier })
      const job = await s.createJob({ tenantId })
      await s.fire(job, 0)
      jobs.push(job)
    }
    await s.runAll()
    const seen = () => Promise.all(jobs.map(async (job) => (await s.list(job)).total))
    await s.ageHistory(29)
    assert.deepEqual(await seen(), [1, 1])
    await s.ageHistory(2)
    assert.deepEqual(await seen(), [0, 1])
  })
}
