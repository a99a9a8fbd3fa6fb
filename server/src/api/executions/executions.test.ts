import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp, testWorkerId } from '../../../test/app.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext, changes: object = {}) {
  const parts = await setupApp(t)
  const execution = { callback_url: 'http://127.0.0.1:7420/echo', payload: 'its own' }
  const request = { name: 'a', schedule: '@hourly', execution, overlap_policy: 'ALLOW', ...changes }
  const { job_id: jobId } = (await parts.call('POST', '/jobs', request)).json()
  const trigger = async (body?: unknown): Promise<string> =>
    (await parts.call('POST', `/jobs/${jobId}/trigger`, body)).json().execution_id
  const list = async (query = '') => {
    const answer = await parts.call('GET', `/jobs/${jobId}/executions${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const show = async (executionId: string) => (await parts.call('GET', `/executions/${executionId}`)).json()
  return { ...parts, jobId, trigger, list, show }
}

const failure = {
  outcome: 'failed',
  httpStatus: 503,
  error: { type: 'HTTP_ERROR', message: 'Callback returned 503 Service Unavailable' },
  preview: 'busy',
} as const

test('an execution is shown from pending to its end, with every attempt', async (t) => {
  const { world, memory, jobId, trigger, list, show } = await setup(t, { metadata: { team: 'a' } })
  await world.advance(1_500)
  const executionId = await trigger({ payload_override: null })
  const pending = await show(executionId)
  const { idempotency_key: key } = pending
  assert.match(key, /^[0-9a-f]{32}$/)
  const common = {
    execution_id: executionId,
    kind: 'trigger',
    job_version: 1,
    scheduled_time: '2026-01-01T00:00:01Z',
    enqueued_at: '2026-01-01T00:00:01.500Z',
    graph_run_id: null,
    skipped: null,
  }
  const called = { executor: 'http', callback_url: 'http://127.0.0.1:7420/echo', progress: null }
  const rest = { job_id: jobId, idempotency_key: key, ...called }
  const fixed = { ...common, ...rest, metadata: { team: 'a' }, payload: null, retry_of: null, parents: [] }
  assert.deepEqual(pending, {
    ...fixed,
    status: 'PENDING',
    attempt_number: 0,
    started_at: null,
    finished_at: null,
    duration_ms: null,
    worker_id: null,
    error: null,
    dead_letter: false,
    retry_at: null,
    callback_response: null,
    attempts: [],
  })

  const retryAt = epochMs(world.clock.databaseNow() + 2_000)
  await runAll({ memory, world }, { ...failure, retryAt })
  const retrying = await show(executionId)
  const error = { ...failure.error, http_status: 503 }
  const first = {
    attempt_number: 1,
    outcome: 'failed',
    worker_id: testWorkerId,
    enqueued_at: '2026-01-01T00:00:01.500Z',
    started_at: '2026-01-01T00:00:01.500Z',
    finished_at: '2026-01-01T00:00:01.750Z',
    duration_ms: 250,
    http_status: 503,
    error,
    response_preview: 'busy',
    usage: null,
  }
  assert.deepEqual(
    [retrying.status, retrying.retry_at, retrying.error, retrying.callback_response, retrying.attempts],
    ['RETRYING', '2026-01-01T00:00:03.500Z', error, { http_status: 503, body_preview: 'busy' }, [first]],
  )

  await world.advance(2_000)
  await memory.maintenance.wake(10)
  await runAll({ memory, world })
  const ended = await show(executionId)
  assert.deepEqual(
    [
      ended.status,
      ended.attempt_number,
      ended.retry_at,
      ended.error,
      ended.idempotency_key,
      ended.duration_ms,
    ],
    ['SUCCEEDED', 2, null, null, key, 250],
  )
  assert.deepEqual(ended.callback_response, { http_status: 200, body_preview: 'ok' })
  assert.deepEqual(ended.attempts[0], first)
  assert.deepEqual(ended.attempts[1].attempt_number, 2)

  const { executions, pagination } = await list()
  assert.deepEqual(pagination, { limit: 50, total: 1, total_capped: false, next_cursor: null })
  assert.deepEqual(executions, [
    {
      ...common,
      enqueued_at: ended.enqueued_at,
      status: 'SUCCEEDED',
      attempt_number: 2,
      started_at: ended.started_at,
      finished_at: ended.finished_at,
      duration_ms: 250,
      worker_id: testWorkerId,
      error: null,
      dead_letter: false,
      retry_at: null,
    },
  ])
})

test('an execution without an answer has no callback response', async (t) => {
  const { world, memory, trigger, show } = await setup(t)
  const executionId = await trigger()
  const error = { type: 'TIMEOUT', message: 'no complete response in time' } as const
  await runAll({ memory, world }, { outcome: 'timed_out', httpStatus: null, error, preview: null })
  const shown = await show(executionId)
  assert.deepEqual(
    [shown.status, shown.callback_response, shown.error],
    ['TIMED_OUT', null, { ...error, http_status: null }],
  )
})

test('pages follow each other, newest first, even when executions are added meanwhile', async (t) => {
  const { trigger, list } = await setup(t)
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.unshift(await trigger())
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 3; page++) {
    const { executions, pagination } = await list(`?limit=2${cursor}`)
    seen.push(...executions.map((one: { execution_id: string }) => one.execution_id))
    assert.equal(pagination.total, 5 + page)
    assert.equal(pagination.next_cursor === null, page === 2)
    cursor = `&cursor=${pagination.next_cursor}`
    await trigger()
  }
  assert.deepEqual(seen, ids)
})

test('a list is narrowed by status and by whole UTC days, both included', async (t) => {
  const { world, memory, trigger, list } = await setup(t)
  const ids: string[] = []
  for (let day = 0; day < 3; day++) {
    ids.push(await trigger())
    await runAll({ memory, world }, day === 1 ? failure : {})
    await world.advance(dayMs - 250)
  }
  const find = async (query: string) =>
    (await list(query)).executions.map((one: { execution_id: string }) => ids.indexOf(one.execution_id))
  assert.deepEqual(await find('?status=FAILED'), [1])
  assert.deepEqual(await find('?status=SUCCEEDED'), [2, 0])
  for (const status of ['WAITING_DEPENDENCIES', 'CANCELLING', 'CANCELLED', 'SKIPPED', 'PENDING'])
    assert.deepEqual(await find(`?status=${status}`), [])
  assert.deepEqual(await find('?start_date=2026-01-02'), [2, 1])
  assert.deepEqual(await find('?end_date=2026-01-02'), [1, 0])
  assert.deepEqual(await find('?start_date=2026-01-02&end_date=2026-01-02'), [1])
  assert.deepEqual(await find('?end_date=2026-01-02T00:00:00Z'), [1, 0])
  assert.deepEqual(await find('?end_date=2026-01-01T23:59:59Z'), [0])
  assert.deepEqual(await find('?start_date=2026-01-03T01:00:00%2B01:00'), [2])
})

test('skipped slots are listed one by one with their reason, newest first', async (t) => {
  const { world, memory, jobId, list } = await setup(t)
  await world.advance(40 * dayMs)
  const at = (text: string) => epochMs(Date.parse(text))
  const { skips } = memory.store.jobs.get(jobId)!
  // 2026-02-10 is now: the first range lies out of the 30 days in part.
  skips.push(
    {
      from: at('2026-01-10T00:00:00Z'),
      to: at('2026-01-11T01:00:00Z'),
      count: 26,
      reason: 'misfire',
      version: 1,
    },
    {
      from: at('2026-02-01T05:00:00Z'),
      to: at('2026-02-01T05:00:00Z'),
      count: 1,
      reason: 'overlap',
      version: 1,
    },
    {
      from: at('2026-02-02T00:00:00Z'),
      to: at('2026-02-02T02:00:00Z'),
      count: 3,
      reason: 'overlap',
      version: 1,
    },
  )
  const { executions, pagination } = await list('?status=SKIPPED')
  assert.deepEqual(executions, [
    { execution_id: null, status: 'SKIPPED', scheduled_time: '2026-02-02T02:00:00Z', reason: 'overlap' },
    { execution_id: null, status: 'SKIPPED', scheduled_time: '2026-02-02T01:00:00Z', reason: 'overlap' },
    { execution_id: null, status: 'SKIPPED', scheduled_time: '2026-02-02T00:00:00Z', reason: 'overlap' },
    { execution_id: null, status: 'SKIPPED', scheduled_time: '2026-02-01T05:00:00Z', reason: 'overlap' },
    { execution_id: null, status: 'SKIPPED', scheduled_time: '2026-01-11T01:00:00Z', reason: 'misfire' },
    { execution_id: null, status: 'SKIPPED', scheduled_time: '2026-01-11T00:00:00Z', reason: 'misfire' },
  ])
  assert.deepEqual(pagination, { limit: 50, total: 6, total_capped: false, next_cursor: null })

  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page = await list(`?status=SKIPPED&start_date=2026-01-01&limit=4${cursor}`)
    assert.equal(page.pagination.total, 30)
    seen.push(...page.executions.map((one: { scheduled_time: string }) => one.scheduled_time))
    cursor = page.pagination.next_cursor === null ? null : `&cursor=${page.pagination.next_cursor}`
  }
  assert.equal(seen.length, 30)
  assert.deepEqual(seen, [...new Set(seen)].toSorted().toReversed())
  const day = await list('?status=SKIPPED&start_date=2026-01-11&end_date=2026-01-11')
  assert.deepEqual([day.executions.length, day.pagination.total], [2, 2])
})

test('a year of slots skipped every second is one page like any other', async (t) => {
  const { world, memory, jobId, list } = await setup(t, { schedule: { every_seconds: 1 } })
  await world.advance(365 * dayMs)
  const to = world.clock.databaseNow()
  const from = epochMs(to - 364 * dayMs)
  const count = (to - from) / 1_000 + 1
  memory.store.jobs.get(jobId)!.skips.push({ from, to, count, reason: 'misfire', version: 1 })
  const { executions, pagination } = await list('?status=SKIPPED&limit=200&start_date=2026-01-02')
  assert.deepEqual([executions.length, executions[199].scheduled_time], [200, '2026-12-31T23:56:41Z'])
  assert.deepEqual([pagination.total, pagination.total_capped], [10_000, true])
})

test('a cursor holds no id of an execution, as a page may end at one of another tenant', async (t) => {
  const { call, trigger, list } = await setup(t)
  const ids = [await trigger(), await trigger(), await trigger()]
  for (const first of [await list('?limit=1'), (await call('GET', '/executions?limit=1')).json()]) {
    const { next_cursor: cursor } = first.pagination
    const text = Buffer.from(cursor, 'base64url').toString()
    for (const { execution_id: id } of (await list('')).executions) {
      assert(!text.includes(id))
      // The first half is the time.
      assert(!text.includes(id.slice(0, 13)))
    }
    const rest = await list(`?limit=5&cursor=${cursor}`)
    assert.equal(rest.executions.length, ids.length - 1)
  }
})

test('each wrong question is refused by its parameter', async (t) => {
  const { jobId, call, trigger, list } = await setup(t)
  await trigger()
  await trigger()
  const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { next_cursor: good } = (await list('?limit=1')).pagination
  const ask = (query: string) => call('GET', `/jobs/${jobId}/executions?${query}`)
  for (const cursor of [
    '',
    'nonsense',
    good.slice(0, -4),
    cursorOf(['sealed_executions', 'nope']),
    cursorOf(['sealed_executions', 5]),
    cursorOf(['executions', nobody]),
    cursorOf(['dead_letters', nobody]),
    cursorOf({ before: nobody }),
    cursorOf(null),
  ]) {
    assertProblem(await ask(`cursor=${cursor}`), 'INVALID_CURSOR', 'cursor')
  }
  for (const value of ['x', null, 1.5, -1, 1e15, 1e300, nobody])
    assertProblem(
      await ask(`status=SKIPPED&cursor=${cursorOf(['skips', value])}`),
      'INVALID_CURSOR',
      'cursor',
    )
  assertProblem(await ask(`status=SKIPPED&cursor=${good}`), 'INVALID_CURSOR', 'cursor')
  for (const limit of ['0', '201', 'x', ''])
    assertProblem(await ask(`limit=${limit}`), 'INVALID_REQUEST', 'limit')
  assertProblem(await ask('status=DONE'), 'INVALID_REQUEST', 'status')
  assertProblem(await ask('page=2'), 'INVALID_REQUEST', 'page')
  for (const condition of ['kind=slot', 'error_type=TIMEOUT', 'dead_letter=false'])
    assertProblem(await ask(`status=SKIPPED&${condition}`), 'INVALID_REQUEST', condition.split('=')[0])
  assertProblem(await ask('dead_letter=yes'), 'INVALID_REQUEST', 'dead_letter')
  for (const name of ['start_date', 'end_date']) {
    for (const text of ['today', '2026-02-30', '2026-01-01T00:00:00', '2026-1-1', '3026-01-01', '20260101zz'])
      assertProblem(await ask(`${name}=${text}`), 'INVALID_REQUEST', name)
  }
  assertProblem(await ask('start_date=2026-01-02&end_date=2026-01-01'), 'INVALID_REQUEST', 'end_date')
  const plus = await ask('start_date=2026-01-03T01:00:00+01:00')
  assert.match(plus.json().detail, /%2B/)
})

test('an unknown job or execution is not found', async (t) => {
  const { call } = await setup(t)
  for (const id of [nobody, 'nope', '%00']) {
    assertProblem(await call('GET', `/jobs/${id}/executions`), 'JOB_NOT_FOUND')
    assertProblem(await call('GET', `/jobs/${id}/executions?status=SKIPPED`), 'JOB_NOT_FOUND')
    assertProblem(await call('GET', `/executions/${id}`), 'EXECUTION_NOT_FOUND')
  }
})
