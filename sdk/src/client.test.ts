import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { problem, type Script, startScriptedApi } from '../test/scripted-api.ts'
import { CarillonError, ConnectionError } from './carillon-error.ts'
import { type Client, createClient, createClientOver } from './client.ts'
import { createNodeSender } from './send-node.ts'

async function setup(t: TestContext, script: Script, timeoutMs = 5_000) {
  const api = await startScriptedApi(t, script)
  return { api, client: createClient({ url: api.url, key: 'the-key', timeoutMs }) }
}

const noItems = { pagination: { limit: 50, total: 0, total_capped: false, next_cursor: null } }

test('a call carries the key and brings the answer', async (t) => {
  const { client, api } = await setup(t, () => ({ body: { workers: [] } }))
  assert.deepEqual(await client.workers.list(), { workers: [] })
  const { method, path, headers } = api.asked[0]!
  assert.deepEqual([method, path, headers['authorization']], ['GET', '/api/v1/workers', 'Bearer the-key'])
})

test('an operator acts for a tenant', async (t) => {
  const api = await startScriptedApi(t, () => ({ body: {} }))
  await createClient({ url: api.url, key: 'k', tenantId: 'a-tenant' }).signingKey.get()
  assert.equal(api.asked[0]!.headers['x-tenant-id'], 'a-tenant')
})

type Calls = [(client: Client) => Promise<unknown>, string, unknown?][]
const json = { name: 'a', schedule: '@daily', execution: { callback_url: 'http://127.0.0.1/' } }
const gold = {
  weight: 1,
  history_days: 30,
  payload_bytes_max: 1_024,
  retries_max: 3,
  interval_seconds_min: 60,
  priority_best: 8,
  dead_letters: false,
  requests_per_second: null,
  host_calls_per_second: null,
  active_jobs_max: 5,
  timeout_seconds_max: 60,
  executions_per_minute: null,
  concurrent_executions_max: null,
  waiting_executions_max: null,
  storage_bytes_max: null,
}

const calls: Calls = [
  [(c) => c.ready(), 'GET /readyz'],
  [(c) => c.jobs.create(json), 'POST /api/v1/jobs', json],
  [(c) => c.jobs.get('a/b'), 'GET /api/v1/jobs/a%2Fb'],
  [(c) => c.jobs.list({ tag: 'x' }).page(), 'GET /api/v1/jobs?tag=x'],
  [(c) => c.jobs.patch('1', { priority: 3 }, { ifMatch: 7 }), 'PATCH /api/v1/jobs/1', { priority: 3 }],
  [(c) => c.jobs.putByKey('k', json), 'PUT /api/v1/jobs/by-key/k', json],
  [(c) => c.jobs.pause('1', { reason: 'r' }), 'PATCH /api/v1/jobs/1/pause', { reason: 'r' }],
  [(c) => c.jobs.resume('1'), 'PATCH /api/v1/jobs/1/resume'],
  [(c) => c.jobs.delete('1', { cancelRunning: true }), 'DELETE /api/v1/jobs/1?cancel_running=true'],
  [(c) => c.jobs.trigger('1'), 'POST /api/v1/jobs/1/trigger', {}],
  [(c) => c.jobs.triggerMany('1', { count: 3 }), 'POST /api/v1/jobs/1/triggers', { count: 3 }],
  [
    (c) => c.jobs.trigger('1', { payload_override: null }),
    'POST /api/v1/jobs/1/trigger',
    { payload_override: null },
  ],
  [
    (c) => c.jobs.backfill('1', { from: 'a', to: 'b' }),
    'POST /api/v1/jobs/1/backfill',
    { from: 'a', to: 'b' },
  ],
  [
    (c) => c.jobs.bulk({ action: 'pause', filter: {} }),
    'POST /api/v1/jobs/bulk',
    { action: 'pause', filter: {} },
  ],
  [
    (c) => c.jobs.executions('1', { status: 'FAILED', start_date: '2026-01-01T00:00:00+01:00' }).page(),
    'GET /api/v1/jobs/1/executions?status=FAILED&start_date=2026-01-01T00%3A00%3A00%2B01%3A00',
  ],
  [(c) => c.jobs.slots('1', { limit: 5 }).page(), 'GET /api/v1/jobs/1/slots?limit=5'],
  [(c) => c.jobs.graph('a/b'), 'GET /api/v1/jobs/a%2Fb/graph'],
  [(c) => c.graphRuns.get('a/b'), 'GET /api/v1/graph-runs/a%2Fb'],
  [(c) => c.graphRuns.list({ status: 'FAILED' }).page(), 'GET /api/v1/graph-runs?status=FAILED'],
  [(c) => c.graphRuns.cancel('1'), 'POST /api/v1/graph-runs/1/cancel'],
  [(c) => c.graphRuns.resume('1'), 'POST /api/v1/graph-runs/1/resume'],
  [(c) => c.jobs.why('1'), 'GET /api/v1/jobs/1/why'],
  [(c) => c.executions.get('2'), 'GET /api/v1/executions/2'],
  [(c) => c.executions.search({ q: 'x y' }).page(), 'GET /api/v1/executions?q=x+y'],
  [(c) => c.executions.cancel('2'), 'POST /api/v1/executions/2/cancel'],
  [
    (c) => c.executions.cancelMany({ filter: { tag: 'x' } }),
    'POST /api/v1/executions/cancel',
    { filter: { tag: 'x' } },
  ],
  [(c) => c.executions.retry('2'), 'POST /api/v1/executions/2/retry', {}],
  [(c) => c.executions.logs('2', { attempt: 3 }).page(), 'GET /api/v1/executions/2/logs?attempt=3'],
  [
    (c) => c.executions.complete('2', { status: 'succeeded' }, { token: 't' }),
    'POST /api/v1/executions/2/complete',
    { status: 'succeeded' },
  ],
  [
    (c) => c.executions.heartbeat('2', { progress: 0.5 }, { token: 't' }),
    'POST /api/v1/executions/2/heartbeat',
    { progress: 0.5 },
  ],
  [
    (c) => c.executions.appendLogs('2', { first_line: 0, lines: [{ message: 'm' }] }, { token: 't' }),
    'POST /api/v1/executions/2/logs',
    { first_line: 0, lines: [{ message: 'm' }] },
  ],
  [(c) => c.deadLetters.list({ job_id: '1' }).page(), 'GET /api/v1/dead-letters?job_id=1'],
  [(c) => c.deadLetters.get('2'), 'GET /api/v1/dead-letters/2'],
  [(c) => c.deadLetters.patch('2', { payload: 1 }), 'PATCH /api/v1/dead-letters/2', { payload: 1 }],
  [(c) => c.deadLetters.discard('2'), 'DELETE /api/v1/dead-letters/2'],
  [(c) => c.deadLetters.redrive(['3']), 'POST /api/v1/dead-letters/redrive', { execution_ids: ['3'] }],
  [
    (c) => c.deadLetters.redriveMany({ filter: {}, rate_per_second: 9 }),
    'POST /api/v1/dead-letters/redrive',
    { filter: {}, rate_per_second: 9 },
  ],
  [(c) => c.operations.get('4'), 'GET /api/v1/operations/4'],
  [(c) => c.operations.list().page(), 'GET /api/v1/operations'],
  [(c) => c.operations.cancel('4'), 'POST /api/v1/operations/4/cancel'],
  [(c) => c.calendars.put('h', { entries: [] }), 'PUT /api/v1/calendars/h', { entries: [] }],
  [(c) => c.calendars.get('h'), 'GET /api/v1/calendars/h'],
  [(c) => c.calendars.list().page(), 'GET /api/v1/calendars'],
  [(c) => c.calendars.delete('h', { dryRun: true }), 'DELETE /api/v1/calendars/h?dry_run=true'],
  [(c) => c.artifacts.list({ limit: 2 }).page(), 'GET /api/v1/artifacts?limit=2'],
  [(c) => c.artifacts.get('b'), 'GET /api/v1/artifacts/b'],
  [(c) => c.artifacts.delete('b'), 'DELETE /api/v1/artifacts/b'],
  [
    (c) => c.schedules.preview({ schedule: '@daily' }),
    'POST /api/v1/schedules/preview',
    { schedule: '@daily' },
  ],
  [(c) => c.signingKey.get(), 'GET /api/v1/signing-key'],
  [(c) => c.signingKey.rotate(), 'POST /api/v1/signing-key/rotate', {}],
  [(c) => c.workers.list(), 'GET /api/v1/workers'],
  [(c) => c.partitions.list(), 'GET /api/v1/partitions'],
  [(c) => c.tenants.create({ name: 'n' }), 'POST /api/v1/tenants', { name: 'n' }],
  [(c) => c.tenants.get('5'), 'GET /api/v1/tenants/5'],
  [(c) => c.tenants.list({ limit: 1 }).page(), 'GET /api/v1/tenants?limit=1'],
  [(c) => c.tenants.patch('5', { tier: 'pro' }), 'PATCH /api/v1/tenants/5', { tier: 'pro' }],
  [(c) => c.tenants.usage('5'), 'GET /api/v1/tenants/5/usage'],
  [
    (c) => c.tenants.usageDays('5', { from: '2026-01-01' }),
    'GET /api/v1/tenants/5/usage/days?from=2026-01-01',
  ],
  [(c) => c.session.get(), 'GET /api/v1/session'],
  [(c) => c.session.makeCode(), 'POST /api/v1/session/code', {}],
  [(c) => c.tenants.delete('5'), 'DELETE /api/v1/tenants/5'],
  [
    (c) => c.tenants.delete('5', { cancelRunning: true, purgeAfterSeconds: 60 }),
    'DELETE /api/v1/tenants/5?cancel_running=true&purge_after_seconds=60',
  ],
  [(c) => c.tenants.restore('5'), 'POST /api/v1/tenants/5/restore'],
  [(c) => c.tenants.purge('5', 'sales'), 'POST /api/v1/tenants/5/purge', { name: 'sales' }],
  [(c) => c.tiers.list(), 'GET /api/v1/tiers'],
  [(c) => c.tiers.get('pro'), 'GET /api/v1/tiers/pro'],
  [(c) => c.tiers.put('gold', gold), 'PUT /api/v1/tiers/gold', gold],
  [
    (c) => c.apiKeys.create({ name: 'n', scopes: ['read'] }),
    'POST /api/v1/api-keys',
    { name: 'n', scopes: ['read'] },
  ],
  [(c) => c.apiKeys.get('6'), 'GET /api/v1/api-keys/6'],
  [(c) => c.apiKeys.list({ operator: true }).page(), 'GET /api/v1/api-keys?operator=true'],
  [(c) => c.apiKeys.patch('6', { name: 'm' }), 'PATCH /api/v1/api-keys/6', { name: 'm' }],
  [(c) => c.apiKeys.revoke('6'), 'DELETE /api/v1/api-keys/6'],
]

test('each call sends the request that the API takes', async (t) => {
  const { client, api } = await setup(t, () => ({ body: noItems }))
  for (const [call, wanted, body = null] of calls) {
    await call(client)
    const asked = api.asked.at(-1)!
    assert.deepEqual([`${asked.method} ${asked.path}`, asked.body], [wanted, body])
  }
})

test('conditions and tokens go in headers', async (t) => {
  const { client, api } = await setup(t, () => ({ body: {} }))
  await client.jobs.patch('1', {}, { ifMatch: 7 })
  await client.jobs.pause('1', {}, { ifMatch: '*' })
  await client.jobs.putByKey('k', json, { ifNoneMatch: '*' })
  await client.executions.complete('2', { status: 'succeeded' }, { token: 'the-token' })
  const headers = api.asked.map((asked) => asked.headers)
  assert.deepEqual(
    headers.map((one) => one['if-match'] ?? one['if-none-match'] ?? one['x-carillon-token']),
    ['"7"', '*', '*', 'the-token'],
  )
})

test('a list is read page after page, or one page at a time', async (t) => {
  const pages: Record<string, object> = {
    '/api/v1/jobs?tag=x': { jobs: ['a', 'b'], pagination: { next_cursor: 'c1' } },
    '/api/v1/jobs?tag=x&cursor=c1': { jobs: [], pagination: { next_cursor: 'c2' } },
    '/api/v1/jobs?tag=x&cursor=c2': { jobs: ['c'], pagination: { next_cursor: null } },
  }
  const { client } = await setup(t, ({ path }) => ({ body: pages[path] }))
  const found: unknown[] = []
  for await (const job of client.jobs.list({ tag: 'x' })) found.push(job)
  assert.deepEqual(found, ['a', 'b', 'c'])
  assert.deepEqual((await client.jobs.list({ tag: 'x' }).page()).jobs, ['a', 'b'] as unknown)
})

test('logs are read to the end, and further while the execution runs', async (t) => {
  let answers = [
    { logs: ['a'], next_cursor: '1' },
    { logs: [], next_cursor: '1' },
    { logs: ['b'], next_cursor: null },
  ]
  const { client } = await setup(t, () => ({ body: answers.shift() }))
  const read = async (follow: boolean) => {
    const lines: unknown[] = []
    for await (const line of client.executions.logs('1', { follow })) lines.push(line)
    return lines
  }
  const all = [...answers]
  assert.deepEqual(await read(false), ['a'])
  answers = all
  assert.deepEqual(await read(true), ['a', 'b'])
})

test('not being ready is an answer, not an error', async (t) => {
  const body = { status: 'not_ready', version: '1', roles: [], checks: { database: 'away' } }
  const headers = { 'content-type': 'application/json' }
  const { client } = await setup(t, () => ({ status: 503, headers, body }))
  assert.deepEqual(await client.ready(), body)
})

test('a refusal is an error with the problem document', async (t) => {
  const errors = [{ pointer: '/name', detail: 'is missing' }]
  const { client } = await setup(t, () => problem(400, 'INVALID_REQUEST', { errors }))
  await assert.rejects(client.workers.list(), (error: CarillonError) => {
    assert(error instanceof CarillonError && !(error instanceof ConnectionError))
    assert.equal(error.message, 'It is INVALID_REQUEST.')
    assert.deepEqual([error.status, error.code, error.errors], [400, 'INVALID_REQUEST', errors])
    assert.equal(error.problem?.title, 'INVALID_REQUEST')
    return true
  })
})

test('silence ends after the timeout, nonsense at once, and both say from whom', async (t) => {
  const { client } = await setup(t, () => 'silence', 100)
  await assert.rejects(client.workers.list(), {
    name: 'ConnectionError',
    message: /^No answer from http:.*timeout/,
  })
  const nonsense = await setup(t, () => ({ text: '<html>' }))
  await assert.rejects(nonsense.client.workers.list(), {
    name: 'ConnectionError',
    message: /^No answer from http:.* is not JSON/,
  })
  assert.equal(nonsense.api.asked.length, 1)
})

test('a call that is aborted rejects with the reason of the signal, also between two tries', async (t) => {
  const { client, api } = await setup(t, () => 'silence')
  const controller = new AbortController()
  const call = client.workers.list({}, { signal: controller.signal })
  while (api.asked.length === 0) await new Promise((resolve) => setImmediate(resolve))
  controller.abort(new Error('enough'))
  await assert.rejects(call, { message: 'enough' })
  const once = new AbortController()
  const discard = client.deadLetters.discard('1', { signal: once.signal })
  while (api.asked.length === 1) await new Promise((resolve) => setImmediate(resolve))
  once.abort(new Error('enough of that'))
  await assert.rejects(discard, { message: 'enough of that' })
  api.answerWith(() => problem(429, 'RATE_LIMITED', {}))
  const other = new AbortController()
  const waiting = client.workers.list({}, { signal: other.signal })
  while (api.asked.length === 2) await new Promise((resolve) => setImmediate(resolve))
  other.abort(new Error('enough again'))
  await assert.rejects(waiting, { message: 'enough again' })
})

test('an invalid option is refused by name', () => {
  assert.throws(() => createClient({ url: '127.0.0.1:7420' }), /url is "127.0.0.1:7420"/)
  assert.throws(() => createClient({ url: 'http://a', retries: 11 }), /retries is 11/)
})

test('over connections that stay open it is the same', async (t) => {
  const api = await startScriptedApi(t, ({ body }) => ({ body }))
  using sender = createNodeSender()
  const client = createClientOver({ url: api.url, key: 'k' }, sender.send)
  assert.deepEqual(await client.jobs.bulk({ action: 'pause', filter: { q: 'ü' } }), {
    action: 'pause',
    filter: { q: 'ü' },
  } as unknown)
  api.answerWith(() => problem(404, 'JOB_NOT_FOUND'))
  await assert.rejects(client.jobs.get('1'), { code: 'JOB_NOT_FOUND' })
  api.answerWith(() => 'silence')
  await assert.rejects(client.workers.list({}, { timeoutMs: 50 }), {
    message: /^No answer from http:.*timeout/,
  })
})
