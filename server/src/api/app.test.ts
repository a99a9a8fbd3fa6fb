import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get as httpGet } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import test, { type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { type Answer, assertProblem, operatorKey, setupApp, testWorker } from '../../test/app.ts'
import { realTimers } from '../lib/time/timers.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { requestFailed } from '../telemetry/events.ts'

const authorization = { authorization: `Bearer ${operatorKey}` }

const thingSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string' },
    'a/b': { type: 'integer' },
    nested: { type: 'object', properties: { kind: { enum: ['x', 'y'] } }, additionalProperties: false },
    any: {},
  },
}

const thingsQuery = {
  limit: { type: 'integer', minimum: 1 },
  names: { type: 'array', items: { type: 'string' } },
}

function addThings(app: FastifyInstance): void {
  app.post('/things', { schema: { body: thingSchema } }, async (request) => request.body)
  app.get(
    '/things/:id',
    { schema: { querystring: { type: 'object', properties: thingsQuery } } },
    async (request) => request.query,
  )
  app.get('/broken', async () => {
    throw new Error('a secret detail')
  })
  app.get('/away', async () => {
    throw new Unavailable('the database')
  })
}

const setupThings = (t: TestContext) => setupApp(t, { extend: addThings })

async function post(t: TestContext, payload: string | Buffer, type = 'application/json'): Promise<Answer> {
  const { app } = await setupThings(t)
  return app.inject({ method: 'POST', url: '/things', payload, headers: { 'content-type': type } })
}

test('the probes answer without a key', async (t) => {
  const { get } = await setupApp(t)
  assert.deepEqual((await get('/livez')).json(), { status: 'alive' })
  const ready = { status: 'ready', version: '1.2.3', roles: ['api'], checks: { database: 'ok' } }
  assert.deepEqual((await get('/readyz')).json(), ready)
  assert.equal((await get('/metrics')).body, 'carillon_info 1\n')
  assert.match((await get('/')).body, /Carillon/)
})

test('not being ready is 503 with the reason', async (t) => {
  const health = {
    version: '1',
    roles: [],
    checkReady: async () => ({ database: 'away' }),
    metrics: { contentType: '', read: async () => '' },
    metricsToken: null,
  }
  const { get } = await setupApp(t, { health })
  const answer = await get('/readyz')
  assert.equal(answer.statusCode, 503)
  assert.equal(answer.headers['retry-after'], '1')
  assert.equal(answer.json().checks.database, 'away')
})

test('a stopping server refuses with 503 and Retry-After', async (t) => {
  const { get } = await setupApp(t, { isStopping: () => true })
  const answer = await get('/openapi.json')
  assertProblem(answer, 'UNAVAILABLE')
  assert.equal(answer.headers['retry-after'], '1')
  // It is alive, or somebody would kill it in the middle of its work.
  assert.equal((await get('/livez')).statusCode, 200)
})

test('a stopping server still accepts reports about executions under way', async (t) => {
  const { call } = await setupApp(t, { isStopping: () => true })
  const id = '00000000-0000-7000-8000-00000000000f'
  assertProblem(await call('POST', '/workers/heartbeat', { worker_id: id }), 'WORKER_LOST')
  assertProblem(await call('DELETE', `/workers/${id}`), 'WORKER_LOST')
  for (const what of ['complete', 'heartbeat', 'logs'])
    assertProblem(await call('POST', `/executions/${id}/${what}`, {}), 'INVALID_TOKEN')
  assertProblem(await call('POST', '/workers/claim', { worker_id: id }), 'UNAVAILABLE')
})

test('the API wants a key, and says how to send it', async (t) => {
  const { get } = await setupApp(t)
  for (const header of [
    {},
    { authorization: 'Bearer' },
    { authorization: 'Basic abc' },
    { authorization: 'Bearer nope' },
  ]) {
    const answer = await get('/api/v1/workers', header as Record<string, string>)
    assertProblem(answer, 'UNAUTHENTICATED')
    assert.match(String(answer.headers['www-authenticate']), /^Bearer/)
  }
  assert.deepEqual((await get('/api/v1/workers', authorization)).json().workers, [])
  assert.equal((await get('/api/v1/workers', { authorization: `bearer ${operatorKey}` })).statusCode, 200)
})

test('workers are listed in the form of the contract', async (t) => {
  const { get, workers } = await setupApp(t)
  const workerId = '0192abcd-ef01-7000-8000-000000000001'
  await workers.register(testWorker({ workerId, port: 7420, version: '1.0.0', labels: ['gpu'] }))
  assert.deepEqual((await get('/api/v1/workers', authorization)).json(), {
    workers: [
      {
        worker_id: workerId,
        tenant_id: null,
        host: 'a',
        port: 7420,
        version: '1.0.0',
        labels: ['gpu'],
        executors: ['http'],
        handlers: [],
        status: 'ACTIVE',
        capacity: 50,
        current_load: 0,
        registered_at: '2026-01-01T00:00:00Z',
        last_heartbeat: '2026-01-01T00:00:00Z',
        ended_at: null,
      },
    ],
    counts: { active: 1, draining: 0, dead_last_hour: 0, capacity: 50, running: 0 },
    next_cursor: null,
  })
})

test('a path nobody serves is a problem document', async (t) => {
  const { get } = await setupApp(t)
  assertProblem(await get('/nope'), 'ROUTE_NOT_FOUND')
  assertProblem(await get('/api/v1/nope', authorization), 'ROUTE_NOT_FOUND')
})

test('a URL that cannot be decoded is a problem document', async (t) => {
  const { get } = await setupThings(t)
  assertProblem(await get('/things/%zz'), 'MALFORMED_REQUEST')
})

test('a path parameter that is too long is a problem document', async (t) => {
  const { get } = await setupThings(t)
  assertProblem(await get(`/things/${'x'.repeat(300)}`), 'URL_TOO_LONG')
})

test('bytes that are no HTTP are answered with a problem document', async (t) => {
  const { app } = await setupApp(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const ask = async (bytes: string): Promise<Answer> => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(bytes)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(socket, 'close')
    const [head, body] = Buffer.concat(chunks).toString().split('\r\n\r\n')
    const contentType = /content-type: (.*)\r\n/.exec(head!)![1]
    return { statusCode: Number(head!.split(' ')[1]), headers: { 'content-type': contentType }, body: body! }
  }
  assertProblem(await ask('nonsense\r\n\r\n'), 'MALFORMED_REQUEST')
  assertProblem(await ask('GET /livez HTTP/1.1\r\nconnection: close\r\n\r\n'), 'MALFORMED_REQUEST')
  assertProblem(await ask('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n'), 'MALFORMED_REQUEST')
  assertProblem(await ask('GET /livez HTTP/1.1\r\nhost: a\r\nexpect: x\r\n\r\n'), 'MALFORMED_REQUEST')
  assertProblem(
    await ask('QUERY /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'),
    'MALFORMED_REQUEST',
  )
  assertProblem(
    await ask(`GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`),
    'HEADERS_TOO_LARGE',
  )
})

test('an error of ours is a 500 that gives nothing away, and an event that tells all', async (t) => {
  const { get } = await setupThings(t)
  const failed = requestFailed.next()
  const answer = await get('/broken')
  assertProblem(answer, 'INTERNAL_ERROR')
  assert(!answer.body.includes('secret'))
  assert.match((await failed).error.message, /a secret detail/)
})

test('a database that is away is 503 with Retry-After', async (t) => {
  const { get } = await setupThings(t)
  const answer = await get('/away')
  assertProblem(answer, 'UNAVAILABLE')
  assert.equal(answer.headers['retry-after'], '1')
})

test('a valid body arrives as it was sent', async (t) => {
  const answer = await post(t, '{"name":"ä","any":[1,{"b":null}]}')
  assert.deepEqual(JSON.parse(answer.body), { name: 'ä', any: [1, { b: null }] })
})

test('each invalid body is refused by the field that is wrong', async (t) => {
  assertProblem(await post(t, '{}'), 'INVALID_REQUEST', '/name')
  assertProblem(await post(t, '{"name":5}'), 'INVALID_REQUEST', '/name')
  assertProblem(await post(t, '{"name":"a","extra":1}'), 'INVALID_REQUEST', '/extra')
  assertProblem(await post(t, '{"name":"a","a/b":"5"}'), 'INVALID_REQUEST', '/a~1b')
  assertProblem(await post(t, '{"name":"a","nested":{"kind":"z"}}'), 'INVALID_REQUEST', '/nested/kind')
  assertProblem(
    await post(t, '{"name":"a","any":{"__proto__":{"x":1}}}'),
    'INVALID_REQUEST',
    '/any/__proto__',
  )
  assertProblem(await post(t, '[]'), 'INVALID_REQUEST', '')
  assertProblem(await post(t, ''), 'INVALID_REQUEST', '')
})

test('a body that is not JSON is refused', async (t) => {
  assertProblem(await post(t, '{"name":'), 'MALFORMED_JSON')
  assertProblem(await post(t, Buffer.from([0x22, 0xff, 0x22])), 'MALFORMED_JSON')
})

test('text that PostgreSQL cannot keep is refused at its place', async (t) => {
  assertProblem(await post(t, '{"name":"a\\u0000b"}'), 'INVALID_TEXT', '/name')
  assertProblem(await post(t, '{"name":"a","any":["\\ud800"]}'), 'INVALID_TEXT', '/any/0')
  assertProblem(await post(t, '{"name":"a","any":{"k\\u0000":1}}'), 'INVALID_TEXT', '/any')
})

test('a number that would come out changed is refused at its place, and no other', async (t) => {
  for (const number of ['1e999', '-1e999', '9007199254740993', '12345678901234567891']) {
    assertProblem(await post(t, `{"name":"a","any":[{"n":${number}}]}`), 'INVALID_NUMBER', '/any/0/n')
  }
  const exact = '{"name":"a","any":[9007199254740991,9007199254740992,1e300,-1.5,123456789012345680000]}'
  assert.deepEqual(JSON.parse((await post(t, exact)).body), JSON.parse(exact))
})

test('nesting is taken 64 deep and refused deeper, however deep', async (t) => {
  const nested = (depth: number) => `{"name":"a","any":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  assert.equal((await post(t, nested(64))).statusCode, 200)
  assertProblem(await post(t, nested(65)), 'NESTED_TOO_DEEP')
  assertProblem(await post(t, nested(400_000)), 'NESTED_TOO_DEEP')
})

test('a body over 1 MiB is refused', async (t) => {
  assertProblem(await post(t, `{"name":"${'x'.repeat(1024 * 1024)}"}`), 'BODY_TOO_LARGE')
})

test('another content type is refused', async (t) => {
  assertProblem(await post(t, 'name=a', 'application/x-www-form-urlencoded'), 'UNSUPPORTED_MEDIA_TYPE')
})

test('query parameters are read by their type, and refused by name', async (t) => {
  const { get } = await setupThings(t)
  assert.deepEqual((await get('/things/1?limit=5')).json(), { limit: 5 })
  assertProblem(await get('/things/1?limit=0'), 'INVALID_REQUEST', 'limit')
  for (const text of ['many', 'Infinity', '-Infinity', '0x10', '2e2', '%205', '5.5', '', '1&limit=2']) {
    assertProblem(await get(`/things/1?limit=${text}`), 'INVALID_REQUEST', 'limit')
  }
})

test('a query parameter that is given more than once is refused by name, and says so', async (t) => {
  const { get } = await setupThings(t)
  for (const [query, times] of [
    ['limit=5&limit=6', 'twice'],
    ['limit=5&limit=5', 'twice'],
    ['limit=1&limit=2&limit=3', '3 times'],
  ]) {
    const answer = await get(`/things/1?${query}`)
    assertProblem(answer, 'INVALID_REQUEST', 'limit')
    assert.equal(answer.json().detail, `limit is given ${times}; give it once.`)
  }
  const list = await get('/api/v1/jobs?status=ACTIVE&status=PAUSED', authorization)
  assert.equal(list.json().detail, 'status is given twice; give it once.')
  assert.deepEqual((await get('/things/1?names=a&names=b')).json(), { names: ['a', 'b'] })
})

test('echo answers with the request it received, for any method and any body', async (t) => {
  const { app } = await setupApp(t)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const headers = { 'content-type': 'text/x-anything', 'x-execution-id': '7' }
    const answer = await app.inject({ method, url: '/echo?a=1', payload: 'not json {', headers })
    const { headers: seen, ...rest } = answer.json()
    assert.deepEqual(rest, { method, path: '/echo?a=1', body: 'not json {' })
    assert.equal(seen['x-execution-id'], '7')
  }
  assert.equal((await app.inject({ method: 'GET', url: '/echo' })).json().body, '')
})

test('echo shows that there are credentials, and not which', async (t) => {
  const { get } = await setupApp(t)
  const names = [
    ...['authorization', 'cookie', 'proxy-authorization', 'webhook-signature', 'x-carillon-token'],
    ...[
      'x-api-key',
      'apikey',
      'x-goog-api-key',
      'x-auth-token',
      'x-access-key',
      'client-secret',
      'x-password',
    ],
  ]
  const shown = { 'x-idempotency-key': 'shown 1', 'x-author': 'shown 2', 'x-keyboard': 'shown 3' }
  const answer = await get('/echo', {
    ...Object.fromEntries(names.map((name) => [name, 'hidden'])),
    ...shown,
  })
  assert(!answer.body.includes('hidden'))
  const { headers } = answer.json()
  for (const name of names) assert.equal(headers[name], '***', name)
  for (const [name, value] of Object.entries(shown)) assert.equal(headers[name], value, name)
})

test('echo fails and waits when asked to', async (t) => {
  const { app, world, get } = await setupApp(t)
  assert.equal((await get('/echo?status=503')).statusCode, 503)
  assertProblem(await get('/echo?status=999'), 'INVALID_REQUEST', 'status')
  await app.ready()
  let answered = false
  const slow = get('/echo?delay_ms=5000').then(() => {
    answered = true
  })
  await world.advance(4_999)
  assert.equal(answered, false)
  await world.advance(1)
  await slow
})

test('echo leaves nothing behind on a connection that is used again', async (t) => {
  const { app } = await setupApp(t, { timers: realTimers })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const { port } = app.server.address() as AddressInfo
  for (let i = 0; i < 20; i++) {
    const [response] = await once(httpGet({ port, path: '/echo?delay_ms=1', agent }), 'response')
    await response.resume().toArray()
  }
  assert.deepEqual(warnings, [])
})

test('where other machines reach the server, /echo needs a key', async (t) => {
  const { get } = await setupApp(t, { isEchoOpen: false })
  assertProblem(await get('/echo'), 'UNAUTHENTICATED')
  assertProblem(await get('/echo', { authorization: 'Bearer crl_wrong' }), 'UNAUTHENTICATED')
  const answer = await get('/echo', authorization)
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.json().headers.authorization, '***')
})

test('with a token, /metrics asks for it, and the probes do not', async (t) => {
  const metricsToken = 'a-token-for-prometheus-0123456789abcdef'
  const health = {
    version: '1',
    roles: [],
    checkReady: async () => ({}),
    metrics: { contentType: 'text/plain', read: async () => 'carillon_info 1\n' },
    metricsToken,
  }
  const { get } = await setupApp(t, { health })
  for (const text of [undefined, metricsToken, `Bearer ${metricsToken}x`, `Bearer ${operatorKey}`])
    assertProblem(await get('/metrics', text === undefined ? {} : { authorization: text }), 'UNAUTHENTICATED')
  const answer = await get('/metrics', { authorization: `Bearer ${metricsToken}` })
  assert.equal(answer.body, 'carillon_info 1\n')
  assert.equal((await get('/livez')).statusCode, 200)
  assert.equal((await get('/readyz')).statusCode, 200)
})
