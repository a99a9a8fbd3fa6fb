import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'

const echo = 'http://127.0.0.1:7420/echo'
const nobody = '0192abcd-ef01-7000-8000-000000000001'

/** A tenant on the tier free: 1 KB of payload, 3 retries, once a minute, priority 8 to 10, no dead letters. */
async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const tenant = await parts.call('POST', '/tenants', { name: 'small', tier: 'free' })
  const headers = { 'x-tenant-id': tenant.json().tenant_id }
  const call = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
    parts.call(method, path, body, { ...headers, 'if-match': '*' })
  const job = (changes: Record<string, unknown> = {}, execution: object = {}) => ({
    name: 'a',
    schedule: '@daily',
    execution: { callback_url: echo, ...execution },
    ...changes,
  })
  const create = (changes: Record<string, unknown> = {}, execution: object = {}) =>
    call('POST', '/jobs', job(changes, execution))
  return { ...parts, call, job, create }
}

/** As JSON: two bytes more. */
const payloadOf = (bytes: number) => 'x'.repeat(bytes - 2)

test('values within the tier limits are accepted, and defaults are the nearest that the tier allows', async (t) => {
  const { create } = await setup(t)
  const { priority, retry_policy: retryPolicy } = (await create()).json()
  assert.deepEqual([priority, retryPolicy.max_retries], [8, 3])
  assert.equal((await create({}, { payload: payloadOf(1_024) })).statusCode, 201)
  assert.equal((await create({ schedule: { every_seconds: 60 } })).statusCode, 201)
  assert.equal((await create({ schedule: { type: 'IMMEDIATE' } })).statusCode, 201)
  assert.equal((await create({ priority: 10 })).statusCode, 201)
})

test('values beyond the tier limits are refused by name and never reduced', async (t) => {
  const { create, call, job } = await setup(t)
  const beyond: [string, Record<string, unknown>, object?][] = [
    ['/execution/payload', {}, { payload: payloadOf(1_025) }],
    ['/retry_policy/max_retries', { retry_policy: { max_retries: 4 } }],
    ['/priority', { priority: 7 }],
    ['/schedule/every_seconds', { schedule: { every_seconds: 59 } }],
    ['/schedule/interval', { schedule: { interval: 'PT30S' } }],
    ['/schedule/cron_expression', { schedule: { cron_expression: '*/30 * * * * *' } }],
    ['/schedule', { schedule: 'every 10 seconds' }],
  ]
  const { job_id: jobId } = (await create({ key: 'k' })).json()
  for (const [pointer, changes, execution] of beyond) {
    const answer = await create(changes, execution)
    assertProblem(answer, 'TIER_LIMIT', pointer)
    assert.match(answer.json().detail, /on the tier free/)
    assertProblem(await call('PUT', '/jobs/by-key/k', job(changes, execution)), 'TIER_LIMIT', pointer)
    const schedule =
      typeof changes['schedule'] === 'object'
        ? { type: 'INTERVAL', ...changes['schedule'] }
        : changes['schedule']
    const patch = pointer.endsWith('cron_expression')
      ? changes
      : { ...changes, ...(schedule === undefined ? {} : { schedule }) }
    const merged = { ...patch, ...(execution === undefined ? {} : { execution }) }
    assertProblem(await call('PATCH', `/jobs/${jobId}`, merged), 'TIER_LIMIT', pointer)
  }
})

test('a payload that comes later has the same limit', async (t) => {
  const { create, call } = await setup(t)
  const { job_id: jobId } = (await create()).json()
  const body = { payload_override: payloadOf(1_025) }
  assertProblem(await call('POST', `/jobs/${jobId}/trigger`, body), 'TIER_LIMIT', '/payload_override')
  const { execution_id: id } = (await call('POST', `/jobs/${jobId}/trigger`)).json()
  assertProblem(await call('POST', `/executions/${id}/retry`, body), 'TIER_LIMIT', '/payload_override')
  const bulk = { action: 'trigger', filter: {}, ...body }
  assertProblem(await call('POST', '/jobs/bulk', bulk), 'TIER_LIMIT', '/payload_override')
})

test('dead letters are kept and not shown', async (t) => {
  const { create, call, memory, world } = await setup(t)
  const { job_id: jobId } = (await create()).json()
  const { execution_id: id } = (await call('POST', `/jobs/${jobId}/trigger`)).json()
  const error = { type: 'HTTP_ERROR', message: 'x' } as const
  await runAll({ memory, world }, { outcome: 'failed', error, deadReason: 'NOT_RETRYABLE' })
  assertProblem(await call('GET', '/dead-letters'), 'TIER_LIMIT')
  assertProblem(await call('GET', `/dead-letters/${id}`), 'TIER_LIMIT')
  assertProblem(await call('PATCH', `/dead-letters/${id}`, { payload: 1 }), 'TIER_LIMIT')
  assertProblem(await call('DELETE', `/dead-letters/${nobody}`), 'TIER_LIMIT')
  assertProblem(await call('POST', '/dead-letters/redrive', { execution_ids: [id] }), 'TIER_LIMIT')
  assert.equal((await memory.deadLetters.depth()).count, 1)
})
