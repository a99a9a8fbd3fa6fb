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

test('a dead letter shows its failure, and its execution is marked as a dead letter', async (t) => {
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
    edited_at: null,
    auto_redrive_at: null,
    graph_run_id: null,
  }
  assert.deepEqual((await call('GET', `/dead-letters/${executionId.toUpperCase()}`)).json(), letter)
  const { payload: _payload, ...listed } = letter
  for (const [query, expected] of [
    ['', listed],
    ['?include=payload', letter],
  ] as const)
    assert.deepEqual((await call('GET', `/dead-letters${query}`)).json(), {
      dead_letters: [expected],
      oldest_at: letter.dlq_timestamp,
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
  assert.deepEqual(again.json(), { redriven: [], not_found: [one], job_deleted: [] })
  assert.deepEqual(woken, ['waiting', 'queue'])
})

test('dead letters are found by reason, error and day, and the oldest of all is told', async (t) => {
  const { createJob, bury, call, idsOf, world } = await setup(t)
  const jobId = await createJob('a')
  const first = await bury(jobId)
  await world.advance(86_400_000)
  const second = await bury(jobId)
  const find = async (query: string) => idsOf((await call('GET', `/dead-letters?${query}`)).json())
  assert.deepEqual(await find('reason=NOT_RETRYABLE'), [second, first])
  assert.deepEqual(await find('reason=WORKER_LOST'), [])
  assert.deepEqual(await find('error_type=HTTP_ERROR&start_date=2026-01-02'), [second])
  assert.deepEqual(await find('error_type=TIMEOUT'), [])
  assert.deepEqual(await find('end_date=2026-01-01'), [first])
  const { oldest_at: oldestAt } = (await call('GET', '/dead-letters?start_date=2026-01-02')).json()
  assert.equal(oldestAt, '2026-01-01T00:00:00.250Z')
})

test('a redrive sends the corrected payload', async (t) => {
  const { createJob, bury, call } = await setup(t)
  const executionId = await bury(await createJob('a'))
  const edited = await call('PATCH', `/dead-letters/${executionId}`, { payload: [1] })
  assert.equal(edited.statusCode, 200, edited.body)
  assert.deepEqual([edited.json().payload, edited.json().edited_at], [[1], '2026-01-01T00:00:00.250Z'])
  const tooLong = { payload: 'x'.repeat(256 * 1024) }
  assertProblem(await call('PATCH', `/dead-letters/${executionId}`, tooLong), 'INVALID_REQUEST', '/payload')
  const { redriven } = (await call('POST', '/dead-letters/redrive', { execution_ids: [executionId] })).json()
  const again = (await call('GET', `/executions/${redriven[0].new_execution_id}`)).json()
  assert.deepEqual(again.payload, [1])
})

test('a dead letter of a deleted job stays, and the redrive reports it as such', async (t) => {
  const { createJob, bury, call } = await setup(t)
  const jobId = await createJob('a')
  const executionId = await bury(jobId)
  await call('DELETE', `/jobs/${jobId}`)
  const answer = await call('POST', '/dead-letters/redrive', { execution_ids: [executionId, nobody] })
  assert.deepEqual(answer.json(), { redriven: [], not_found: [nobody], job_deleted: [executionId] })
  assert.equal((await call('GET', `/dead-letters/${executionId}`)).statusCode, 200)
})

test('a redrive by filter is an operation', async (t) => {
  const { createJob, bury, call, woken } = await setup(t)
  const jobId = await createJob('a')
  await bury(jobId)
  await bury(await createJob('b'))
  const filter = { job_id: jobId.toUpperCase(), error_type: 'HTTP_ERROR', end_date: '2026-01-31' }
  const answer = await call('POST', '/dead-letters/redrive', { filter, rate_per_second: 10 })
  assert.equal(answer.statusCode, 202, answer.body)
  const { operation_id: operationId, ...operation } = answer.json()
  assert.equal(answer.headers['location'], `/api/v1/operations/${operationId}`)
  assert.deepEqual(operation, {
    kind: 'redrive',
    status: 'RUNNING',
    filter: { job_id: jobId, error_type: 'HTTP_ERROR', end_date: '2026-01-31T23:59:59.999Z' },
    progress: { total: 1, total_capped: false, done: 0, skipped: 0 },
    error: null,
    created_by: 'operator',
    created_at: '2026-01-01T00:00:00.500Z',
    finished_at: null,
  })
  assert.deepEqual(woken, ['operations'])
  assert.deepEqual((await call('GET', `/operations/${operationId}`)).json(), answer.json())
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
  const both = { execution_ids: [nobody], filter: {} }
  assertProblem(await redrive(both), 'INVALID_REQUEST', '/filter')
  assertProblem(await redrive({ rate_per_second: 5 }), 'INVALID_REQUEST', '/execution_ids')
  const rated = { execution_ids: [nobody], rate_per_second: 5 }
  assertProblem(await redrive(rated), 'INVALID_REQUEST', '/rate_per_second')
  assertProblem(await redrive({ filter: { tag: 'x' } }), 'INVALID_REQUEST', '/filter/tag')
  assertProblem(
    await redrive({ filter: { start_date: 'yesterday!' } }),
    'INVALID_REQUEST',
    '/filter/start_date',
  )
  assertProblem(await redrive({ filter: {}, rate_per_second: 0 }), 'INVALID_REQUEST', '/rate_per_second')
  const edit = (body: unknown) => call('PATCH', `/dead-letters/${nobody}`, body)
  assertProblem(await edit({ payload: 1 }), 'DEAD_LETTER_NOT_FOUND')
  assertProblem(await edit({}), 'INVALID_REQUEST', '/payload')
  assertProblem(await edit({ payload: 1, reason: 'x' }), 'INVALID_REQUEST', '/reason')
  assert.deepEqual(woken, [])
})
