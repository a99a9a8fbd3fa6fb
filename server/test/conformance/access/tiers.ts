// Conformance of the tiers port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId, type Tier, tiersMax } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { firstTiers, unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import { pause, remove } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { deleteTenant } from './tenant-scene.ts'

export function testTiers(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: tiers are listed by name, made and replaced`, async (t) => {
    const s = await setup(t)
    const names = (tiers: readonly Tier[]) => tiers.map(({ tier }) => tier)
    assert.deepEqual(
      await s.tiers.list(),
      [...firstTiers].toSorted((a, b) => (a.tier < b.tier ? -1 : 1)),
    )
    const gold: Tier = { ...unlimitedTier, tier: 'gold', weight: 7, activeJobsMax: 5, hostCallsPerSecond: 3 }
    assert.equal(await s.tiers.put(gold), 'created')
    assert.deepEqual(await s.tiers.get('gold'), gold)
    const lesser: Tier = {
      tier: 'gold',
      weight: 1,
      historyDays: 2,
      payloadBytesMax: 3,
      retriesMax: 4,
      intervalSecondsMin: 5,
      priorityBest: 6,
      deadLetters: false,
      requestsPerSecond: 7,
      hostCallsPerSecond: null,
      activeJobsMax: null,
      timeoutSecondsMax: 8,
      executionsPerMinute: 9,
      concurrentExecutionsMax: 10,
      waitingExecutionsMax: null,
      storageBytesMax: 12_000_000_000,
    }
    assert.equal(await s.tiers.put(lesser), 'changed')
    assert.deepEqual(await s.tiers.get('gold'), lesser)
    assert.equal(await s.tiers.get('silver'), null)
    assert.deepEqual(names(await s.tiers.list()), ['enterprise', 'free', 'gold', 'pro', 'unlimited'])
  })

  test(`${name}: there are so many tiers and no more`, async (t) => {
    const s = await setup(t)
    for (let n = firstTiers.length; n < tiersMax; n++)
      assert.equal(await s.tiers.put({ ...unlimitedTier, tier: `t${n}` }), 'created')
    assert.equal(await s.tiers.put({ ...unlimitedTier, tier: 'more' }), 'too_many')
    assert.equal(await s.tiers.put({ ...unlimitedTier, tier: 't9' }), 'changed')
  })

  test(`${name}: a tenant has the limits of its tier as they are now`, async (t) => {
    const s = await setup(t)
    const tenantId = s.ids.next()
    await s.tenants.create({ tenantId, name: 'sales', tier: 'free' })
    const free = { ...firstTiers[1]!, activeJobsMax: 3 }
    await s.tiers.put(free)
    assert.deepEqual((await s.tenants.get(tenantId))!.tier, free)
    assert.deepEqual((await s.tenants.get(defaultTenantId))!.tier, unlimitedTier)
  })

  test(`${name}: the tenants of a tier are listed, oldest first`, async (t) => {
    const s = await setup(t)
    const made = []
    for (const tenant of ['a', 'b', 'c']) {
      const tenantId = s.ids.next()
      await s.tenants.create({ tenantId, name: tenant, tier: 'pro' })
      made.push({ tenantId, name: tenant })
    }
    assert.deepEqual(await s.tiers.listTenants('pro', 10), { tenants: made, total: 3 })
    assert.deepEqual(await s.tiers.listTenants('pro', 2), { tenants: made.slice(0, 2), total: 3 })
    assert.deepEqual(await s.tiers.listTenants('free', 2), { tenants: [], total: 0 })
    await deleteTenant(s, made[0]!.tenantId)
    assert.deepEqual(await s.tiers.listTenants('pro', 1), { tenants: [made[1]], total: 2 }, 'one is deleted')
  })

  test(`${name}: a tenant is measured by its active jobs and by the jobs that are beyond a limit`, async (t) => {
    const s = await setup(t)
    const free = firstTiers[1]!
    const plain = await s.createJob({ priority: 8 })
    const nothing = { timeoutSeconds: null, retries: null, priority: null, payloadBytes: null }
    // Storage is measured by another test: stores take different bytes for the same job.
    const measure = async (tenantId: string, tier: Tier) => {
      const { storageBytes, ...rest } = await s.tiers.measure(tenantId, tier)
      assert.equal(storageBytes > 0, tenantId === defaultTenantId && tier.storageBytesMax !== null)
      return rest
    }
    const idle = { waitingExecutions: 0 }
    assert.deepEqual(await measure(defaultTenantId, free), { activeJobs: 1, ...idle, ...nothing })
    const execution = { ...plain.execution, timeout_seconds: 7_200, payload: 'x'.repeat(2_000) }
    const heavy = { priority: 2, retryPolicy: { ...plain.retryPolicy, max_retries: 9 }, execution }
    const first = await s.createJob(heavy)
    await s.createJob({ ...heavy, priority: 3 })
    const expected = {
      timeoutSeconds: { jobs: 2, furthest: 7_200 },
      retries: { jobs: 2, furthest: 9 },
      priority: { jobs: 2, furthest: 2 },
      payloadBytes: { jobs: 2, furthest: 2_002 },
    }
    assert.deepEqual(await measure(defaultTenantId, free), { activeJobs: 3, ...idle, ...expected })
    const other = await s.addTenant(1)
    assert.deepEqual(await measure(other, free), { activeJobs: 0, ...idle, ...nothing })
    assert.deepEqual(await measure(defaultTenantId, unlimitedTier), { activeJobs: 3, ...idle, ...nothing })
    for (let n = 0; n < 3; n++) {
      const order = { tenantId: defaultTenantId, jobId: plain.jobId, executionId: s.ids.next() }
      await s.jobs.trigger({ ...order, lane: 'shared' })
    }
    assert.equal((await s.tiers.measure(defaultTenantId, free)).waitingExecutions, 3)
    const target = ({ jobId }: { jobId: string }) => ({ tenantId: defaultTenantId, jobId })
    await s.jobs.change(target(plain), pause('with an end', epochMs((await s.now()) + 60_000)))
    await s.jobs.change(target(first), remove)
    const left = await s.tiers.measure(defaultTenantId, free)
    assert.deepEqual([left.activeJobs, left.priority], [2, { jobs: 1, furthest: 3 }])
  })
}
