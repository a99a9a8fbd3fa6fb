import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'

const execution = { callback_url: 'http://127.0.0.1:7420/echo' }

/** A tenant that may start six executions at once, and three a minute. */
async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { name: _name, ...limits } = (await parts.call('GET', '/tiers/unlimited')).json()
  await parts.call('PUT', '/tiers/small', { ...limits, executions_per_minute: 3 })
  const tenantId = await addTenant(parts.call, 'sales', 'small')
  const { headers } = await addKey(parts.call, tenantId)
  const call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown, more: object = {}) =>
    parts.call(method, path, body, { ...headers, ...more })
  const create = async (changes: object = {}) => {
    const job = { name: 'a', schedule: '@daily', overlap_policy: 'ALLOW', execution, ...changes }
    return (await call('POST', '/jobs', job)).json().job_id as string
  }
  /** Time goes on while a test runs: a part of an execution is earned back. */
  async function spent() {
    const exactly = await parts.memory.executionBudgets.spent(tenantId)
    return exactly === null ? null : Math.ceil(exactly)
  }
  return { ...parts, tenantId, call, create, spent }
}

test('a trigger beyond the budget is refused with the time to wait, and taken after it', async (t) => {
  const { call, create, world } = await setup(t)
  const jobId = await create()
  const trigger = () => call('POST', `/jobs/${jobId}/trigger`)
  for (let n = 0; n < 6; n++) assert.equal((await trigger()).statusCode, 202)
  const refused = await trigger()
  assertProblem(refused, 'QUOTA_EXCEEDED')
  assert.equal(refused.headers['retry-after'], '20')
  assert.match(refused.json().detail, /executions_per_minute is 3 on the tier small/)
  await world.advance(20_000)
  assert.equal((await trigger()).statusCode, 202)
})

test('many triggers are taken all or none, and more than a burst never', async (t) => {
  const { call, create, spent } = await setup(t)
  const jobId = await create()
  const trigger = (count: number) => call('POST', `/jobs/${jobId}/triggers`, { count })
  assertProblem(await trigger(7), 'TIER_LIMIT')
  assert.equal((await trigger(4)).statusCode, 202)
  assertProblem(await trigger(3), 'QUOTA_EXCEEDED')
  assert.equal(await spent(), 4)
  assert.equal((await trigger(2)).statusCode, 202)
})

test('a job that runs at once is charged, and one that waits for its slot is not', async (t) => {
  const { call, create, spent } = await setup(t)
  await create()
  assert.equal(await spent(), null)
  const now = { name: 'now', schedule: { type: 'IMMEDIATE' }, execution }
  for (let n = 0; n < 6; n++) assert.equal((await call('POST', '/jobs', now)).statusCode, 201)
  assertProblem(await call('POST', '/jobs', now), 'QUOTA_EXCEEDED')
  assertProblem(await call('PUT', '/jobs/by-key/k', now), 'QUOTA_EXCEEDED')
  assert.notEqual(await create(), undefined)
})

test('a request that makes no execution costs nothing', async (t) => {
  const { call, spent } = await setup(t)
  const nobody = '0192abcd-ef01-7000-8000-000000000001'
  assertProblem(await call('POST', `/jobs/${nobody}/trigger`), 'JOB_NOT_FOUND')
  assertProblem(await call('POST', `/executions/${nobody}/retry`), 'EXECUTION_NOT_FOUND')
  assert.equal((await call('POST', '/dead-letters/redrive', { execution_ids: [nobody] })).statusCode, 202)
  assert.equal(await spent(), 0)
})

test('a repeated request is answered again without a charge, also when there is no budget left', async (t) => {
  const { call, create, spent } = await setup(t)
  const jobId = await create()
  const key = { 'idempotency-key': 'once' }
  const first = await call('POST', `/jobs/${jobId}/trigger`, undefined, key)
  assert.equal((await call('POST', `/jobs/${jobId}/triggers`, { count: 5 })).statusCode, 202)
  assertProblem(await call('POST', `/jobs/${jobId}/trigger`), 'QUOTA_EXCEEDED')
  const again = await call('POST', `/jobs/${jobId}/trigger`, undefined, key)
  assert.equal(again.json().execution_id, first.json().execution_id)
  assert.equal(await spent(), 6)
})

test('a retry by hand is charged, a second attempt is not', async (t) => {
  const parts = await setup(t)
  const { call, create, spent } = parts
  const jobId = await create()
  const { execution_id: executionId } = (await call('POST', `/jobs/${jobId}/trigger`)).json()
  await runAll(parts)
  assert.equal(await spent(), 1)
  assert.equal((await call('POST', `/executions/${executionId}/retry`)).statusCode, 202)
  assert.equal(await spent(), 2)
})

test('an execution that waits for the budget says so', async (t) => {
  const { call, create, memory, world, tenantId } = await setup(t)
  const jobId = await create()
  const order = { tenantId, jobId, executionId: world.ids.next(), lane: 'shared' }
  await memory.jobs.trigger({ ...order, uncharged: true })
  const { status } = (await call('GET', `/executions/${order.executionId}`)).json()
  assert.equal(status, 'PENDING')
})

test('a tenant without the limit is not charged', async (t) => {
  const { call, memory } = await setupApp(t)
  const job = { name: 'a', schedule: '@daily', execution }
  const { job_id: jobId } = (await call('POST', '/jobs', job)).json()
  assert.equal((await call('POST', `/jobs/${jobId}/triggers`, { count: 1_000 })).statusCode, 202)
  assert.equal(memory.store.budgets.size, 0)
})
