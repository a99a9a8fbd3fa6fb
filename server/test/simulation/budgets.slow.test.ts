// An hour of the tier free, and the largest tier, on the virtual clock.
import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem } from '../app.ts'
import { dueMs, judge, minuteMs, mostAtOnce, openApi, setup } from './budget-load.ts'

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

// Each burst is a herd of 2.4 minutes' worth that may wait for 30 s, and triggers ten seconds after it.
for (const [tier, perMinute, bursts] of [
  ['free', 100, 6],
  ['pro', 1_000, 6],
  ['enterprise', 10_000, 1],
] as const) {
  test(`in an hour with bursts the tier ${tier} starts, spaces, skips and refuses as many as its limit says`, async (t) => {
    const { sim, addTenant, addHerd, startsOf, outcomesOf } = setup(undefined, { servers: 2 })
    const post = await openApi(t, sim)
    const tenantId = await addTenant(tier)
    const call = (path: string, body: unknown) => post('POST', path, body, { 'x-tenant-id': tenantId })
    const execution = { callback_url: 'https://host-1.example/triggered' }
    const daily = { name: 'daily', schedule: '0 0 1 1 *', overlap_policy: 'ALLOW', execution }
    const { job_id: jobId } = (await call('/jobs', daily)).json()
    /** The tenth that slots leave of a burst; one request holds at most 1,000. */
    const kept = perMinute / 5
    const requests = Math.ceil(kept / 1_000)
    /** Executions that were let go within the last moment, or are on their way. */
    const moment = Math.ceil(perMinute / 600) + 1
    const everyMs = (60 / bursts) * minuteMs
    for (let burst = 0; burst < bursts; burst++) {
      const atMs = dueMs + burst * everyMs
      await addHerd(tenantId, perMinute * 2.4, 30, atMs)
      await sim.advance(atMs + 10_000 - sim.nowMs)
      for (let n = 0; n < requests; n++)
        assert.equal((await call(`/jobs/${jobId}/triggers`, { count: kept / requests })).statusCode, 202)
      // All of them or none: one that is granted in part would leave nothing to the next.
      assertProblem(await call(`/jobs/${jobId}/triggers`, { count: 2 * moment }), 'QUOTA_EXCEEDED')
      await sim.advance(30_000)
      const made = burst + 1
      const starts = startsOf(tenantId).length
      assert.ok(
        Math.abs(starts - made * perMinute * 2.3) <= made * moment,
        `${starts} started in ${made} bursts`,
      )
    }
    await sim.advance(60 * minuteMs - sim.nowMs)
    const { succeeded, 'skipped quota': skipped } = outcomesOf(tenantId)
    assert.equal(succeeded! + skipped!, bursts * (perMinute * 2.4 + kept))
    assert.equal(succeeded, startsOf(tenantId).length)
    const most = mostAtOnce(startsOf(tenantId), perMinute)
    assert.ok(most <= 2 * perMinute + perMinute / 60, `${most} above the rate`)
    t.diagnostic(
      `${succeeded} started, ${skipped} skipped, ${bursts * requests} requests taken, ${bursts} refused`,
    )
  })
}
