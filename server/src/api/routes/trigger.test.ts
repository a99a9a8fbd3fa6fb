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

test('a trigger makes an execution now, and wakes who runs it', async (t) => {
  const { world, jobId, trigger, call, woken } = await setup(t)
  await world.advance(1_500)
  const answer = await trigger({})
  assert.equal(answer.statusCode, 202, answer.body)
  const { execution_id: executionId, ...rest } = answer.json()
  const alone = { job_id: jobId, status: 'PENDING', graph_run_id: null }
  assert.deepEqual(rest, { ...alone, scheduled_time: '2026-01-01T00:00:01Z' })
  assert.deepEqual(woken, ['queue', 'waiting'])
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
