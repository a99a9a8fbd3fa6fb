import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'
import { LaneChooser } from '../../domain/queue/lane.ts'
import { WaitingEstimates } from '../../domain/tenants/waiting-estimates.ts'
import { runOperation } from '../../maintenance/run-operations.ts'

const echo = 'http://127.0.0.1:7420/echo'
const nobody = '0192abcd-ef01-7000-8000-000000000001'

/**
 * A tenant on the tier free: 1 KB of payload, 3 retries, once a minute, priority 8 to 10, an hour for an attempt, no dead
 * letters.
 */
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
  /** Of a job that may not be there yet. */
  const put = (path: string, body: unknown) => parts.call('PUT', path, body, headers)
  return { ...parts, call, job, create, put }
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
  assert.equal((await create({}, { timeout_seconds: 3_600 })).statusCode, 201)
})

test('values beyond the tier limits are refused by name and never reduced', async (t) => {
  const { create, call, job } = await setup(t)
  const beyond: [string, Record<string, unknown>, object?][] = [
    ['/execution/payload', {}, { payload: payloadOf(1_025) }],
    ['/retry_policy/max_retries', { retry_policy: { max_retries: 4 } }],
    ['/priority', { priority: 7 }],
    ['/execution/timeout_seconds', {}, { timeout_seconds: 3_601 }],
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
  const many = { payload_overrides: [1, payloadOf(1_025)] }
  assertProblem(await call('POST', `/jobs/${jobId}/triggers`, many), 'TIER_LIMIT', '/payload_overrides/1')
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

/** Sets limits of the tier free. */
async function setLimits({ call }: Awaited<ReturnType<typeof setup>>, changes: object): Promise<void> {
  const { name: _name, ...limits } = (await call('GET', '/tiers/free')).json()
  assert.equal((await call('PUT', '/tiers/free', { ...limits, ...changes })).statusCode, 200)
}

test('a shorter timeout of the tier is the default', async (t) => {
  const parts = await setup(t)
  await setLimits(parts, { timeout_seconds_max: 60 })
  assert.equal((await parts.create()).json().execution.timeout_seconds, 60)
})

test('no way makes more jobs active than the tier allows', async (t) => {
  const parts = await setup(t)
  const { create, call, put, job } = parts
  const { job_id: jobId } = (await create()).json()
  const { job_id: other } = (await create({ key: 'k' })).json()
  await call('PATCH', `/jobs/${other}/pause`)
  await setLimits(parts, { active_jobs_max: 1 })
  const until = { until: '2026-01-02T00:00:00Z' }
  const refused = [
    await create(),
    await create({ depends_on: [{ job_id: jobId, on: 'success' }], schedule: undefined }),
    await put('/jobs/by-key/new', job()),
    await call('PATCH', `/jobs/${other}/resume`),
    await call('PATCH', `/jobs/${other}/pause`, until),
  ]
  for (const answer of refused) {
    assertProblem(answer, 'TIER_LIMIT')
    assert.match(answer.json().detail, /has 1 active jobs; active_jobs_max is 1 on the tier free/)
  }
  assert.equal((await create({ schedule: { type: 'IMMEDIATE' } })).statusCode, 201)
  assert.equal((await call('PATCH', `/jobs/${jobId}/pause`)).statusCode, 200)
  assert.equal((await call('PATCH', `/jobs/${other}/resume`)).statusCode, 200)
  assertProblem(await call('PATCH', `/jobs/${jobId}/resume`), 'TIER_LIMIT')
})

test('a bulk resume stops at the limit, and skips the others', async (t) => {
  const parts = await setup(t)
  const { create, call, memory, world } = parts
  for (let n = 0; n < 5; n++) {
    const { job_id: jobId } = (await create({ tags: ['x'] })).json()
    await call('PATCH', `/jobs/${jobId}/pause`)
  }
  await setLimits(parts, { active_jobs_max: 3 })
  const asked = await call('POST', '/jobs/bulk', { action: 'resume', filter: { tag: 'x' } })
  assert.equal(asked.statusCode, 202, asked.body)
  const none = () => {}
  const deps = {
    ...world,
    ...memory,
    lanes: new LaneChooser(),
    waiting: new WaitingEstimates(),
    onChanged: none,
    onReady: none,
    onCancelled: none,
  }
  while ((await runOperation(deps)) === 'more');
  const { progress, status } = (await call('GET', `/operations/${asked.json().operation_id}`)).json()
  assert.deepEqual([status, progress.done, progress.skipped], ['COMPLETED', 3, 2])
  assertProblem(await create(), 'TIER_LIMIT')
})

test('a job beyond the limits of a smaller tier is edited as long as it comes no further beyond them', async (t) => {
  const parts = await setup(t)
  const { call, create } = parts
  const wide = { payload_bytes_max: 4_000, retries_max: 9, interval_seconds_min: 1, priority_best: 1 }
  await setLimits(parts, { ...wide, timeout_seconds_max: null })
  const large = {
    key: 'k',
    schedule: { type: 'INTERVAL', every_seconds: 10 },
    priority: 2,
    retry_policy: { max_retries: 9 },
  }
  const given = { payload: payloadOf(3_000), timeout_seconds: 7_200 }
  const { job_id: jobId } = (await create(large, given)).json()
  const narrow = { payload_bytes_max: 1_024, retries_max: 3, interval_seconds_min: 60, priority_best: 8 }
  await setLimits(parts, { ...narrow, timeout_seconds_max: 3_600, active_jobs_max: 1 })
  const patch = (changes: object) => call('PATCH', `/jobs/${jobId}`, changes)
  const further: [string, object][] = [
    ['/priority', { priority: 1 }],
    ['/retry_policy/max_retries', { retry_policy: { max_retries: 10 } }],
    ['/execution/timeout_seconds', { execution: { timeout_seconds: 7_201 } }],
    ['/execution/payload', { execution: { payload: payloadOf(3_001) } }],
    ['/schedule/every_seconds', { schedule: { every_seconds: 9 } }],
  ]
  const nearer = [
    { name: 'renamed' },
    { priority: 3 },
    { retry_policy: { max_retries: 8 } },
    { execution: { timeout_seconds: 7_199 } },
    { execution: { payload: payloadOf(2_999) } },
    { schedule: { every_seconds: 11 } },
  ]
  for (const [pointer, changes] of further) assertProblem(await patch(changes), 'TIER_LIMIT', pointer)
  for (const changes of nearer) assert.equal((await patch(changes)).statusCode, 200, JSON.stringify(changes))
  assertProblem(await patch({ priority: 2 }), 'TIER_LIMIT', '/priority')
})

test('a corrected payload of a dead letter has the same limit', async (t) => {
  const parts = await setup(t)
  const { create, call, memory, world } = parts
  await setLimits(parts, { dead_letters: true })
  const { job_id: jobId } = (await create()).json()
  const { execution_id: id } = (await call('POST', `/jobs/${jobId}/trigger`)).json()
  const error = { type: 'HTTP_ERROR', message: 'x' } as const
  await runAll({ memory, world }, { outcome: 'failed', error, deadReason: 'NOT_RETRYABLE' })
  const path = `/dead-letters/${id}`
  assertProblem(await call('PATCH', path, { payload: payloadOf(1_025) }), 'TIER_LIMIT', '/payload')
  assert.equal((await call('PATCH', path, { payload: payloadOf(1_024) })).statusCode, 200)
})
