import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { TokenBuckets } from './rate-limit.ts'

async function setup(t: TestContext, tier: string) {
  const parts = await setupApp(t)
  const { call } = parts
  const tenantId = await addTenant(call, 'sales', tier)
  const { headers } = await addKey(call, tenantId)
  const ask = (more: Record<string, string> = {}, path = `/tenants/${tenantId}`) =>
    call('GET', path, undefined, { ...headers, ...more })
  return { ...parts, tenantId, headers, ask }
}

test('every answer to a limited tenant shows the remaining requests, refusals too', async (t) => {
  const { ask } = await setup(t, 'free')
  const answer = await ask()
  assert.equal(answer.headers['ratelimit-policy'], '"api";q=10;w=1')
  assert.equal(answer.headers['ratelimit'], '"api";r=19;t=1')
  assert.equal((await ask({}, '/jobs/nope')).headers['ratelimit'], '"api";r=18;t=1')
  assert.equal((await ask({}, '/workers')).headers['ratelimit'], '"api";r=17;t=1')
  assert.equal((await ask({ 'x-tenant-id': 'other' })).headers['ratelimit'], '"api";r=16;t=1')
})

test("two seconds' worth may come at once; then it is 429 until there is room again", async (t) => {
  const { world, ask } = await setup(t, 'free')
  for (let i = 0; i < 20; i++) assert.equal((await ask()).statusCode, 200)
  const refused = await ask()
  assertProblem(refused, 'RATE_LIMITED')
  assert.equal(refused.headers['retry-after'], '1')
  assert.equal(refused.headers['ratelimit'], '"api";r=0;t=2')
  await world.advance(99)
  assertProblem(await ask(), 'RATE_LIMITED')
  await world.advance(1)
  assert.equal((await ask()).statusCode, 200)
  assertProblem(await ask(), 'RATE_LIMITED')
  await world.advance(60_000)
  assert.equal((await ask()).headers['ratelimit'], '"api";r=19;t=1')
})

test('each tenant has its own, and all keys of a tenant share it', async (t) => {
  const { call, tenantId, ask } = await setup(t, 'free')
  const other = await addTenant(call, 'support', 'free')
  const second = await addKey(call, tenantId)
  const foreign = await addKey(call, other)
  for (let i = 0; i < 20; i++) await ask()
  assertProblem(await ask(second.headers), 'RATE_LIMITED')
  assert.equal((await ask(foreign.headers, `/tenants/${other}`)).statusCode, 200)
})

test('an unlimited tenant and an operator are not counted', async (t) => {
  const { call, ask } = await setup(t, 'unlimited')
  const limited = await addTenant(call, 'support', 'free')
  for (let i = 0; i < 50; i++) {
    const own = await ask()
    assert.equal(own.statusCode, 200)
    assert.equal(own.headers['ratelimit'], undefined)
    const acting = await call('GET', `/tenants/${limited}`, undefined, { 'x-tenant-id': limited })
    assert.equal(acting.statusCode, 200)
    assert.equal(acting.headers['ratelimit'], undefined)
  }
})

test('another tier counts at once', async (t) => {
  const { call, tenantId, ask } = await setup(t, 'free')
  await ask()
  await call('PATCH', `/tenants/${tenantId}`, { tier: 'pro' })
  assert.equal((await ask()).headers['ratelimit-policy'], '"api";q=100;w=1')
  await call('PATCH', `/tenants/${tenantId}`, { tier: 'unlimited' })
  assert.equal((await ask()).headers['ratelimit-policy'], undefined)
})

test('full buckets are dropped, and beyond the maximum the buckets that were unused for longest', () => {
  const buckets = new TokenBuckets()
  const take = (tenant: number, nowMs: number) =>
    buckets.take(`tenant ${tenant}`, { perSecond: 10, nowMs }).left
  for (let i = 0; i < 10_001; i++) take(i, 0)
  assert(buckets.size <= 10_000, `${buckets.size}`)
  assert.equal(take(10_000, 0), 18)
  assert.equal(take(5_000, 0), 18)
  assert.equal(take(0, 0), 19, 'forgotten, and full for nothing')
  take(7, 2_000)
  take(8, 4_000)
  assert.equal(buckets.size, 2)
})

test('used-up tokens are remembered for as long as they matter, wherever the generations begin', () => {
  for (const firstMs of [0, 500, 1_500, 1_999]) {
    const buckets = new TokenBuckets()
    const take = (key: string, nowMs: number) => buckets.take(key, { perSecond: 10, nowMs }).taken
    take('other', 0)
    for (let i = 0; i < 20; i++) assert(take('busy', firstMs))
    for (let ms = firstMs; ms < firstMs + 2_000; ms += 100) {
      take('other', ms)
      assert.equal(take('busy', ms), ms > firstMs, `one a tenth of a second from ${firstMs} on, at ${ms}`)
      assert(!take('busy', ms), `and not two, at ${ms}`)
    }
  }
})

test('the token of a small share is remembered until it is back, also while other tenants ask', () => {
  const buckets = new TokenBuckets()
  // One of 60 processes, with a limit of 6 a second.
  const take = (nowMs: number) => buckets.take('small', { perSecond: 0.1, nowMs }).taken
  const takenAt: number[] = []
  for (let ms = 0; ms <= 60_000; ms += 500) {
    buckets.take('other', { perSecond: 10, nowMs: ms })
    if (ms % 5_000 === 0 && take(ms)) takenAt.push(ms)
  }
  assert.deepEqual(takenAt, [0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000])
})
