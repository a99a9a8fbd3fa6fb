import assert from 'node:assert/strict'
import test from 'node:test'
import { testActiveJobs } from '../../../test/conformance/jobs/active-jobs.ts'
import { change, pause, resume } from '../../../test/conformance/jobs/changes.ts'
import { createScenario } from '../../../test/conformance/scenario.ts'
import { bundlePostgres, openPostgres, testOnStores } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS, useDatabase } from '../../../test/database.ts'
import { defaultTenantId as tenantId } from '../../domain/tenants/tenant.ts'
import { PostgresJobs } from './jobs.ts'

testOnStores(testActiveJobs)

for (const version of POSTGRES_VERSIONS) {
  const setup = async (t: Parameters<typeof openPostgres>[0]) => {
    const bundle = await openPostgres(t, version)
    const s = await createScenario(bundle)
    const like = await s.createJob()
    const create = (activeJobsMax: number) =>
      s.jobs.create({ ...like, jobId: s.ids.next() }, { activeJobsMax })
    const ageCount = (seconds: number) =>
      bundle.client.query(`UPDATE active_jobs SET counted_at = counted_at - $1 * interval '1 second'`, [
        seconds,
      ])
    return { s, like, create, ageCount, client: bundle.client }
  }
  const full = (used: number) => ({ refusal: 'active_jobs_full', used })

  test(`PostgreSQL ${version}: creates and resumes of several servers at once stay within the limit`, async (t) => {
    const { database, client } = await useDatabase(t, { version })
    const s = await createScenario(bundlePostgres({ database, client }))
    const paused = await Promise.all(Array.from({ length: 5 }, () => s.createJob()))
    for (const job of paused) await change(s, job, pause())
    const servers = Array.from({ length: 6 }, () => new PostgresJobs(database))
    const activeJobsMax = 20
    const creates = servers.flatMap((jobs) =>
      Array.from({ length: 8 }, () => jobs.create({ ...paused[0]!, jobId: s.ids.next() }, { activeJobsMax })),
    )
    const resumes = paused.map(({ jobId }, n) =>
      servers[n]!.change({ tenantId, jobId, activeJobsMax }, resume()),
    )
    await Promise.all([...creates, ...resumes])
    const active = { status: 'ACTIVE', tag: null, q: null } as const
    assert.equal((await s.jobs.count(tenantId, active)).total, activeJobsMax)
    assert.deepEqual((await client.query('SELECT used FROM active_jobs')).rows, [{ used: activeJobsMax }])
  })

  test(`PostgreSQL ${version}: a tenant without a limit has no count`, async (t) => {
    const { client } = await setup(t)
    assert.equal((await client.query('SELECT FROM active_jobs')).rowCount, 0)
  })

  test(`PostgreSQL ${version}: a count that would refuse is taken anew when jobs ended that nobody counted off`, async (t) => {
    const { s, like, create, ageCount } = await setup(t)
    assert.equal(await create(2), 'created')
    await ageCount(1)
    await change(s, like, pause())
    assert.equal(await create(2), 'created')
    await ageCount(1)
    assert.deepEqual(await create(2), full(2))
  })

  test(`PostgreSQL ${version}: for a large limit it is taken anew less often`, async (t) => {
    const { client, create } = await setup(t)
    assert.equal(await create(1_000_000), 'created')
    await client.query('UPDATE active_jobs SET used = 1000000')
    assert.deepEqual(await create(1_000_000), full(1_000_000))
    await client.query(`UPDATE active_jobs SET counted_at = counted_at - interval '11 seconds'`)
    assert.equal(await create(1_000_000), 'created')
  })

  test(`PostgreSQL ${version}: jobs that were made without counting are found by a count of ten minutes' age`, async (t) => {
    const { s, like, create, ageCount } = await setup(t)
    assert.equal(await create(4), 'created')
    await s.jobs.create({ ...like, jobId: s.ids.next() })
    await s.jobs.create({ ...like, jobId: s.ids.next() })
    await ageCount(601)
    assert.deepEqual(await create(4), full(4))
    assert.equal((await s.jobs.count(tenantId, { status: 'ACTIVE', tag: null, q: null })).total, 4)
  })
}
