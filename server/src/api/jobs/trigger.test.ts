import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, operatorKey, setupApp } from '../../../test/app.ts'

const callbackUrl = 'http://127.0.0.1:7420/echo'
const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext, execution: object = {}) {
  const parts = await setupApp(t)
  const request = { name: 'a', schedule: '@daily', execution: { callback_url: callbackUrl, ...execution } }
  const { job_id: jobId } = (await parts.call('POST', '/jobs', request)).json()
  parts.woken.length = 0
  const trigger = (body?: unknown) => parts.call('POST', `/jobs/${jobId}/trigger`, body)
  const payloadOf = async (executionId: string) =>
    (await parts.call('GET', `/executions/${executionId}`)).json().payload
  return { ...parts, jobId, trigger, payloadOf }
}

test('a trigger makes an execution now, and wakes its workers', async (t) => {
  const { world, jobId, trigger, call, woken } = await setup(t)
  await world.advance(1_500)
  const answer = await trigger({})
  assert.equal(answer.statusCode, 202, answer.body)
  const { execution_id: executionId, ...rest } = answer.json()
  const alone = { job_id: jobId, status: 'PENDING', graph_run_id: null }
  assert.deepEqual(rest, { ...alone, scheduled_time: '2026-01-01T00:00:01Z' })
  assert.deepEqual(woken, ['queue', 'shared', 'waiting'])
  const execution = (await call('GET', `/executions/${executionId}`)).json()
  assert.deepEqual(
    [execution.kind, execution.status, execution.attempt_number, execution.scheduled_time],
    ['trigger', 'PENDING', 0, '2026-01-01T00:00:01Z'],
  )
})

test('a trigger needs no body: none, an empty one and {} say the same', async (t) => {
  const { app, jobId, trigger, payloadOf } = await setup(t, { payload: 'its own' })
  for (const body of [undefined, '', {}]) {
    const answer = await trigger(body)
    assert.equal(answer.statusCode, 202, answer.body)
    assert.equal(await payloadOf(answer.json().execution_id), 'its own')
  }
  const bare = await app.inject({
    method: 'POST',
    url: `/api/v1/jobs/${jobId}/trigger`,
    headers: { authorization: `Bearer ${operatorKey}`, 'content-length': '0' },
  })
  assert.equal(bare.statusCode, 202, bare.body)
})

test('a payload of its own replaces the one of the job, null too', async (t) => {
  const { trigger, payloadOf } = await setup(t, { payload: 'its own' })
  for (const override of [null, 0, '', { date: '2026-01-07' }]) {
    const { execution_id: executionId } = (await trigger({ payload_override: override })).json()
    assert.deepEqual(await payloadOf(executionId), override)
  }
})

test('each wrong trigger is refused at its place', async (t) => {
  const { trigger, call, woken } = await setup(t)
  const tooLong = { payload_override: 'x'.repeat(256 * 1024) }
  assertProblem(await trigger(tooLong), 'INVALID_REQUEST', '/payload_override')
  assertProblem(await trigger({ payload: 1 }), 'INVALID_REQUEST', '/payload')
  assertProblem(await trigger('null'), 'INVALID_REQUEST', '')
  assertProblem(await trigger([]), 'INVALID_REQUEST', '')
  for (const id of [nobody, 'nope', '%00', `urn:uuid:${nobody}`]) {
    assertProblem(await call('POST', `/jobs/${id}/trigger`), 'JOB_NOT_FOUND')
    assertProblem(await call('POST', `/jobs/${id}/trigger`, { payload_override: 1 }), 'JOB_NOT_FOUND')
    assertProblem(await call('GET', `/jobs/${id}`), 'JOB_NOT_FOUND')
  }
  assert.deepEqual(woken, [])
})

test('a job that calls with GET takes no payload from a trigger', async (t) => {
  const { trigger } = await setup(t, { method: 'GET' })
  assertProblem(await trigger({ payload_override: null }), 'INVALID_REQUEST', '/payload_override')
  assert.equal((await trigger()).statusCode, 202)
})

test('a deleted job cannot be triggered, and can still be looked at', async (t) => {
  const { memory, jobId, trigger, call, woken } = await setup(t)
  memory.store.jobs.get(jobId)!.cursor.status = 'DELETED'
  assertProblem(await trigger(), 'JOB_DELETED')
  const { status, schedule } = (await call('GET', `/jobs/${jobId}`)).json()
  assert.deepEqual([status, schedule.next_run_at], ['DELETED', null])
  assert.deepEqual(woken, [])
})

async function setupMany(t: TestContext, job: object = {}) {
  const parts = await setupApp(t)
  const request = {
    name: 'a',
    schedule: '@daily',
    execution: { callback_url: callbackUrl, payload: 'its own' },
    overlap_policy: 'ALLOW',
    ...job,
  }
  const { job_id: jobId } = (await parts.call('POST', '/jobs', request)).json()
  parts.woken.length = 0
  const many = (body: unknown) => parts.call('POST', `/jobs/${jobId}/triggers`, body)
  return { ...parts, jobId, many }
}

test('many triggers are made by one request, each with its payload, in their order', async (t) => {
  const { jobId, many, call, woken } = await setupMany(t)
  const payloads = Array.from({ length: 250 }, (_, n) => (n === 1 ? null : { n }))
  const answer = await many({ payload_overrides: payloads })
  assert.equal(answer.statusCode, 202, answer.body)
  const { execution_ids: ids, ...rest } = answer.json()
  assert.deepEqual(rest, {
    ...{ job_id: jobId, status: 'PENDING', graph_run_ids: [] },
    scheduled_time: '2026-01-01T00:00:00Z',
  })
  assert.equal(new Set(ids).size, 250)
  assert.deepEqual(woken, ['queue', 'waiting'])
  for (const n of [0, 1, 99, 100, 249]) {
    const { payload, kind, status } = (await call('GET', `/executions/${ids[n]}`)).json()
    assert.deepEqual([payload, kind, status], [payloads[n], 'trigger', 'PENDING'])
  }
})

test('count makes that number of triggers with the payload of the job', async (t) => {
  const { many, call } = await setupMany(t)
  const { execution_ids: ids } = (await many({ count: 3 })).json()
  assert.equal(ids.length, 3)
  assert.equal((await call('GET', `/executions/${ids[2]}`)).json().payload, 'its own')
})

test('large payloads are spread over batches, and each is where it belongs', async (t) => {
  const { memory, many, call } = await setupMany(t)
  const payloads = Array.from({ length: 5 }, (_, n) => String(n).repeat(150 * 1024))
  const { execution_ids: ids } = (await many({ payload_overrides: payloads })).json()
  assert.equal(memory.store.batches.size, 5)
  assert.equal((await call('GET', `/executions/${ids[4]}`)).json().payload, payloads[4])
})

test('each wrong request for many triggers is refused at its place', async (t) => {
  const { many, call, woken } = await setupMany(t)
  assertProblem(await many({}), 'INVALID_REQUEST', '/payload_overrides')
  assertProblem(await many({ count: 1, payload_overrides: [1] }), 'INVALID_REQUEST', '/count')
  assertProblem(await many({ count: 0 }), 'INVALID_REQUEST', '/count')
  assertProblem(await many({ count: 1_001 }), 'INVALID_REQUEST', '/count')
  assertProblem(await many({ payload_overrides: [] }), 'INVALID_REQUEST', '/payload_overrides')
  const tooMany = { payload_overrides: new Array(1_001).fill(0) }
  assertProblem(await many(tooMany), 'INVALID_REQUEST', '/payload_overrides')
  const tooLong = { payload_overrides: [1, 'x'.repeat(256 * 1024)] }
  assertProblem(await many(tooLong), 'INVALID_REQUEST', '/payload_overrides/1')
  assertProblem(await call('POST', `/jobs/${nobody}/triggers`, { count: 1 }), 'JOB_NOT_FOUND')
  const { many: byGet } = await setupMany(t, { execution: { callback_url: callbackUrl, method: 'GET' } })
  assertProblem(await byGet({ payload_overrides: [1] }), 'INVALID_REQUEST', '/payload_overrides/0')
  assert.deepEqual(woken, [])
})
