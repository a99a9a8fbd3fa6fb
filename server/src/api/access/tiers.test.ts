import assert from 'node:assert/strict'
import test from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'

const echo = 'http://127.0.0.1:7420/echo'
const job = (changes: object = {}) => ({
  name: 'a',
  schedule: '@daily',
  execution: { callback_url: echo },
  ...changes,
})

/** A tier as a request: without its name. */
async function limitsOf({ call }: Awaited<ReturnType<typeof setupApp>>, tier: string) {
  const { name: _name, ...limits } = (await call('GET', `/tiers/${tier}`)).json()
  return limits
}

test('the tiers of a new installation are listed by name', async (t) => {
  const { call } = await setupApp(t)
  const { tiers } = (await call('GET', '/tiers')).json()
  assert.deepEqual(
    tiers.map((tier: Record<string, unknown>) => [
      tier['name'],
      tier['active_jobs_max'],
      tier['timeout_seconds_max'],
    ]),
    [
      ['enterprise', 1_000_000, 604_800],
      ['free', 10_000, 3_600],
      ['pro', 100_000, 86_400],
      ['unlimited', null, null],
    ],
  )
  for (const tier of tiers) assert.deepEqual((await call('GET', `/tiers/${tier.name}`)).json(), tier)
})

test('a tier is created and replaced as a whole', async (t) => {
  const parts = await setupApp(t)
  const { call } = parts
  const limits = { ...(await limitsOf(parts, 'free')), active_jobs_max: 7, requests_per_second: null }
  const made = await call('PUT', '/tiers/gold', limits)
  assert.equal(made.statusCode, 201, made.body)
  assert.equal(made.headers['location'], '/api/v1/tiers/gold')
  assert.deepEqual(made.json(), { tier: { name: 'gold', ...limits }, exceeding: [], unchecked_tenants: 0 })
  const changed = await call('PUT', '/tiers/gold', { ...limits, active_jobs_max: 8 })
  assert.equal(changed.statusCode, 200)
  assert.equal((await limitsOf(parts, 'gold')).active_jobs_max, 8)
  assert.equal(
    (await call('POST', '/tenants', { name: 'sales', tier: 'gold' })).json().tier.active_jobs_max,
    8,
  )
})

test('a change of a tier applies at once to a key that is in use, and without a restart', async (t) => {
  const parts = await setupApp(t)
  const { call } = parts
  const { headers } = await addKey(call, await addTenant(call, 'sales', 'free'))
  assert.equal((await call('POST', '/jobs', job(), headers)).statusCode, 201)
  await call('PUT', '/tiers/free', { ...(await limitsOf(parts, 'free')), active_jobs_max: 1 })
  const refused = await call('POST', '/jobs', job(), headers)
  assertProblem(refused, 'TIER_LIMIT')
  assert.match(refused.json().detail, /1 active jobs; active_jobs_max is 1 on the tier free/)
  await call('PUT', '/tiers/free', { ...(await limitsOf(parts, 'free')), active_jobs_max: 2 })
  assert.equal((await call('POST', '/jobs', job(), headers)).statusCode, 201)
})

test('the answer to a change names the tenants that are beyond the limits', async (t) => {
  const parts = await setupApp(t)
  const { call } = parts
  const large = { 'x-tenant-id': await addTenant(call, 'large', 'pro') }
  await addTenant(call, 'small', 'pro')
  const execution = { callback_url: echo, timeout_seconds: 7_200, payload: 'x'.repeat(3_000) }
  const heavy = { execution, priority: 3, retry_policy: { max_retries: 5 } }
  for (let n = 0; n < 2; n++) await call('POST', '/jobs', job(heavy), large)
  await call('POST', '/jobs', job(), large)
  const limits = { ...(await limitsOf(parts, 'free')), active_jobs_max: 2 }
  const expected = [
    {
      tenant_id: large['x-tenant-id'],
      name: 'large',
      limits: [
        { limit: 'active_jobs_max', allowed: 2, used: 3, jobs: null },
        { limit: 'timeout_seconds_max', allowed: 3_600, used: 7_200, jobs: 2 },
        { limit: 'retries_max', allowed: 3, used: 5, jobs: 2 },
        { limit: 'priority_best', allowed: 8, used: 3, jobs: 3 },
        { limit: 'payload_bytes_max', allowed: 1_024, used: 3_002, jobs: 2 },
      ],
    },
  ]
  assert.deepEqual((await call('PUT', '/tiers/pro', limits)).json().exceeding, expected)
  const wide = { ...limits, active_jobs_max: 3, priority_best: 1, payload_bytes_max: 3_002 }
  const rest = (await call('PUT', '/tiers/pro', { ...wide, timeout_seconds_max: null })).json()
  assert.deepEqual(
    rest.exceeding[0].limits.map(({ limit }: { limit: string }) => limit),
    ['retries_max'],
  )
})

test('a tenant that is moved to a smaller tier is told the limits that it is beyond', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'large')
  const retry = { max_retries: 9 }
  await call('POST', '/jobs', job({ retry_policy: retry, priority: 9 }), { 'x-tenant-id': tenantId })
  const beyond = [{ limit: 'retries_max', allowed: 3, used: 9, jobs: 1 }]
  assert.deepEqual((await call('PATCH', `/tenants/${tenantId}`, { tier: 'free' })).json().exceeding, beyond)
  const renamed = (await call('PATCH', `/tenants/${tenantId}`, { name: 'small' })).json()
  assert.equal('exceeding' in renamed, false)
  assert.deepEqual((await call('PATCH', `/tenants/${tenantId}`, { tier: 'enterprise' })).json().exceeding, [])
})

test('tiers are for operators', async (t) => {
  const parts = await setupApp(t)
  const { call } = parts
  const { headers } = await addKey(call, await addTenant(call, 'sales', 'free'))
  const limits = await limitsOf(parts, 'free')
  assertProblem(await call('GET', '/tiers', undefined, headers), 'OPERATOR_ONLY')
  assertProblem(await call('GET', '/tiers/free', undefined, headers), 'OPERATOR_ONLY')
  assertProblem(await call('PUT', '/tiers/free', limits, headers), 'OPERATOR_ONLY')
})

test('each wrong request is refused at its place', async (t) => {
  const parts = await setupApp(t)
  const { call } = parts
  const limits = await limitsOf(parts, 'free')
  const { weight: _weight, ...less } = limits
  assertProblem(await call('PUT', '/tiers/free', less), 'INVALID_REQUEST', '/weight')
  assertProblem(await call('PUT', '/tiers/free', { ...limits, name: 'x' }), 'INVALID_REQUEST', '/name')
  const wrong = {
    weight: 0,
    history_days: 366,
    payload_bytes_max: 262_145,
    retries_max: 101,
    interval_seconds_min: 0,
    priority_best: 11,
    dead_letters: null,
    requests_per_second: 0,
    host_calls_per_second: 0,
    active_jobs_max: -1,
    timeout_seconds_max: 604_801,
  }
  for (const [field, value] of Object.entries(wrong))
    assertProblem(
      await call('PUT', '/tiers/free', { ...limits, [field]: value }),
      'INVALID_REQUEST',
      `/${field}`,
    )
  assertProblem(await call('PUT', '/tiers/Gold', limits), 'INVALID_REQUEST', 'name')
  assertProblem(await call('GET', '/tiers/gold'), 'TIER_NOT_FOUND')
  assertProblem(await call('GET', '/tiers/%00'), 'TIER_NOT_FOUND')
  assert.deepEqual(await limitsOf(parts, 'free'), limits)
  for (let n = 0; n < 96; n++) assert.equal((await call('PUT', `/tiers/t${n}`, limits)).statusCode, 201)
  assertProblem(await call('PUT', '/tiers/more', limits), 'TOO_MANY_TIERS')
  assert.equal((await call('PUT', '/tiers/t1', limits)).statusCode, 200)
})
