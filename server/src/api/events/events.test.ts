import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { addKey, addTenant, bearer } from '../../../test/access.ts'
import { assertProblem, operatorKey, runAll, setupApp } from '../../../test/app.ts'
import { EventReader } from '../../../test/event-reader.ts'
import { MemoryFeed } from '../../../testing/memory-store/feed.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { Unavailable } from '../../lib/unavailable.ts'

const stream = { accept: 'text/event-stream' }
const hello = { name: 'hello', schedule: '0 0 1 1 *', execution: { callback_url: 'http://127.0.0.1:9/' } }

async function setup(t: TestContext) {
  let stopping = false
  const parts = await setupApp(t, { isStopping: () => stopping })
  const { app, call, memory, world } = parts
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const looked = t.mock.method(memory.feed, 'look')
  const read = (headers: Record<string, string> = {}, query = '') =>
    EventReader.open(t, `${url}/api/v1/events${query}`, { ...bearer(operatorKey), ...headers })
  /** One beat of the stream. */
  const beat = () => world.advance(1_000)
  /** Its first look only finds out where it is. */
  const begin = async (headers: Record<string, string> = {}, query = '') => {
    const reader = await read(headers, query)
    await reader.data('hello')
    await beat()
    await reader.data('pulse')
    return reader
  }
  const makeJob = async (changes: object = {}) => {
    const answer = await call('POST', '/jobs', { ...hello, ...changes })
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json().job_id as string
  }
  const trigger = async (jobId: string) =>
    (await call('POST', `/jobs/${jobId}/trigger`)).json().execution_id as string
  const stop = () => {
    stopping = true
  }
  return { ...parts, url, looked: looked.mock, read, begin, beat, makeJob, trigger, stop }
}

test('a stream says hello, then tells the pulse once a second', async (t) => {
  const { read, beat, makeJob, trigger } = await setup(t)
  const jobId = await makeJob()
  const reader = await read()
  const { tenant_id: tenantId } = await reader.data('hello')
  assert.equal(tenantId, defaultTenantId)
  await beat()
  const { as_of: first, ...quiet } = await reader.data('pulse')
  const nothing = { lag_ms: 0, started: 0, succeeded: 0, failed: 0, timed_out: 0, running: 0, waiting: 0 }
  assert.deepEqual(quiet, nothing)
  await trigger(jobId)
  await beat()
  const { as_of: second, ...busy } = await reader.data('pulse')
  assert.deepEqual(busy, { ...nothing, waiting: 1 })
  assert.equal(Date.parse(second) - Date.parse(first), 1_000)
})

test('waiting and ended executions are published with their job', async (t) => {
  const { begin, beat, makeJob, trigger, memory, world } = await setup(t)
  const jobId = await makeJob({ name: '<b>bold</b>\n' })
  const reader = await begin()
  const executionId = await trigger(jobId)
  await beat()
  const [waits] = (await reader.data('executions')).items
  assert.deepEqual(
    [waits!.execution_id, waits!.job_id, waits!.job_name, waits!.status, waits!.attempt_number],
    [executionId, jobId, '<b>bold</b>\n', 'PENDING', 0],
  )
  await runAll({ memory, world })
  await beat()
  const { items, dropped } = await reader.data('executions')
  assert.deepEqual(
    items.map(({ execution_id, status, duration_ms }) => [execution_id, status, duration_ms]),
    [[executionId, 'SUCCEEDED', 250]],
  )
  assert.equal(dropped, 0)
  const { succeeded, started } = await reader.data('pulse')
  assert.deepEqual([succeeded, started], [1, 1])
})

test('jobs, operations and graph runs are told when they change, and not again', async (t) => {
  const { begin, beat, call, makeJob, trigger } = await setup(t)
  const root = await makeJob({ name: 'root' })
  const reader = await begin()
  const jobId = await makeJob({ name: 'child', depends_on: [{ job_id: root }] })
  await call('POST', '/jobs/bulk', { action: 'pause', filter: {} })
  await trigger(root)
  await beat()
  const { items: jobs } = await reader.data('jobs')
  assert.deepEqual(
    jobs.map((one) => [one.job_id, one.name, one.status]),
    [[jobId, 'child', 'ACTIVE']],
  )
  const { items: operations } = await reader.data('operations')
  assert.deepEqual(
    operations.map(({ status, done, total }) => [status, done, total]),
    [['RUNNING', 0, 2]],
  )
  const names = new Set<string>()
  for (let n = 0; n < 3; n++) {
    await beat()
    for (let name = ''; name !== 'pulse'; names.add(name)) name = (await reader.next())!.name
  }
  assert(!names.has('jobs') && !names.has('operations'))
})

test('however many read, a tenant is looked at once a second; when nobody reads, not at all', async (t) => {
  const { app, read, beat, looked } = await setup(t)
  const readers = await Promise.all(Array.from({ length: 10 }, () => read()))
  for (const reader of readers) await reader.data('hello')
  for (let n = 0; n < 3; n++) await beat()
  for (const reader of readers) for (let n = 0; n < 3; n++) await reader.data('pulse')
  assert.equal(looked.callCount(), 3)
  for (const reader of readers) reader.close()
  await untilConnections(app, 0)
  const before = looked.callCount()
  for (let n = 0; n < 5; n++) await beat()
  assert.equal(looked.callCount(), before)
})

/** Returns once the server has seen readers leave. */
async function untilConnections(app: FastifyInstance, most: number): Promise<void> {
  const count = promisify(app.server.getConnections.bind(app.server))
  while ((await count()) > most) await setImmediate()
}

test('a tenant is told nothing of another', async (t) => {
  const { begin, beat, call, makeJob, trigger, memory, world } = await setup(t)
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId, { scopes: ['read'] })
  const reader = await begin(headers)
  await trigger(await makeJob())
  await runAll({ memory, world })
  for (let n = 0; n < 2; n++) {
    await beat()
    const event = await reader.next()
    assert.equal(event!.name, 'pulse')
    assert.deepEqual(Object.values(event!.data).slice(2), [0, 0, 0, 0, 0, 0])
  }
})

test('a reader that returns within a minute receives the missed events, once', async (t) => {
  const { app, begin, read, beat, makeJob, trigger } = await setup(t)
  const jobId = await makeJob()
  const first = await begin()
  await trigger(jobId)
  await beat()
  const last = (await first.next('pulse'))!.id
  first.close()
  await untilConnections(app, 0)
  // Nobody reads meanwhile.
  const missed = await trigger(jobId)
  for (let n = 0; n < 5; n++) await beat()
  const second = await read({ 'last-event-id': last })
  assert.equal((await second.next())!.id, last)
  await beat()
  const { items } = await second.data('executions')
  assert.deepEqual(
    items.map((one) => one.execution_id),
    [missed],
  )
  // A reader that stayed would have received the same events; a reader that asks for them again gets them from memory.
  const third = await read({ 'last-event-id': last })
  await third.data('hello')
  assert.deepEqual((await third.data('executions')).items, items)
})

test('a reader that returns later, or to another server, is asked to load again', async (t) => {
  const { app, begin, read, beat } = await setup(t)
  const first = await begin()
  await beat()
  const last = (await first.next('pulse'))!.id
  first.close()
  await untilConnections(app, 0)
  const strange = last.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
  for (const id of [strange, 'nonsense', `${last}0000`, 'x'.repeat(5_000)]) {
    const reader = await read({ 'last-event-id': id })
    await reader.data('hello')
    assert.equal((await reader.next())!.name, 'reset')
    reader.close()
    await untilConnections(app, 0)
  }
  for (let n = 0; n < 61; n++) await beat()
  const late = await read({ 'last-event-id': last })
  await late.data('hello')
  assert.equal((await late.next())!.name, 'reset')
})

test('with `watch` the execution is told when it changes, and its log line by line', async (t) => {
  const { read, beat, makeJob, trigger, memory, world } = await setup(t)
  const executionId = await trigger(await makeJob())
  const say = (firstLine: number, ...messages: string[]) =>
    memory.logs.append([
      {
        ...{ tenantId: defaultTenantId, executionId, attempt: 1, firstLine },
        lines: messages.map((message) => ({
          at: world.clock.databaseNow(),
          level: 'info' as const,
          message,
        })),
      },
    ])
  await say(0, 'one', 'two')
  const reader = await read({}, `?watch=${executionId}`)
  assert.equal((await reader.data('execution')).status, 'PENDING')
  const { lines } = await reader.data('log')
  assert.deepEqual(
    lines.map(({ attempt_number, line, message }) => [attempt_number, line, message]),
    [
      [1, 0, 'one'],
      [1, 1, 'two'],
    ],
  )
  await say(2, 'three')
  await beat()
  const told = (await reader.next('log'))!
  assert.deepEqual(
    told.data.lines.map(({ message }) => message),
    ['three'],
  )
  reader.close()
  await say(3, 'four')
  await runAll({ memory, world })
  // It goes on behind the line that it had; another execution has a log of its own.
  const again = await read({ 'last-event-id': told.id }, `?watch=${executionId}`)
  await beat()
  assert.equal((await again.data('execution')).status, 'SUCCEEDED')
  assert.deepEqual(
    (await again.data('log')).lines.map(({ message }) => message),
    ['four'],
  )
})

test('a request without the stream type, with an execution of another tenant or without the right to read is refused', async (t) => {
  const { call, makeJob, trigger } = await setup(t)
  assertProblem(await call('GET', '/events'), 'NOT_ACCEPTABLE')
  assertProblem(await call('GET', '/events', undefined, { accept: 'text/html, */*' }), 'NOT_ACCEPTABLE')
  const nobody = '0192abcd-ef01-7000-8000-000000000001'
  assertProblem(await call('GET', `/events?watch=${nobody}`, undefined, stream), 'EXECUTION_NOT_FOUND')
  assertProblem(await call('GET', '/events?watch=all', undefined, stream), 'INVALID_REQUEST', 'watch')
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId, { scopes: ['write'] })
  assertProblem(await call('GET', '/events', undefined, { ...stream, ...headers }), 'SCOPE_MISSING')
  const other = await addKey(call, tenantId)
  const executionId = await trigger(await makeJob())
  const foreign = await call('GET', `/events?watch=${executionId}`, undefined, {
    ...stream,
    ...other.headers,
  })
  assertProblem(foreign, 'EXECUTION_NOT_FOUND')
  assertProblem(
    await call('GET', '/events', undefined, { ...stream, authorization: 'Bearer x' }),
    'UNAUTHENTICATED',
  )
})

test('a key reads ten streams at a time', async (t) => {
  const { app, call, read } = await setup(t)
  const readers = await Promise.all(Array.from({ length: 10 }, () => read()))
  const refused = await call('GET', '/events', undefined, stream)
  assertProblem(refused, 'TOO_MANY_STREAMS')
  assert.equal(refused.headers['retry-after'], '5')
  readers[0]!.close()
  await untilConnections(app, 9)
  await read()
})

test('a tenant reads a quarter of the streams of a server, and all tenants leave ten for operators', async (t) => {
  const { app, call, read } = await setup(t)
  const readMany = async (name: string, count: number) => {
    const tenantId = await addTenant(call, name)
    const readers: EventReader[] = []
    while (readers.length < count) {
      const { headers } = await addKey(call, tenantId)
      const some = Math.min(10, count - readers.length)
      readers.push(...(await Promise.all(Array.from({ length: some }, () => read(headers)))))
    }
    const { headers } = await addKey(call, tenantId)
    return { readers, refuse: () => call('GET', '/events', undefined, { ...stream, ...headers }) }
  }
  const greedy = await readMany('greedy', 25)
  const beyondShare = await greedy.refuse()
  assertProblem(beyondShare, 'TOO_MANY_STREAMS')
  assert.match(
    beyondShare.json().detail,
    /^The tenant has 25 streams open at this server, which is its share/,
  )
  for (const name of ['b', 'c']) await readMany(name, 25)
  const last = await readMany('d', 15)
  assert.match((await last.refuse()).json().detail, /^All tenants together have 90 streams open/)
  await read()
  greedy.readers[0]!.close()
  await untilConnections(app, 90)
  await readMany('e', 1)
})

test('the only tenant reads every stream but the ones that are kept for operators', async (t) => {
  const { call, read } = await setup(t)
  for (let n = 0; n < 9; n++) {
    const { headers } = await addKey(call, defaultTenantId)
    await Promise.all(Array.from({ length: 10 }, () => read(headers)))
  }
  const { headers } = await addKey(call, defaultTenantId)
  assertProblem(await call('GET', '/events', undefined, { ...stream, ...headers }), 'TOO_MANY_STREAMS')
  await read()
})

test('a stream ends when its key is revoked', async (t) => {
  const { call, begin, beat } = await setup(t)
  const tenantId = await addTenant(call, 'sales')
  const { keyId, headers } = await addKey(call, tenantId)
  const [reader, other] = [await begin(headers), await begin()]
  await call('DELETE', `/api-keys/${keyId}`, undefined, { 'x-tenant-id': tenantId })
  await beat()
  await beat()
  while ((await reader.next()) !== null);
  assert.equal((await other.next())!.name, 'pulse')
})

test('a stream of a session ends with the session', async (t) => {
  const { app, url, beat } = await setup(t)
  const sent = { 'x-carillon-client': 'dashboard' }
  const logIn = { method: 'POST' as const, url: '/api/v1/session', payload: { key: operatorKey } }
  const cookie = String((await app.inject(logIn)).headers['set-cookie']).split(';')[0]!
  const reader = await EventReader.open(t, `${url}/api/v1/events`, { ...sent, cookie })
  await reader.data('hello')
  await app.inject({ method: 'DELETE', url: '/api/v1/session', headers: { ...sent, cookie } })
  await beat()
  await beat()
  while ((await reader.next()) !== null);
})

test('a look that takes longer than a second costs the next one, and no more', async (t) => {
  const { begin, beat, looked, memory } = await setup(t)
  const reader = await begin()
  const { promise, resolve } = Promise.withResolvers<void>()
  const { look } = MemoryFeed.prototype
  looked.mockImplementationOnce(async (query) => {
    await promise
    return look.call(memory.feed, query)
  })
  const before = looked.callCount()
  for (let n = 0; n < 3; n++) await beat()
  assert.equal(looked.callCount(), before + 1)
  resolve()
  await beat()
  await reader.data('pulse')
  assert.equal(looked.callCount(), before + 2)
})

test('while the database is away the stream stays, says so much, and goes on afterwards', async (t) => {
  const { begin, beat, looked, memory, makeJob, trigger } = await setup(t)
  const jobId = await makeJob()
  const reader = await begin()
  const before = looked.callCount()
  const { look } = MemoryFeed.prototype
  looked.mockImplementation(async (query) => {
    if (looked.callCount() < before + 20) throw new Unavailable('the database')
    return look.call(memory.feed, query)
  })
  const executionId = await trigger(jobId)
  for (let n = 0; n < 21; n++) await beat()
  const { items } = await reader.data('executions')
  assert.equal(items[0]!.execution_id, executionId)
  assert.equal(reader.comments, 1)
})

test('a server that stops ends its streams within a second, and takes no more', async (t) => {
  const { call, begin, beat, stop } = await setup(t)
  const reader = await begin()
  stop()
  await beat()
  while ((await reader.next()) !== null);
  assertProblem(await call('GET', '/events', undefined, { accept: 'text/event-stream' }), 'UNAVAILABLE')
})

test('streams do not hold up the end of a server', async (t) => {
  const { app, begin } = await setup(t)
  const reader = await begin()
  await app.close()
  assert.equal(await reader.next(), null)
})
