import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

const failure = {
  outcome: 'failed',
  httpStatus: 404,
  error: { type: 'HTTP_ERROR', message: 'Callback returned 404 Not Found' },
  preview: null,
  deadReason: 'NOT_RETRYABLE',
} as const

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call, woken } = parts
  const createJob = async (name: string): Promise<string> => {
    const execution = { callback_url: 'http://127.0.0.1:7420/echo', payload: { a: null } }
    const request = { name, schedule: '@daily', overlap_policy: 'ALLOW', execution }
    return (await call('POST', '/jobs', request)).json().job_id
  }
  /** An execution of the job that ended in vain. */
  const bury = async (jobId: string): Promise<string> => {
    const { execution_id: executionId } = (await call('POST', `/jobs/${jobId}/trigger`)).json()
    await runAll(parts, failure)
    woken.length = 0
    return executionId
  }
  const idsOf = (list: { dead_letters: { execution_id: string }[] }) =>
    list.dead_letters.map((one) => one.execution_id)
  return { ...parts, createJob, bury, idsOf }
}

test('a dead letter tells what happened, and the execution says that it is one', async (t) => {
  const { createJob, bury, call } = await setup(t)
  const jobId = await createJob('nightly')
  const executionId = await bury(jobId)
  const letter = {
    execution_id: executionId,
    job_id: jobId,
    job_name: 'nightly',
    dlq_reason: 'NOT_RETRYABLE',
    dlq_timestamp: '2026-01-01T00:00:00.250Z',
    total_attempts: 1,
    error_history: [
      {
        attempt_number: 1,
        at: '2026-01-01T00:00:00.250Z',
        type: 'HTTP_ERROR',
        message: 'Callback returned 404 Not Found',
        http_status: 404,
      },
    ],
    payload: { a: null },
  }
  assert.deepEqual((await call('GET', `/dead-letters/${executionId.toUpperCase()}`)).json(), letter)
  assert.deepEqual((await call('GET', '/dead-letters')).json(), {
    dead_letters: [letter],
    pagination: { limit: 50, total: 1, total_capped: false, next_cursor: null },
  })
  const execution = (await call('GET', `/executions/${executionId}`)).json()
  assert.deepEqual([execution.status, execution.dead_letter], ['FAILED', true])
})

test('dead letters are listed by job and in pages', async (t) => {
  const { createJob, bury, call, idsOf } = await setup(t)
  const first = await createJob('a')
  const second = await createJob('b')
  const ids: string[] = []
  for (const jobId of [first, second, first]) ids.unshift(await bury(jobId))
  const page = (await call('GET', '/dead-letters?limit=2')).json()
  assert.deepEqual(idsOf(page), ids.slice(0, 2))
  assert.equal(page.pagination.total, 3)
  const rest = (await call('GET', `/dead-letters?limit=2&cursor=${page.pagination.next_cursor}`)).json()
  assert.deepEqual(idsOf(rest), ids.slice(2))
  assert.equal(rest.pagination.next_cursor, null)
  const ofJob = (await call('GET', `/dead-letters?job_id=${first.toUpperCase()}`)).json()
  assert.deepEqual(idsOf(ofJob), [ids[0], ids[2]])
  assert.deepEqual(idsOf((await call('GET', `/dead-letters?job_id=${nobody}`)).json()), [])
})

test('a redriven letter is gone and runs again under the same idempotency key', async (t) => {
  const { createJob, bury, call, woken } = await setup(t)
  const jobId = await createJob('a')
  const one = await bury(jobId)
  const two = await bury(jobId)
  const answer = await call('POST', '/dead-letters/redrive', {
    execution_ids: [two.toUpperCase(), nobody, one, two],
  })
  assert.equal(answer.statusCode, 202, answer.body)
  const { redriven, not_found: notFound } = answer.json()
  assert.deepEqual(
    redriven.map((pair: { execution_id: string }) => pair.execution_id),
    [two, one],
  )
  assert.deepEqual(notFound, [nobody])
  assert.deepEqual(woken, ['waiting', 'queue'])
  const before = (await call('GET', `/executions/${one}`)).json()
  const after = (await call('GET', `/executions/${redriven[1].new_execution_id}`)).json()
  assert.deepEqual(
    [after.kind, after.status, after.retry_of, after.idempotency_key, after.payload],
    ['redrive', 'PENDING', one, before.idempotency_key, { a: null }],
  )
  const again = await call('POST', '/dead-letters/redrive', { execution_ids: [one] })
  assert.deepEqual(again.json(), { redriven: [], not_found: [one] })
  assert.deepEqual(woken, ['waiting', 'queue'])
})

test('a discarded letter is gone, the execution stays', async (t) => {
  const { createJob, bury, call } = await setup(t)
  const executionId = await bury(await createJob('a'))
  const answer = await call('DELETE', `/dead-letters/${executionId}`)
  assert.deepEqual([answer.statusCode, answer.body], [204, ''])
  assertProblem(await call('DELETE', `/dead-letters/${executionId}`), 'DEAD_LETTER_NOT_FOUND')
  assertProblem(await call('GET', `/dead-letters/${executionId}`), 'DEAD_LETTER_NOT_FOUND')
  assert.equal((await call('GET', `/executions/${executionId}`)).statusCode, 200)
})

test('each wrong question is refused at its place', async (t) => {
  const { call, woken } = await setup(t)
  for (const id of [nobody, 'nope', '%00']) {
    assertProblem(await call('GET', `/dead-letters/${id}`), 'DEAD_LETTER_NOT_FOUND')
    assertProblem(await call('DELETE', `/dead-letters/${id}`), 'DEAD_LETTER_NOT_FOUND')
  }
  assertProblem(await call('GET', '/dead-letters?job_id=nope'), 'INVALID_REQUEST', 'job_id')
  assertProblem(await call('GET', `/dead-letters?job_id=urn:uuid:${nobody}`), 'INVALID_REQUEST', 'job_id')
  assertProblem(await call('GET', '/dead-letters?limit=201'), 'INVALID_REQUEST', 'limit')
  assertProblem(await call('GET', '/dead-letters?jobid=1'), 'INVALID_REQUEST', 'jobid')
  const other = Buffer.from(JSON.stringify(['executions', nobody])).toString('base64url')
  assertProblem(await call('GET', `/dead-letters?cursor=${other}`), 'INVALID_CURSOR', 'cursor')
  const redrive = (body: unknown, headers?: Record<string, string>) =>
    call('POST', '/dead-letters/redrive', body, headers)
  assertProblem(await redrive({}), 'INVALID_REQUEST', '/execution_ids')
  assertProblem(await redrive({ execution_ids: [] }), 'INVALID_REQUEST', '/execution_ids')
  assertProblem(
    await redrive({ execution_ids: Array(201).fill(nobody) }),
    'INVALID_REQUEST',
    '/execution_ids',
  )
  assertProblem(await redrive({ execution_ids: [nobody, 'x'] }), 'INVALID_REQUEST', '/execution_ids/1')
  assertProblem(await redrive({ execution_ids: [nobody], x: 1 }), 'INVALID_REQUEST', '/x')
  assertProblem(await redrive({ filter: {}, rate_per_second: 1 }), 'NOT_SUPPORTED_YET', '/filter')
  const keyed = await redrive({ execution_ids: [nobody] }, { 'idempotency-key': '1' })
  assertProblem(keyed, 'NOT_SUPPORTED_YET', 'idempotency-key')
  const dry = await call('DELETE', `/dead-letters/${nobody}?dry_run=true`)
  assertProblem(dry, 'NOT_SUPPORTED_YET', 'dry_run')
  assert.deepEqual(woken, [])
})
