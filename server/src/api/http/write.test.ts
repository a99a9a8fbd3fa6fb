import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'
import type { RunOutcome } from '../../ports/requests.ts'

const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
const request = { name: 'a', schedule: '@daily', execution }

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const create = (key: string, body: unknown = request) =>
    parts.call('POST', '/jobs', body, { 'idempotency-key': key })
  const total = async () => (await parts.call('GET', '/jobs')).json().pagination.total
  return { ...parts, create, total }
}

test('the same request with the same key is done once, and answered the same', async (t) => {
  const { create, total, woken, world } = await setup(t)
  const first = await create('k1')
  assert.equal(first.statusCode, 201, first.body)
  assert.equal(first.headers['idempotency-replayed'], undefined)
  await world.advance(5_000)
  const again = await create(
    'k1',
    '{ "name": "a", "schedule": "@daily", "execution": '.concat(JSON.stringify(execution), '}'),
  )
  assert.equal(again.statusCode, 201)
  assert.equal(again.body, first.body)
  for (const name of ['location', 'etag', 'content-type'])
    assert.equal(again.headers[name], first.headers[name])
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.deepEqual(woken, ['changes'])
  assert.equal(await total(), 1)
  await create('k2')
  assert.equal(await total(), 2)
})

test('a key stands for one request: another body or another path is refused', async (t) => {
  const { create, call, total } = await setup(t)
  const { job_id: jobId } = (await create('k')).json()
  const other = await create('k', { ...request, name: 'b' })
  assertProblem(other, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key')
  const trigger = await call('POST', `/jobs/${jobId}/trigger`, undefined, { 'idempotency-key': 'k' })
  assertProblem(trigger, 'IDEMPOTENCY_KEY_REUSED', 'Idempotency-Key')
  assert.equal(await total(), 1)
})

test('a refused request is not stored: the corrected request may use the key', async (t) => {
  const { create } = await setup(t)
  assertProblem(await create('k', { ...request, schedule: 'soon' }), 'INVALID_SCHEDULE')
  assert.equal((await create('k')).statusCode, 201)
})

test('while the first request is under way the second waits its turn', async (t) => {
  const requests = { run: async <T>(): Promise<RunOutcome<T>> => ({ kind: 'in_flight' }) }
  const { call } = await setupApp(t, { requests })
  const answer = await call('POST', '/jobs', request, { 'idempotency-key': 'k' })
  assertProblem(answer, 'IDEMPOTENCY_KEY_IN_USE', 'Idempotency-Key')
  assert.equal(answer.headers['retry-after'], '1')
})

test('a trigger, a redrive and a cancel are repeated too, without a body', async (t) => {
  const { create, call } = await setup(t)
  const { job_id: jobId } = (await create('k')).json()
  const key = { 'x-idempotency-key': 'trigger' }
  const first = await call('POST', `/jobs/${jobId}/trigger`, undefined, key)
  assert.equal(first.statusCode, 202, first.body)
  const again = await call('POST', `/jobs/${jobId}/trigger`, {}, key)
  assert.deepEqual([again.body, again.headers['idempotency-replayed']], [first.body, 'true'])
  const { pagination } = (await call('GET', `/jobs/${jobId}/executions`)).json()
  assert.equal(pagination.total, 1)
})

test('both names of the header may be given, with one key', async (t) => {
  const { call } = await setup(t)
  const send = (given: string, alias: string) =>
    call('POST', '/jobs', request, { 'idempotency-key': given, 'x-idempotency-key': alias })
  assert.equal((await send('k', 'k')).statusCode, 201)
  assertProblem(await send('k', 'l'), 'INVALID_REQUEST', 'X-Idempotency-Key')
})

test('a key is 1 to 255 visible characters', async (t) => {
  const { create, call } = await setup(t)
  for (const key of ['', 'a b', 'x'.repeat(256), 'ä']) {
    assertProblem(await create(key), 'INVALID_REQUEST', 'Idempotency-Key')
    const alias = await call('POST', '/jobs', request, { 'x-idempotency-key': key })
    assertProblem(alias, 'INVALID_REQUEST', 'X-Idempotency-Key')
  }
  assert.equal((await create('!~'.concat('x'.repeat(253)))).statusCode, 201)
})

test('other methods pay no attention to a key, nor does a preview', async (t) => {
  const { call } = await setup(t)
  const key = { 'idempotency-key': 'k' }
  const put = (name: string) => call('PUT', '/jobs/by-key/a', { ...request, name }, key)
  assert.equal((await put('a')).statusCode, 201)
  assert.equal((await put('b')).json().version, 2)
  assert.equal((await call('POST', '/schedules/preview', { schedule: '@daily' }, key)).statusCode, 200)
  assert.equal((await call('POST', '/schedules/preview', { schedule: '@hourly' }, key)).statusCode, 200)
})

test('idempotency keys of different tenants are independent of each other', async (t) => {
  const { call, create } = await setup(t)
  const { tenant_id: tenantId } = (await call('POST', '/tenants', { name: 'other' })).json()
  const first = await create('k')
  const other = await call(
    'POST',
    '/jobs',
    { ...request, name: 'b' },
    { 'idempotency-key': 'k', 'x-tenant-id': tenantId },
  )
  assert.deepEqual([first.statusCode, other.statusCode], [201, 201], other.body)
})
