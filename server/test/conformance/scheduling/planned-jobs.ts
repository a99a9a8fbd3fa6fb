// Conformance of the queries for planned slots.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testPlans(name: string, setup: Setup): void {
  test(`${name}: active jobs with a slot to come are listed by id, page by page`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const [first, second] = [await s.createJob({ name: 'first' }), await s.createJob({ name: 'second' })]
    await s.createJob({ tenantId })
    await s.createJob({ status: 'PAUSED' })
    await s.createJob({ status: 'COMPLETED', slotAt: null })
    const [one, ...more] = await s.plannedJobs.listPlanned({
      tenantId: defaultTenantId,
      after: null,
      limit: 10,
    })
    assert.deepEqual(one, {
      ...{ jobId: first.jobId, name: 'first', schedule: first.schedule, anchorAt: first.anchorAt },
      ...{ slotAt: s.at(0), runs: 0, calendars: null },
    })
    assert.deepEqual(
      more.map(({ jobId }) => jobId),
      [second.jobId],
    )
    const page = (after: string | null) =>
      s.plannedJobs.listPlanned({ tenantId: defaultTenantId, after, limit: 1 })
    assert.deepEqual(
      (await page(null)).map(({ jobId }) => jobId),
      [first.jobId],
    )
    assert.deepEqual(
      (await page(first.jobId)).map(({ jobId }) => jobId),
      [second.jobId],
    )
    assert.deepEqual(await page(second.jobId), [])
  })

  test(`${name}: a planned job carries the contents of the calendars that it names`, async (t) => {
    const s = await setup(t)
    const exclusions = [{ calendar: 'holidays' }]
    await s.createJob({ schedule: { type: 'CRON', cron_expression: '0 9 * * *', exclusions } })
    const [job] = await s.plannedJobs.listPlanned({ tenantId: defaultTenantId, after: null, limit: 10 })
    assert.deepEqual(job!.calendars, { holidays: [] })
  })
}
