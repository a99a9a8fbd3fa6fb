import assert from 'node:assert/strict'
import test from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

const job = { name: 'a', schedule: '@daily', execution: { callback_url: 'http://127.0.0.1:7420/echo' } }

/** A tenant that may have five active jobs. */
async function setup(...[t]: Parameters<typeof setupApp>) {
  const parts = await setupApp(t)
  const { call } = parts
  const tenantId = await addTenant(call, 'sales', 'free')
  const { name: _name, ...limits } = (await call('GET', '/tiers/free')).json()
  await call('PUT', '/tiers/free', { ...limits, active_jobs_max: 5 })
  const { headers } = await addKey(call, tenantId)
  const usage = async () => (await call('GET', `/tenants/${tenantId}/usage`, undefined, headers)).json()
  return { ...parts, tenantId, headers, usage }
}

test('a tenant sees the used part of each limit, with an alarm from 80 % on', async (t) => {
  const { call, tenantId, headers, usage } = await setup(t)
  const expected = (used: number, alarm: boolean) => ({
    tenant_id: tenantId,
    tier: 'free',
    usage: [{ name: 'active_jobs_max', limit: 5, used, capped: false, resets_at: null, alarm }],
  })
  for (let n = 0; n < 3; n++) await call('POST', '/jobs', job, headers)
  assert.deepEqual(await usage(), expected(3, false))
  const { job_id: jobId } = (await call('POST', '/jobs', job, headers)).json()
  assert.deepEqual(await usage(), expected(4, true))
  await call('PATCH', `/jobs/${jobId}/pause`, undefined, headers)
  assert.deepEqual(await usage(), expected(3, false))
})

test('without a limit there is no alarm', async (t) => {
  const { call } = await setupApp(t)
  await call('POST', '/jobs', job)
  const { tier, usage } = (await call('GET', `/tenants/${defaultTenantId}/usage`)).json()
  assert.equal(tier, 'unlimited')
  const [{ limit, used, alarm }] = usage
  assert.deepEqual([limit, used, alarm], [null, 1, false])
})

test('an operator sees the usage of any tenant, a tenant only its own', async (t) => {
  const { call, tenantId, headers } = await setup(t)
  assert.equal((await call('GET', `/tenants/${tenantId.toUpperCase()}/usage`)).statusCode, 200)
  for (const other of [defaultTenantId, '0192abcd-ef01-7000-8000-000000000001', 'nope'])
    assertProblem(await call('GET', `/tenants/${other}/usage`, undefined, headers), 'TENANT_NOT_FOUND')
  assertProblem(await call('GET', '/tenants/nope/usage'), 'TENANT_NOT_FOUND')
  const writer = await addKey(call, tenantId, { scopes: ['write'] })
  assertProblem(await call('GET', `/tenants/${tenantId}/usage`, undefined, writer.headers), 'SCOPE_MISSING')
})
