import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant } from '../../test/access.ts'
import { assertProblem, setupApp } from '../../test/app.ts'
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

test('every answer to a limited tenant tells what is left, refusals too', async (t) => {
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

test('full buckets are forgotten, and of too many the one that was left alone for longest', () => {
  const buckets = new TokenBuckets()
  for (let i = 0; i < 10_001; i++) buckets.take(`tenant ${i}`, { perSecond: 10, nowMs: 0 })
  assert.equal(buckets.size, 10_000)
  assert.equal(buckets.take('tenant 1', { perSecond: 10, nowMs: 0 }).left, 18)
  assert.equal(buckets.take('tenant 0', { perSecond: 10, nowMs: 0 }).left, 19)
  buckets.take('tenant 7', { perSecond: 10, nowMs: 1_999 })
  buckets.take('tenant 8', { perSecond: 10, nowMs: 2_000 })
  assert.equal(buckets.size, 2)
})
