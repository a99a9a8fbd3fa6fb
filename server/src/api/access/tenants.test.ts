import assert from 'node:assert/strict'
import test from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

const free = {
  name: 'free',
  weight: 1,
  history_days: 30,
  payload_bytes_max: 1_024,
  retries_max: 3,
  interval_seconds_min: 60,
  priority_best: 8,
  dead_letters: false,
  requests_per_second: 10,
  host_calls_per_second: 50,
  active_jobs_max: 10_000,
  timeout_seconds_max: 3_600,
  executions_per_minute: 100,
  concurrent_executions_max: 100,
  waiting_executions_max: 10_000,
  storage_bytes_max: 104_857_600,
}

test('a tenant comes with the limits of its tier', async (t) => {
  const { call } = await setupApp(t)
  const made = await call('POST', '/tenants', { name: 'sales', tier: 'free' })
  assert.equal(made.statusCode, 201, made.body)
  const { tenant_id: tenantId, ...rest } = made.json()
  const end = { status: 'ACTIVE', deleted_at: null, purge_at: null, purged_at: null }
  assert.deepEqual(rest, { name: 'sales', tier: free, created_at: '2026-01-01T00:00:00Z', ...end })
  assert.equal(made.headers['location'], `/api/v1/tenants/${tenantId}`)
  assert.deepEqual((await call('GET', `/tenants/${tenantId.toUpperCase()}`)).json(), made.json())
})

test('without a tier a tenant is unlimited, and so is the default one', async (t) => {
  const { call } = await setupApp(t)
  const made = (await call('POST', '/tenants', { name: 'sales' })).json()
  const first = (await call('GET', `/tenants/${defaultTenantId}`)).json()
  for (const { tier } of [made, first]) {
    assert.deepEqual(
      [tier.name, tier.weight, tier.requests_per_second, tier.host_calls_per_second],
      ['unlimited', 10, null, null],
    )
  }
  assert.equal(first.name, 'default')
})

test('a tenant is renamed and moved to another tier', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  const renamed = (await call('PATCH', `/tenants/${tenantId}`, { name: 'sale' })).json()
  assert.deepEqual([renamed.name, renamed.tier.name], ['sale', 'unlimited'])
  const moved = await call('PATCH', `/tenants/${tenantId}`, { tier: 'free', name: 'sale' })
  assert.deepEqual([moved.json().name, moved.json().tier], ['sale', free])
  const { exceeding, ...tenant } = moved.json()
  assert.deepEqual(exceeding, [])
  assert.deepEqual((await call('GET', `/tenants/${tenantId}`)).json(), tenant)
})

test('tenants are listed newest first and in pages', async (t) => {
  const { call } = await setupApp(t)
  const ids: string[] = [defaultTenantId]
  for (const name of ['a', 'b', 'c']) ids.unshift(await addTenant(call, name))
  const idsOf = (list: { tenants: { tenant_id: string }[] }) => list.tenants.map((one) => one.tenant_id)
  const page = (await call('GET', '/tenants?limit=3')).json()
  assert.deepEqual(idsOf(page), ids.slice(0, 3))
  assert.equal(page.pagination.total, 4)
  const rest = (await call('GET', `/tenants?limit=3&cursor=${page.pagination.next_cursor}`)).json()
  assert.deepEqual(idsOf(rest), ids.slice(3))
  assert.equal(rest.pagination.next_cursor, null)
})

test('a name belongs to one tenant', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  await addTenant(call, 'support')
  assertProblem(await call('POST', '/tenants', { name: 'sales' }), 'TENANT_NAME_TAKEN', '/name')
  assertProblem(
    await call('PATCH', `/tenants/${tenantId}`, { name: 'support' }),
    'TENANT_NAME_TAKEN',
    '/name',
  )
  assert.equal((await call('PATCH', `/tenants/${tenantId}`, { name: 'sales' })).statusCode, 200)
})

test('a tenant sees itself and no other', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId, { scopes: ['read'] })
  assert.equal((await call('GET', `/tenants/${tenantId}`, undefined, headers)).json().name, 'sales')
  for (const other of [defaultTenantId, nobody]) {
    assertProblem(await call('GET', `/tenants/${other}`, undefined, headers), 'TENANT_NOT_FOUND')
  }
  const writer = await addKey(call, tenantId, { scopes: ['write'] })
  assertProblem(await call('GET', `/tenants/${tenantId}`, undefined, writer.headers), 'SCOPE_MISSING')
  assertProblem(await call('PATCH', `/tenants/${tenantId}`, { tier: 'pro' }, headers), 'OPERATOR_ONLY')
})

test('each wrong request is refused at its place', async (t) => {
  const { call } = await setupApp(t)
  const post = (body: unknown) => call('POST', '/tenants', body)
  assertProblem(await post({}), 'INVALID_REQUEST', '/name')
  assertProblem(await post({ name: '' }), 'INVALID_REQUEST', '/name')
  assertProblem(await post({ name: 'x'.repeat(129) }), 'INVALID_REQUEST', '/name')
  assert.equal((await post({ name: '𝄞'.repeat(128) })).statusCode, 201)
  assertProblem(await post({ name: 'a', tier: 'gold' }), 'INVALID_REQUEST', '/tier')
  assertProblem(await post({ name: 'a', weight: 9 }), 'INVALID_REQUEST', '/weight')
  assertProblem(await post({ name: 'a\0' }), 'INVALID_TEXT', '/name')
  const path = `/tenants/${defaultTenantId}`
  assertProblem(await call('PATCH', path, {}), 'INVALID_REQUEST', '')
  assertProblem(await call('PATCH', path, { tier: 'gold' }), 'INVALID_REQUEST', '/tier')
  assertProblem(await call('PATCH', path, { id: 1 }), 'INVALID_REQUEST', '/id')
  for (const id of [nobody, 'nope', '%00']) {
    assertProblem(await call('GET', `/tenants/${id}`), 'TENANT_NOT_FOUND')
    assertProblem(await call('PATCH', `/tenants/${id}`, { name: 'a' }), 'TENANT_NOT_FOUND')
  }
  assertProblem(await call('GET', '/tenants?limit=0'), 'INVALID_REQUEST', 'limit')
  assertProblem(await call('GET', '/tenants?cursor=x'), 'INVALID_CURSOR', 'cursor')
})
