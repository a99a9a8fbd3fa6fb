import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { ErrorCode } from '@carillon/contract/errors.ts'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'
import { partitionOf } from '../../domain/jobs/job.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

const echo = 'http://127.0.0.1:7420/echo'
const minimal = { name: 'a', schedule: '@daily', execution: { callback_url: echo } }

/** The minimal job with some fields replaced; `execution` and such are merged. */
function jobWith(changes: Record<string, unknown>): Record<string, unknown> {
  const execution = changes['execution']
  const merged =
    typeof execution === 'object' && execution !== null ? { ...minimal.execution, ...execution } : execution
  return { ...minimal, ...changes, ...(execution === undefined ? {} : { execution: merged }) }
}

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const create = (body: unknown, headers?: Record<string, string>) =>
    parts.call('POST', '/jobs', body, headers)
  /** Creates a job that must be taken. */
  const createJob = async (changes: Record<string, unknown> = {}) => {
    const answer = await create(jobWith(changes))
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json()
  }
  return { ...parts, create, createJob }
}

/** Of a job of which nothing has ended. */
const noHealth = {
  ...{ health: null, last_execution: null, consecutive_failures: 0, failing_since: null, recovered_at: null },
}

test('a created job comes back whole, with its next run, and GET answers the same', async (t) => {
  const { create, call, woken } = await setup(t)
  const request = {
    name: 'Daily Sales Report',
    description: 'Generate and email daily sales report',
    schedule: { type: 'CRON', cron_expression: '0 10 * * *', timezone: 'America/New_York' },
    execution: {
      callback_url: 'https://reports.internal/api/generate',
      method: 'PUT',
      headers: { 'X-API-Key': 'secret123' },
      payload: { report_type: 'daily_sales', format: 'pdf' },
      timeout_seconds: 600,
    },
    retry_policy: { max_retries: 2, backoff: 'LINEAR', initial_delay_ms: 500, max_delay_ms: 9_000 },
    priority: 3,
    tags: ['reporting', 'finance'],
    overlap_policy: 'CANCEL_RUNNING',
    misfire_policy: 'FIRE_ALL',
    misfire_window_seconds: 60,
    jitter_seconds: 0,
    concurrency_limit: 2,
    concurrency_key: { key: 'Sales database', limit: 5 },
    metadata: { team: 'sales', 'a\nb': '1' },
  }
  const answer = await create(request)
  assert.equal(answer.statusCode, 201, answer.body)
  assert(!answer.body.includes('secret123'))
  const { job_id: jobId, ...job } = answer.json()
  assert.deepEqual(job, {
    ...request,
    key: null,
    depends_on: [],
    status: 'ACTIVE',
    pause: null,
    schedule: { ...request.schedule, next_run_at: '2026-01-01T15:00:00Z', last_run_at: null },
    execution: { type: 'http', ...request.execution, headers: { 'X-API-Key': '***' } },
    version: 1,
    created_at: '2026-01-01T00:00:00Z',
    created_by: 'operator',
    updated_at: '2026-01-01T00:00:00Z',
    updated_by: 'operator',
    partition_id: partitionOf(jobId),
  })
  assert.equal(answer.headers['location'], `/api/v1/jobs/${jobId}`)
  assert.equal(answer.headers['etag'], '"1"')
  assert.deepEqual(woken, ['changes'])
  const shown = await call('GET', `/jobs/${jobId.toUpperCase()}`)
  const stats = { total_runs: 0, success_rate: null, avg_duration_ms: null, last_status: null }
  assert.deepEqual(shown.json(), { ...answer.json(), ...noHealth, stats })
  assert.equal(shown.headers['etag'], '"1"')
})

test('omitted fields get their defaults', async (t) => {
  const { createJob } = await setup(t)
  const { execution, retry_policy, schedule, ...job } = await createJob()
  assert.deepEqual(schedule, {
    type: 'CRON',
    cron_expression: '@daily',
    next_run_at: '2026-01-02T00:00:00Z',
    last_run_at: null,
  })
  assert.deepEqual(execution, {
    type: 'http',
    callback_url: echo,
    method: 'POST',
    headers: {},
    timeout_seconds: 300,
  })
  assert.deepEqual(retry_policy, {
    max_retries: 3,
    backoff: 'EXPONENTIAL',
    initial_delay_ms: 1_000,
    max_delay_ms: 60_000,
  })
  const { description, priority, tags, overlap_policy, misfire_policy, misfire_window_seconds, metadata } =
    job
  assert.deepEqual(
    [description, priority, tags, overlap_policy, misfire_policy, misfire_window_seconds, metadata],
    [null, 5, [], 'SKIP', 'FIRE_ONCE', null, {}],
  )
  const { jitter_seconds, concurrency_limit, concurrency_key } = job
  assert.deepEqual([jitter_seconds, concurrency_limit, concurrency_key], [0, null, null])
})

test('an IMMEDIATE job runs once, now', async (t) => {
  const { world, createJob, call, woken, memory } = await setup(t)
  await world.advance(1_234)
  const job = await createJob({ schedule: { type: 'IMMEDIATE' }, execution: { payload: [1] } })
  assert.equal(job.status, 'ACTIVE', 'its execution has not ended')
  assert.equal(job.schedule.next_run_at, null)
  assert.equal(job.schedule.last_run_at, '2026-01-01T00:00:01Z')
  assert.deepEqual(woken, ['queue', 'shared'])
  const execution = (await call('GET', `/executions/${job.execution_id}`)).json()
  assert.deepEqual(
    [execution.job_id, execution.status, execution.kind, execution.scheduled_time, execution.payload],
    [job.job_id, 'PENDING', 'slot', '2026-01-01T00:00:01Z', [1]],
  )
  const { execution_id: _, ...shown } = job
  const { stats: _stats, ...again } = (await call('GET', `/jobs/${job.job_id}`)).json()
  assert.deepEqual(again, { ...shown, ...noHealth })
  assert.deepEqual(
    (await memory.queue.waiting(['server'], 10)).lanes.map(({ lane }) => lane),
    ['shared'],
  )
})

test('a job has a key of its own, which no other job has', async (t) => {
  const { create, createJob, call } = await setup(t)
  const retryPolicy = { auto_redrive_after_seconds: 60 }
  const job = await createJob({ key: 'a.b_c-1', retry_policy: retryPolicy })
  assert.deepEqual([job.key, job.retry_policy.auto_redrive_after_seconds], ['a.b_c-1', 60])
  assertProblem(await create(jobWith({ key: 'a.b_c-1' })), 'JOB_KEY_TAKEN', '/key')
  await call('DELETE', `/jobs/${job.job_id}`)
  await createJob({ key: 'a.b_c-1' })
})

test('a header value that only stands for one is refused', async (t) => {
  const { create } = await setup(t)
  const answer = await create(jobWith({ execution: { headers: { 'X-A': '***' } } }))
  assertProblem(answer, 'INVALID_REQUEST', '/execution/headers/X-A')
})

test('a job says how it went', async (t) => {
  const { createJob, call, memory, world } = await setup(t)
  const { job_id: jobId } = await createJob({ overlap_policy: 'ALLOW' })
  const run = async (change: Parameters<typeof runAll>[1] = {}) => {
    await call('POST', `/jobs/${jobId}/trigger`)
    await runAll({ memory, world }, change)
  }
  await run()
  await run()
  await run({ outcome: 'failed', error: { type: 'TLS_ERROR', message: 'x' } })
  await run({ outcome: 'timed_out', error: { type: 'TIMEOUT', message: 'x' } })
  const { stats } = (await call('GET', `/jobs/${jobId}`)).json()
  const expected = { total_runs: 4, success_rate: 0.5, avg_duration_ms: 250, last_status: 'TIMED_OUT' }
  assert.deepEqual(stats, expected)
})

test('a tenant that enqueues much gets a lane of its own', async (t) => {
  const { createJob, call, memory } = await setup(t)
  const { job_id: jobId } = await createJob({ overlap_policy: 'ALLOW' })
  for (let i = 0; i < 60; i++) await call('POST', `/jobs/${jobId}/trigger`)
  const { lanes } = await memory.queue.waiting(['server'], 10)
  assert.deepEqual(lanes.map(({ lane }) => lane).toSorted(), [defaultTenantId, 'shared'])
})

test('a ONE_TIME job runs at its time, at once if that is just past, and not if it is too old', async (t) => {
  const { create, createJob } = await setup(t)
  const at = (time: string, more: object = {}) => ({ schedule: { scheduled_time: time }, ...more })
  const ahead = await createJob(at('2026-02-01T12:00:00+01:00'))
  assert.equal(ahead.schedule.type, 'ONE_TIME')
  assert.equal(ahead.schedule.next_run_at, '2026-02-01T11:00:00Z')
  const late = await createJob(at('2025-12-31T00:00:00Z'))
  assert.equal(late.status, 'ACTIVE')
  assert.equal(late.schedule.next_run_at, '2025-12-31T00:00:00Z')
  const pointer = '/schedule/scheduled_time'
  const old = await create(jobWith(at('2025-12-30T23:59:59Z')))
  assertProblem(old, 'SCHEDULED_TIME_TOO_OLD', pointer)
  // Accepted, whether or not it then runs.
  await createJob(at('2025-12-31T00:00:00Z', { misfire_policy: 'SKIP' }))
  const narrow = await create(jobWith(at('2025-12-31T23:59:00Z', { misfire_window_seconds: 59 })))
  assertProblem(narrow, 'SCHEDULED_TIME_TOO_OLD', pointer)
  await createJob(at('2025-12-01T00:00:00Z', { misfire_window_seconds: 31_536_000 }))
})

test('a schedule may be a text and have bounds; it is echoed as the resulting object', async (t) => {
  const { createJob } = await setup(t)
  const { schedule: english } = await createJob({ schedule: 'weekdays at 9 in London' })
  assert.equal(english.timezone, 'Europe/London')
  assert.equal(english.next_run_at, '2026-01-01T09:00:00Z')
  const bounds = { start_at: '2026-01-05T00:00:00Z', end_at: '2026-01-06T00:00:00Z' }
  const { schedule: bounded } = await createJob({ schedule: { cron_expression: '@hourly', ...bounds } })
  assert.deepEqual(bounded, {
    type: 'CRON',
    cron_expression: '@hourly',
    ...bounds,
    next_run_at: '2026-01-05T00:00:00Z',
    last_run_at: null,
  })
  const { schedule: interval } = await createJob({ schedule: { every_seconds: 90 } })
  assert.equal(interval.next_run_at, '2026-01-01T00:01:30Z')
})

test('the next run moves on with time, and ends with the schedule', async (t) => {
  const { world, createJob, call } = await setup(t)
  const end = '2026-01-01T02:00:00Z'
  const { job_id: jobId } = await createJob({ schedule: { cron_expression: '@hourly', end_at: end } })
  const next = async () => (await call('GET', `/jobs/${jobId}`)).json().schedule.next_run_at
  assert.equal(await next(), '2026-01-01T01:00:00Z')
  await world.advance(5_400_000)
  assert.equal(await next(), end)
  await world.advance(5_400_000)
  assert.equal(await next(), null)
})

test('a payload is any JSON and comes back as it was sent', async (t) => {
  const { createJob, call } = await setup(t)
  const deep = JSON.parse(`${'['.repeat(62)}${']'.repeat(62)}`)
  const strange = { toJSON: 'x', constructor: 1, length: 0, 'a\nb': { '': null }, $ref: '#', default: [] }
  const payloads = [null, 0, -1.5e-9, '', 'ä😀\u2028"\\', false, [], {}, [null, [1]], deep, strange]
  for (const payload of payloads) {
    const job = await createJob({ execution: { payload } })
    assert.deepEqual(job.execution.payload, payload)
    const shown = (await call('GET', `/jobs/${job.job_id}`)).json()
    assert.deepEqual(shown.execution.payload, payload)
    const { execution_id: id } = (await call('POST', `/jobs/${job.job_id}/trigger`)).json()
    assert.deepEqual((await call('GET', `/executions/${id}`)).json().payload, payload)
  }
  const without = await createJob()
  assert(!('payload' in without.execution))
})

const header = (name: string, value = 'x') => ({ execution: { headers: { [name]: value } } })
const refused: [string, Record<string, unknown>, string, ErrorCode?][] = [
  ['no name', { name: undefined }, '/name'],
  ['an empty name', { name: '' }, '/name'],
  ['a long name', { name: 'x'.repeat(256) }, '/name'],
  ['a long description', { description: 'x'.repeat(4_097) }, '/description'],
  ['an unknown field', { nmae: 'x' }, '/nmae'],
  ['a key in capitals', { key: 'A' }, '/key'],
  ['an empty key', { key: '' }, '/key'],
  ['a long key', { key: 'x'.repeat(129) }, '/key'],
  [
    'a redrive at once',
    { retry_policy: { auto_redrive_after_seconds: 0 } },
    '/retry_policy/auto_redrive_after_seconds',
  ],
  ['an unknown field within', { execution: { url: 'x' } }, '/execution/url'],
  ['no schedule', { schedule: undefined }, '/schedule'],
  ['no execution', { execution: null }, '/execution'],
  ['no target', { execution: { callback_url: undefined } }, '/execution/callback_url'],
  ['a target that is no URL', { execution: { callback_url: 'localhost' } }, '/execution/callback_url'],
  ['a target with a password', { execution: { callback_url: 'http://a:b@c/' } }, '/execution/callback_url'],
  [
    'a long target',
    { execution: { callback_url: `http://a/${'x'.repeat(2_048)}` } },
    '/execution/callback_url',
  ],
  ['an unknown executor', { execution: { type: 'ftp' } }, '/execution/type'],
  ['an unknown method', { execution: { method: 'TRACE' } }, '/execution/method'],
  ['a payload with GET', { execution: { method: 'GET', payload: null } }, '/execution/payload'],
  ['a payload over 256 KB', { execution: { payload: 'ä'.repeat(131_072) } }, '/execution/payload'],
  ['no time for an attempt', { execution: { timeout_seconds: 0 } }, '/execution/timeout_seconds'],
  [
    'more than a week for an attempt',
    { execution: { timeout_seconds: 604_801 } },
    '/execution/timeout_seconds',
  ],
  ['half a second', { execution: { timeout_seconds: 1.5 } }, '/execution/timeout_seconds'],
  ['too many retries', { retry_policy: { max_retries: 101 } }, '/retry_policy/max_retries'],
  ['an unknown backoff', { retry_policy: { backoff: 'cubic' } }, '/retry_policy/backoff'],
  ['no delay', { retry_policy: { initial_delay_ms: 0 } }, '/retry_policy/initial_delay_ms'],
  ['a delay over a day', { retry_policy: { max_delay_ms: 86_400_001 } }, '/retry_policy/max_delay_ms'],
  ['priority 0', { priority: 0 }, '/priority'],
  ['priority 11', { priority: 11 }, '/priority'],
  ['priority as a text', { priority: '5' }, '/priority'],
  ['too many tags', { tags: Array(51).fill('x') }, '/tags'],
  ['an empty tag', { tags: ['x', ''] }, '/tags/1'],
  ['a long tag', { tags: ['x'.repeat(65)] }, '/tags/0'],
  ['an unknown overlap policy', { overlap_policy: 'wait' }, '/overlap_policy'],
  ['an unknown misfire policy', { misfire_policy: 'LATER' }, '/misfire_policy'],
  ['no misfire window', { misfire_window_seconds: 0 }, '/misfire_window_seconds'],
  ['a misfire window over a year', { misfire_window_seconds: 31_536_001 }, '/misfire_window_seconds'],
  ['too much metadata', { metadata: Object.fromEntries(Array(21).fill('x').entries()) }, '/metadata'],
  ['metadata that is no text', { metadata: { 'a\nb': 1 } }, '/metadata/a\nb'],
  ['a long metadata value', { metadata: { a: 'x'.repeat(513) } }, '/metadata/a'],
  ['a long metadata name', { metadata: { ['x'.repeat(65)]: '' } }, `/metadata/${'x'.repeat(64)}`],
  ['a metadata value without a name', { metadata: { '': '' } }, '/metadata/'],
  ['a header that is no text', { execution: { headers: { 'x\ny': 1 } } }, '/execution/headers/x\ny'],
  ['a header name with a space', header('x y'), '/execution/headers/x y'],
  ['a header without a name', header(''), '/execution/headers/'],
  ['a header name with a slash', header('a/b~c'), '/execution/headers/a~1b~0c'],
  ['a line break in a header', header('x', 'a\r\nb: c'), '/execution/headers/x'],
  ['a header value out of Latin-1', header('x', 'ł'), '/execution/headers/x'],
  ['the same header twice', { execution: { headers: { 'x-a': '', 'X-A': '' } } }, '/execution/headers/X-A'],
  ['long headers', header('x', 'y'.repeat(8_192)), '/execution/headers'],
  [
    'too many headers',
    { execution: { headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`x${i}`, ''])) } },
    '/execution/headers',
  ],
  ...['Host', 'content-length', 'Transfer-Encoding', 'Connection', 'Keep-Alive', 'Upgrade', 'TE', 'Trailer']
    .concat(['Expect', 'Proxy-Authorization', 'X-Idempotency-Key', 'X-Execution-ID', 'X-Job-ID'])
    .concat(['X-Attempt-Number', 'X-Scheduled-Time', 'traceparent', 'Webhook-Signature', 'X-Carillon-Token'])
    .map((name): [string, Record<string, unknown>, string] => [
      `the header ${name}`,
      header(name),
      `/execution/headers/${name}`,
    ]),
  ['a bad cron text', { schedule: '61 * * * *' }, '/schedule', 'INVALID_SCHEDULE'],
  [
    'an unknown zone',
    { schedule: { cron_expression: '@daily', timezone: 'Mars/Olympus' } },
    '/schedule/timezone',
    'INVALID_SCHEDULE',
  ],
  ['a schedule without a type', { schedule: {} }, '/schedule/type', 'INVALID_SCHEDULE'],
  [
    'a schedule that is over',
    { schedule: { every_seconds: 60, start_at: '2025-01-01T00:00:00Z', end_at: '2025-02-01T00:00:00Z' } },
    '/schedule',
    'INVALID_SCHEDULE',
  ],
  [
    'a number beyond numbers',
    { execution: { payload: { n: 'NUMBER' } } },
    '/execution/payload/n',
    'INVALID_NUMBER',
  ],
  ['a NUL in a name', { name: 'a\0' }, '/name', 'INVALID_TEXT'],
]
for (const [what, changes, pointer, code = 'INVALID_REQUEST'] of refused) {
  test(`a job with ${what} is refused at the right pointer`, async (t) => {
    const { create, woken } = await setup(t)
    const body = JSON.stringify(jobWith(changes)).replace('"NUMBER"', '1e999')
    assertProblem(await create(body), code, pointer)
    assert.deepEqual(woken, [])
  })
}

const notBuilt: [Record<string, unknown>, string][] = [
  ...['on_failure', 'on_late', 'region'].map((name): [Record<string, unknown>, string] => [
    { [name]: 1 },
    `/${name}`,
  ]),
  ...['kafka', 'grpc', 'lambda'].map((type): [Record<string, unknown>, string] => [
    { execution: { type, callback_url: undefined } },
    '/execution/type',
  ]),
  ...['topic', 'key', 'endpoint', 'service_method', 'function'].map(
    (name): [Record<string, unknown>, string] => [{ execution: { [name]: 1 } }, `/execution/${name}`],
  ),
]
test('fields that are specified and not built are refused by name, never ignored', async (t) => {
  const { create, call } = await setup(t)
  for (const [changes, pointer] of notBuilt)
    assertProblem(await create(jobWith(changes)), 'NOT_SUPPORTED_YET', pointer)
  for (const text of ['', '=', '=1', '=yes'])
    assertProblem(await call('POST', `/jobs?dry_run${text}`, minimal), 'INVALID_REQUEST', 'dry_run')
  assertProblem(await call('POST', '/jobs?dryrun=1', minimal), 'INVALID_REQUEST', 'dryrun')
})

test('the bounds themselves are taken', async (t) => {
  const { createJob } = await setup(t)
  await createJob({
    name: 'ä'.repeat(255),
    description: 'x'.repeat(4_096),
    tags: Array(50).fill('x'.repeat(64)),
  })
  await createJob({ priority: 10, execution: { timeout_seconds: 604_800, method: 'GET' } })
  await createJob({ execution: { payload: 'x'.repeat(256 * 1024 - 2) } })
  await createJob({
    execution: { headers: { x: 'y'.repeat(8_191) } },
    metadata: { ['x'.repeat(64)]: 'y'.repeat(512) },
  })
})
