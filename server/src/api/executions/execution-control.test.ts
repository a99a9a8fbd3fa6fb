import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp, testWorker, testWorkerId } from '../../../test/app.ts'
import { sharedLane } from '../../domain/queue/lane.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { executionsCancelled } from '../../telemetry/events.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext, changes: object = {}) {
  const parts = await setupApp(t)
  const { call, woken } = parts
  const execution = { callback_url: 'http://127.0.0.1:7420/echo', payload: 'its own', ...changes }
  const request = { name: 'a', schedule: '@daily', execution, overlap_policy: 'ALLOW' }
  const { job_id: jobId } = (await call('POST', '/jobs', request)).json()
  const trigger = async (): Promise<string> => {
    const { execution_id: executionId } = (await call('POST', `/jobs/${jobId}/trigger`)).json()
    woken.length = 0
    return executionId
  }
  const retry = (id: string, body?: unknown) => call('POST', `/executions/${id}/retry`, body)
  const cancel = (id: string, body?: unknown) => call('POST', `/executions/${id}/cancel`, body)
  const show = async (id: string) => (await call('GET', `/executions/${id}`)).json()
  return { ...parts, jobId, trigger, retry, cancel, show }
}

const failure = {
  outcome: 'failed',
  httpStatus: 404,
  error: { type: 'HTTP_ERROR', message: 'Callback returned 404 Not Found' },
  deadReason: 'NOT_RETRYABLE',
} as const

test('a failed execution is run again under its key, and is no dead letter any more', async (t) => {
  const { jobId, trigger, retry, show, call, woken, memory, world } = await setup(t)
  const executionId = await trigger()
  await runAll({ memory, world }, failure)
  const answer = await retry(executionId.toUpperCase())
  assert.equal(answer.statusCode, 202, answer.body)
  const { execution_id: newId, ...rest } = answer.json()
  const scheduledTime = '2026-01-01T00:00:00Z'
  assert.deepEqual(rest, {
    retry_of: executionId,
    job_id: jobId,
    status: 'PENDING',
    scheduled_time: scheduledTime,
  })
  assert.deepEqual(woken, ['queue', 'shared', 'waiting'])
  const [before, after] = [await show(executionId), await show(newId)]
  assert.deepEqual(
    [after.kind, after.retry_of, after.idempotency_key, after.payload, after.scheduled_time],
    ['retry', executionId, before.idempotency_key, 'its own', scheduledTime],
  )
  assertProblem(await call('GET', `/dead-letters/${executionId}`), 'DEAD_LETTER_NOT_FOUND')
})

test('an execution that succeeded is run again under a new idempotency key, with its own payload', async (t) => {
  const { trigger, retry, show, memory, world } = await setup(t)
  const executionId = await trigger()
  await runAll({ memory, world })
  const { execution_id: newId } = (await retry(executionId, { payload_override: null })).json()
  const [before, after] = [await show(executionId), await show(newId)]
  assert.notEqual(after.idempotency_key, before.idempotency_key)
  assert.equal(after.payload, null)
})

test('an execution that has not ended, or belongs to a deleted job, cannot be run again', async (t) => {
  const { trigger, retry, call, jobId, memory, world } = await setup(t)
  const executionId = await trigger()
  const early = await retry(executionId)
  assertProblem(early, 'EXECUTION_NOT_FINISHED')
  assert.equal(early.json().execution_status, 'PENDING')
  await runAll({ memory, world })
  await call('DELETE', `/jobs/${jobId}`)
  assertProblem(await retry(executionId), 'JOB_DELETED')
})

test('an execution that has not started is cancelled, once and for all', async (t) => {
  const { jobId, trigger, cancel, show, woken, memory, world } = await setup(t)
  const executionId = await trigger()
  const answer = await cancel(executionId, {})
  assert.equal(answer.statusCode, 200, answer.body)
  assert.deepEqual(answer.json(), { execution_id: executionId, job_id: jobId, status: 'CANCELLED' })
  assert.deepEqual(woken, ['waiting'])
  assert.deepEqual((await cancel(executionId)).json(), answer.json())
  await runAll({ memory, world })
  const { status, error, attempts } = await show(executionId)
  assert.deepEqual(
    [status, error?.message ?? attempts[0]?.error?.message],
    ['CANCELLED', 'Cancelled by operator.'],
  )
})

test('an execution that waits for its next attempt is cancelled too', async (t) => {
  const { trigger, cancel, show, memory, world } = await setup(t)
  const executionId = await trigger()
  const retryAt = epochMs(world.clock.databaseNow() + 60_000)
  await runAll({ memory, world }, { ...failure, deadReason: null, retryAt })
  assert.equal((await cancel(executionId)).statusCode, 200)
  assert.equal((await show(executionId)).status, 'CANCELLED')
})

test('an execution that has ended is not cancelled, and the answer says how it ended', async (t) => {
  const { trigger, cancel, woken, memory, world } = await setup(t)
  const ended = await trigger()
  await runAll({ memory, world })
  const finished = await cancel(ended)
  assertProblem(finished, 'EXECUTION_FINISHED')
  assert.equal(finished.json().execution_status, 'SUCCEEDED')
  assert.deepEqual(woken, [])
})

test('a running execution is CANCELLING, for every cancel until it has stopped; then each gets 200 with CANCELLED', async (t) => {
  const { jobId, trigger, cancel, show, woken, memory } = await setup(t)
  const executionId = await trigger()
  const { leases, queue } = memory
  const workerId = testWorkerId
  await leases.register(testWorker())
  const lanes = [{ lane: sharedLane, count: 10 }]
  const { live } = await queue.claim({ workerId, routes: ['server'], lanes, hosts: [], batchesMax: 10 })
  const answer = await cancel(executionId)
  assert.equal(answer.statusCode, 202, answer.body)
  assert.deepEqual(answer.json(), { execution_id: executionId, job_id: jobId, status: 'CANCELLING' })
  assert.deepEqual(woken, ['waiting', 'cancels'])
  assert.equal((await show(executionId)).status, 'CANCELLING')
  const repeated = await cancel(executionId)
  assert.deepEqual([repeated.statusCode, repeated.json()], [202, answer.json()])
  const { fence, attempt } = live[0]!
  await queue.finishLive(workerId, [
    { executionId, fence, attempt, ending: { kind: 'unstarted', host: null } },
  ])
  assert.equal((await show(executionId)).status, 'CANCELLED')
  for (let again = 0; again < 2; again += 1) {
    const late = await cancel(executionId)
    assert.deepEqual([late.statusCode, late.json()], [200, { ...answer.json(), status: 'CANCELLED' }])
  }
})

test('an execution that a cancel ended is counted', async (t) => {
  const { trigger, cancel } = await setup(t)
  const counts: number[] = []
  const subscription = executionsCancelled.subscribe(({ executions }) => void counts.push(executions))
  t.after(() => subscription[Symbol.dispose]())
  const executionId = await trigger()
  await cancel(executionId)
  assert.deepEqual(counts, [1])
})

test('each wrong call is refused at its place', async (t) => {
  const { trigger, retry, cancel, woken, memory, world } = await setup(t)
  for (const id of [nobody, 'nope', '%00']) {
    assertProblem(await retry(id), 'EXECUTION_NOT_FOUND')
    assertProblem(await retry(id, { payload_override: 1 }), 'EXECUTION_NOT_FOUND')
    assertProblem(await cancel(id), 'EXECUTION_NOT_FOUND')
  }
  const executionId = await trigger()
  await runAll({ memory, world })
  const tooLong = { payload_override: 'x'.repeat(256 * 1024) }
  assertProblem(await retry(executionId, tooLong), 'INVALID_REQUEST', '/payload_override')
  assertProblem(await retry(executionId, { payload: 1 }), 'INVALID_REQUEST', '/payload')
  assertProblem(await cancel(executionId, { reason: 'x' }), 'INVALID_REQUEST', '/reason')
  assert.deepEqual(woken, [])
})

test('a job that calls with GET takes no payload from a retry', async (t) => {
  const { trigger, retry, memory, world } = await setup(t, { method: 'GET', payload: undefined })
  const executionId = await trigger()
  await runAll({ memory, world })
  const answer = await retry(executionId, { payload_override: 1 })
  assertProblem(answer, 'INVALID_REQUEST', '/payload_override')
  assert.equal((await retry(executionId)).statusCode, 202)
})
