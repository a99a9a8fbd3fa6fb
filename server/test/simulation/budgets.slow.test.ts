// An hour of the tier free, and the largest tier, on the virtual clock.
import assert from 'node:assert/strict'
import test from 'node:test'
import { dueMs, judge, minuteMs, setup } from './budget-load.ts'

test('over an hour the tier free starts a burst and then exactly its rate, and the rest is skipped', async () => {
  const { sim, addTenant, addHerd, startsOf, outcomesOf } = setup()
  const tenantId = await addTenant('free')
  await addHerd(tenantId, 7_000)
  await sim.advance(dueMs + 60 * minuteMs)
  assert.deepEqual(judge(startsOf(tenantId), { perMinute: 100, count: 7_000, minutes: 60 }), [])
  await sim.advance(minuteMs)
  const { succeeded, 'skipped quota': skipped } = outcomesOf(tenantId)
  assert(succeeded! >= 6_178 && succeeded! <= 6_180, `${succeeded} of 6,180 succeeded`)
  assert.equal(succeeded! + skipped!, 7_000)
})

test('the tier enterprise starts 18,000 at once and 10,000 a minute, beside tenants of other tiers', async () => {
  const { sim, addTenant, addHerd, startsOf } = setup()
  const tiers = [['free', 100, 500], ['pro', 1_000, 3_000], ['enterprise', 10_000, 30_000]] as const // biome-ignore format: a table
  const tenants = await Promise.all(tiers.map(([tier]) => addTenant(tier)))
  for (const [index, [, , count]] of tiers.entries()) await addHerd(tenants[index]!, count)
  const minutes = 2
  await sim.advance(dueMs + minutes * minuteMs)
  for (const [index, [tier, perMinute, count]] of tiers.entries())
    assert.deepEqual(judge(startsOf(tenants[index]!), { perMinute, count, minutes }), [], tier)
})
