// Conformance of the tenants port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { deleteJob } from '../../../src/domain/jobs/job-change.ts'
import { defaultTenantId, type Tenant } from '../../../src/domain/tenants/tenant.ts'
import { firstTiers, unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import type { StoreScenario } from '../stores.ts'

async function add(s: StoreScenario, name: string, tier = 'unlimited'): Promise<Tenant> {
  const made = await s.tenants.create({ tenantId: s.ids.next(), name, tier })
  assert(typeof made === 'object', `${made}`)
  return made
}

export function testTenants(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: there is a default tenant without limits`, async (t) => {
    const s = await setup(t)
    const { createdAt, ...rest } = (await s.tenants.get(defaultTenantId))!
    const end = { deletedAt: null, purgeAt: null, purgeBegunAt: null, purgedAt: null }
    assert.deepEqual(rest, { tenantId: defaultTenantId, name: 'default', tier: unlimitedTier, ...end })
    assert(Number.isInteger(createdAt))
  })

  test(`${name}: a new installation has these tiers, and a tenant comes with the limits of its own`, async (t) => {
    const s = await setup(t)
    for (const tier of firstTiers) {
      const before = await s.now()
      const made = await add(s, `on ${tier.tier}`, tier.tier)
      assert.deepEqual(made.tier, tier)
      assert.equal(made.name, `on ${tier.tier}`)
      assert(made.createdAt >= before && made.createdAt <= (await s.now()))
      assert.deepEqual(await s.tenants.get(made.tenantId), made)
    }
    assert.equal(await s.tenants.get(s.ids.next()), null)
  })

  test(`${name}: a taken name and an unknown tier are answers, and nothing is made`, async (t) => {
    const s = await setup(t)
    await add(s, 'sales')
    const tenantId = s.ids.next()
    assert.equal(await s.tenants.create({ tenantId, name: 'sales', tier: 'pro' }), 'name_taken')
    assert.equal(await s.tenants.create({ tenantId, name: 'support', tier: 'gold' }), 'unknown_tier')
    assert.equal(await s.tenants.get(tenantId), null)
    assert.equal((await s.tenants.list({ before: null, limit: 10 })).total, 2)
  })

  test(`${name}: tenants with jobs are counted, up to a bound`, async (t) => {
    const s = await setup(t)
    assert.equal(await s.tenants.countWithJobs(2), 0)
    await s.createJob()
    await s.createJob()
    await add(s, 'sales')
    assert.equal(await s.tenants.countWithJobs(2), 1)
    for (const tenantName of ['support', 'billing']) {
      const { tenantId } = await add(s, tenantName)
      await s.createJob({ tenantId })
    }
    assert.equal(await s.tenants.countWithJobs(2), 2)
    assert.equal(await s.tenants.countWithJobs(10), 3)
  })

  test(`${name}: the limits of workers are told of tenants with one, and follow the tier`, async (t) => {
    const s = await setup(t)
    const small = await add(s, 'small', 'free')
    const large = await add(s, 'large', 'enterprise')
    const asked = [small.tenantId, large.tenantId, defaultTenantId, s.ids.next()]
    const limits = async () =>
      new Map(
        (await s.tenants.workLimits(asked)).map((one) => [
          one.tenantId,
          [one.hostCallsPerSecond, one.concurrentExecutionsMax],
        ]),
      )
    assert.deepEqual(
      await limits(),
      new Map([
        [small.tenantId, [50, 100]],
        [large.tenantId, [5_000, 10_000]],
      ]),
    )
    const free = firstTiers.find(({ tier }) => tier === 'free')!
    await s.tiers.put({ ...free, hostCallsPerSecond: null, concurrentExecutionsMax: 7 })
    await s.tenants.change(large.tenantId, { tier: 'unlimited' })
    assert.deepEqual(await limits(), new Map([[small.tenantId, [null, 7]]]))
    await s.tiers.put({ ...free, hostCallsPerSecond: 3, concurrentExecutionsMax: null })
    assert.deepEqual(await limits(), new Map([[small.tenantId, [3, null]]]))
    assert.deepEqual(await s.tenants.workLimits([]), [])
  })

  test(`${name}: of many that take one name at once, one gets it`, async (t) => {
    const s = await setup(t)
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => s.tenants.create({ tenantId: s.ids.next(), name: 'a', tier: 'pro' })),
    )
    assert.equal(outcomes.filter((outcome) => outcome === 'name_taken').length, 7)
  })

  test(`${name}: a tenant is renamed and moved, and fields that are not named stay`, async (t) => {
    const s = await setup(t)
    const made = await add(s, 'sales', 'free')
    await add(s, 'support')
    const { tenantId } = made
    assert.deepEqual(await s.tenants.change(tenantId, { name: 'sale' }), { ...made, name: 'sale' })
    const pro = firstTiers.find(({ tier }) => tier === 'pro')!
    assert.deepEqual(await s.tenants.change(tenantId, { tier: 'pro' }), { ...made, name: 'sale', tier: pro })
    assert.equal(await s.tenants.change(tenantId, { name: 'support' }), 'name_taken')
    assert.equal(await s.tenants.change(tenantId, { name: 'new', tier: 'gold' }), 'unknown_tier')
    assert.equal(await s.tenants.change(s.ids.next(), { name: 'new' }), 'not_found')
    assert.deepEqual(await s.tenants.get(tenantId), { ...made, name: 'sale', tier: pro })
  })

  test(`${name}: tenants are listed newest first and in pages`, async (t) => {
    const s = await setup(t)
    const made: Tenant[] = []
    for (const one of ['a', 'b', 'c']) made.unshift(await add(s, one))
    const first = await s.tenants.list({ before: null, limit: 2 })
    assert.deepEqual(first, { tenants: made.slice(0, 2), more: true, total: 4 })
    const second = await s.tenants.list({ before: made[1]!.tenantId, limit: 2 })
    assert.deepEqual(
      second.tenants.map((one) => one.name),
      ['a', 'default'],
    )
    assert.deepEqual([second.more, second.total], [false, 4])
  })

  test(`${name}: the usage of a tenant is its own, with a limit and without`, async (t) => {
    const s = await setup(t)
    const { tenantId } = await add(s, 'sales')
    const used = (total: number) => ({ activeJobs: { total, capped: false } })
    assert.deepEqual(await s.tenants.usage(tenantId, { activeJobsMax: null }), used(0))
    await s.createJob()
    const jobs = [await s.createJob({ tenantId }), await s.createJob({ tenantId })]
    assert.deepEqual(await s.tenants.usage(tenantId, { activeJobsMax: null }), used(2))
    assert.deepEqual(await s.tenants.usage(tenantId, { activeJobsMax: 1 }), used(2))
    const target = { tenantId, jobId: jobs[0]!.jobId, activeJobsMax: 10 }
    await s.jobs.change(target, (state) => deleteJob(state, { by: 'tester' }))
    assert.deepEqual(await s.tenants.usage(tenantId, { activeJobsMax: 10 }), used(1))
    assert.deepEqual(await s.tenants.usage(tenantId, { activeJobsMax: null }), used(1))
  })
}
