import assert from 'node:assert/strict'
import test from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'

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
  const activeJobs = (used: number, alarm: boolean) => {
    return { name: 'active_jobs_max', limit: 5, used, capped: false, resets_at: null, alarm }
  }
  const first = async () => {
    const found = await usage()
    assert.deepEqual([found.tenant_id, found.tier], [tenantId, 'free'])
    return found.usage[0]
  }
  for (let n = 0; n < 3; n++) await call('POST', '/jobs', job, headers)
  assert.deepEqual(await first(), activeJobs(3, false))
  const { job_id: jobId } = (await call('POST', '/jobs', job, headers)).json()
  assert.deepEqual(await first(), activeJobs(4, true))
  await call('PATCH', `/jobs/${jobId}/pause`, undefined, headers)
  assert.deepEqual(await first(), activeJobs(3, false))
})

test('the usage lists active jobs, waiting executions and storage', async (t) => {
  const { call, headers, usage, world } = await setup(t)
  const { job_id: jobId } = (await call('POST', '/jobs', job, headers)).json()
  await world.advance(5_001)
  for (let n = 0; n < 2; n++) await call('POST', `/jobs/${jobId}/trigger`, undefined, headers)
  const [, waiting, storage, ...rest] = (await usage()).usage
  const same = { capped: false, resets_at: null, alarm: false }
  assert.deepEqual(waiting, { name: 'waiting_executions_max', limit: 10_000, used: 2, ...same })
  const { used, ...stored } = storage
  assert.deepEqual(stored, { name: 'storage_bytes_max', limit: 104_857_600, ...same })
  assert(used > 200 && used < 2_000, `${used}`)
  assert.deepEqual(
    rest.map(({ name }: { name: string }) => name),
    ['executions_per_minute', 'concurrent_executions_max'],
  )
})

test('the usage of executions a minute says when nothing counts against it any more', async (t) => {
  const { call, headers, usage, world } = await setup(t)
  const { job_id: jobId } = (await call('POST', '/jobs', { ...job, overlap_policy: 'ALLOW' }, headers)).json()
  const find = async () => {
    const entries = (await usage()).usage as {
      name: string
      used: number
      alarm: boolean
      resets_at: string
    }[]
    return entries.find(({ name }) => name === 'executions_per_minute')!
  }
  assert.deepEqual(await find(), {
    ...{ name: 'executions_per_minute', limit: 100, used: 0, capped: false },
    ...{ resets_at: null, alarm: false },
  })
  await call('POST', `/jobs/${jobId}/triggers`, { count: 150 }, headers)
  const { used, alarm, resets_at: resetsAt } = await find()
  assert.deepEqual([used, alarm], [150, false])
  const resetsInMs = Date.parse(resetsAt) - world.clock.databaseNow()
  assert(resetsInMs > 89_000 && resetsInMs <= 90_000, `${resetsInMs}`)
  await call('POST', `/jobs/${jobId}/triggers`, { count: 20 }, headers)
  assert.equal((await find()).alarm, true)
})

test('without a limit there is no alarm, and storage is not counted', async (t) => {
  const { call } = await setupApp(t)
  await call('POST', '/jobs', job)
  const { tier, usage } = (await call('GET', `/tenants/${defaultTenantId}/usage`)).json()
  assert.equal(tier, 'unlimited')
  const [{ limit, used, alarm }] = usage
  assert.deepEqual([limit, used, alarm], [null, 1, false])
  const names = usage.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, ['active_jobs_max', 'waiting_executions_max'])
})

test('executions are counted by day, of the tenant that is asked about', async (t) => {
  const parts = await setup(t)
  const { call, tenantId, headers, world } = parts
  const { job_id: jobId } = (await call('POST', '/jobs', job, headers)).json()
  const run = async (changes: Parameters<typeof runAll>[1] = {}) => {
    await call('POST', `/jobs/${jobId}/trigger`, undefined, headers)
    await runAll(parts, changes)
  }
  await run()
  const dayOf = () => toRfc3339(world.clock.databaseNow()).slice(0, 10)
  const first = dayOf()
  await world.advance(2 * dayMs)
  await run()
  await run({ outcome: 'failed', error: { type: 'HTTP_ERROR', message: 'no' } })
  const second = dayOf()
  const path = `/tenants/${tenantId}/usage/days`
  const none = { timed_out: 0, cancelled: 0, skipped: 0, retries: 0, dead_letters: 0 }
  const days = [
    { date: first, executions: 1, succeeded: 1, failed: 0, ...none },
    { date: second, executions: 2, succeeded: 1, failed: 1, ...none },
  ]
  const own = (await call('GET', path, undefined, headers)).json()
  assert.deepEqual([own.tenant_id, own.days], [tenantId, days])
  assert.deepEqual((await call('GET', path)).json().days, days, 'an operator asks for any tenant')
  const late = (await call('GET', `${path}?from=${second}`, undefined, headers)).json()
  assert.deepEqual(late.days, days.slice(1))
  const early = (await call('GET', `${path}?from=${first}&to=${second}`, undefined, headers)).json()
  assert.deepEqual(early.days, days.slice(0, 1))
})

test('days are asked for in a range of at most 400, and only by its tenant or an operator', async (t) => {
  const { call, tenantId, headers } = await setup(t)
  const get = (query: string, of = tenantId) =>
    call('GET', `/tenants/${of}/usage/days${query}`, undefined, headers)
  assert.equal((await get('?from=2025-01-01&to=2026-02-05')).statusCode, 200)
  assertProblem(await get('?from=2025-01-01&to=2026-02-06'), 'INVALID_REQUEST', 'from')
  assertProblem(await get('?from=2025-01-02&to=2025-01-01'), 'INVALID_REQUEST', 'from')
  assertProblem(await get('?from=yesterday'), 'INVALID_REQUEST')
  assertProblem(await get('', defaultTenantId), 'TENANT_NOT_FOUND')
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
