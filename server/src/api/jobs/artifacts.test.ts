import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { connect } from 'node:net'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, operatorKey, setupApp, testWorker } from '../../../test/app.ts'
import { packTar } from '../../../test/bundle.ts'
import { until } from '../../../test/e2e/api.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

const bundle = gzipSync(packTar([{ path: 'main.js', content: 'export const run = () => 1' }]))
const sha256 = hash('sha256', bundle)
const [nobody, other] = ['0192abcd-ef01-7000-8000-000000000001', '0192abcd-ef01-7000-8000-000000000002']

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  await parts.memory.leases.register(testWorker({ executors: ['http', 'artifact'] }))
  const put = (path: string, body: Buffer = bundle, headers: Record<string, string> = {}) =>
    parts.app.inject({
      method: 'PUT',
      url: `/api/v1/artifacts/${path}`,
      headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/gzip', ...headers },
      payload: body,
    })
  return { ...parts, put }
}

test('an artifact is put, replaced, shown and deleted', async (t) => {
  const { put, call, memory, world } = await setup(t)
  const made = await put('my.job')
  assert.equal(made.statusCode, 201, made.body)
  assert.equal(made.headers['location'], '/api/v1/artifacts/my.job')
  const shown = {
    artifact_id: 'my.job',
    sha256,
    bytes: bundle.length,
    created_at: '2026-01-01T00:00:00Z',
    created_by: 'operator',
  }
  assert.deepEqual(made.json(), shown)
  assert.deepEqual((await call('GET', '/artifacts/my.job')).json(), shown)
  assert.deepEqual(Buffer.from((await memory.artifacts.read(defaultTenantId, 'my.job', sha256))!), bundle)
  await world.advance(1_000)
  const other = gzipSync('other')
  const replaced = await put('my.job', other, { 'content-type': 'application/octet-stream' })
  assert.equal(replaced.statusCode, 200, replaced.body)
  assert.deepEqual(replaced.json(), {
    ...shown,
    sha256: hash('sha256', other),
    bytes: other.length,
    created_at: '2026-01-01T00:00:01Z',
  })
  assert.equal((await call('DELETE', '/artifacts/my.job')).statusCode, 204)
  assertProblem(await call('GET', '/artifacts/my.job'), 'ARTIFACT_NOT_FOUND')
  assertProblem(await call('DELETE', '/artifacts/my.job'), 'ARTIFACT_NOT_FOUND')
})

test('an artifact is refused while no server runs artifacts; the ones that are there stay readable', async (t) => {
  const { put, call, memory, world } = await setup(t)
  assert.equal((await put('a')).statusCode, 201)
  // A restart between an upload and the next one.
  await memory.leases.unregister(testWorker().workerId)
  assert.equal((await put('a')).statusCode, 200)
  await memory.leases.register(testWorker({ workerId: nobody, executors: ['http', 'shell'] }))
  const handlers = { tenantId: defaultTenantId, executors: ['worker', 'artifact'] } as const
  await memory.leases.register(testWorker({ workerId: other, ...handlers }))
  await world.advance(601_000)
  for (const id of ['a', 'b']) assertProblem(await put(id), 'ARTIFACTS_OFF')
  assert.equal((await call('GET', '/artifacts/a')).json().sha256, sha256)
  assert.equal((await call('GET', '/artifacts')).json().pagination.total, 1)
  assert.equal((await call('DELETE', '/artifacts/a')).statusCode, 204)
})

test('a server that runs artifacts takes one before its worker is registered', async (t) => {
  const { call } = await setupApp(t, { runsArtifacts: true })
  const headers = { 'content-type': 'application/gzip' }
  assert.equal((await call('PUT', '/artifacts/a', '\u001f', headers)).json().code, 'INVALID_REQUEST')
})

test('a checksum that does not fit is refused, and one that fits is not', async (t) => {
  const { put, call } = await setup(t)
  assertProblem(await put(`a?sha256=${'0'.repeat(64)}`), 'CHECKSUM_MISMATCH', 'sha256')
  assertProblem(await put('a?sha256=abc'), 'INVALID_REQUEST', 'sha256')
  assertProblem(await call('GET', '/artifacts/a'), 'ARTIFACT_NOT_FOUND')
  assert.equal((await put(`a?sha256=${sha256.toUpperCase()}`)).statusCode, 201)
})

test('a body that is no bundle is refused', async (t) => {
  const { put, call } = await setup(t)
  assertProblem(await put('a', Buffer.from('PK no gzip')), 'INVALID_REQUEST', '')
  assertProblem(await put('a', Buffer.alloc(0)), 'INVALID_REQUEST', '')
  assertProblem(await put('A'), 'INVALID_REQUEST', 'artifact_id')
  assertProblem(await put('a', bundle, { 'content-type': 'text/plain' }), 'UNSUPPORTED_MEDIA_TYPE')
  assertProblem(await call('PUT', '/artifacts/a', {}), 'INVALID_REQUEST')
  assertProblem(await put('a', Buffer.alloc(32 * 2 ** 20 + 1)), 'BODY_TOO_LARGE')
  assertProblem(await call('GET', '/artifacts/Ünknown'), 'ARTIFACT_NOT_FOUND')
  assert.equal((await put('a', Buffer.concat([bundle, Buffer.alloc(2 * 2 ** 20)]))).statusCode, 201, '2 MiB')
})

test('artifacts are listed by id and in pages', async (t) => {
  const { put, call } = await setup(t)
  for (const id of ['b', 'c', 'a']) await put(id)
  const idsOf = (list: { artifacts: { artifact_id: string }[] }) =>
    list.artifacts.map(({ artifact_id: id }) => id)
  const page = (await call('GET', '/artifacts?limit=2')).json()
  assert.deepEqual(idsOf(page), ['a', 'b'])
  assert.equal(page.pagination.total, 3)
  const rest = (await call('GET', `/artifacts?limit=2&cursor=${page.pagination.next_cursor}`)).json()
  assert.deepEqual([idsOf(rest), rest.pagination.next_cursor], [['c'], null])
})

test('artifacts belong to their tenant, are bounded in number, and take the scope to read or to write', async (t) => {
  const { put, call } = await setup(t)
  await put('a')
  const tenantId = await addTenant(call, 'other')
  const reader = await addKey(call, tenantId, { scopes: ['read'] })
  const writer = await addKey(call, tenantId, { scopes: ['write'] })
  assertProblem(await call('GET', '/artifacts/a', undefined, reader.headers), 'ARTIFACT_NOT_FOUND')
  assertProblem(await call('DELETE', '/artifacts/a', undefined, writer.headers), 'ARTIFACT_NOT_FOUND')
  assertProblem(await put('a', bundle, reader.headers), 'SCOPE_MISSING')
  assertProblem(await call('GET', '/artifacts', undefined, writer.headers), 'SCOPE_MISSING')
  for (let i = 1; i < 100; i++) assert.equal((await put(`a${i}`)).statusCode, 201)
  assertProblem(await put('one-more'), 'TOO_MANY_ARTIFACTS')
  assert.equal((await put('a')).statusCode, 200)
})

test('bundles are received a few at a time of each tenant, and a client that disconnects frees its place', async (t) => {
  const { app, call } = await setup(t)
  const url = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const type = { 'content-type': 'application/gzip' }
  const put = async (who: { authorization: string }) => {
    const headers = { ...type, ...who }
    const answer = await fetch(`${url.origin}/api/v1/artifacts/a`, { method: 'PUT', headers, body: bundle })
    const { code = 'none' } = (await answer.json()) as { code?: string }
    return { status: answer.status, code, retryAfter: answer.headers.get('retry-after') }
  }
  /** Uploads that send a part of their body and no more. */
  const startSlow = (who: { authorization: string }, count: number) => {
    const head = [
      'PUT /api/v1/artifacts/slow HTTP/1.1',
      `host: ${url.host}`,
      ...Object.entries({ ...type, ...who }).map(([name, value]) => `${name}: ${value}`),
      'content-length: 1000',
    ].join('\r\n')
    const sockets = Array.from({ length: count }, () => connect(Number(url.port), '127.0.0.1'))
    for (const socket of sockets) socket.write(`${head}\r\n\r\nsome of it`)
    return sockets
  }
  const [greedy, victim] = await Promise.all(
    ['greedy', 'victim'].map(async (name) => (await addKey(call, await addTenant(call, name))).headers),
  )
  const sockets = startSlow(greedy!, 8)
  const refused = await until(async () => {
    const answer = await put(greedy!)
    return answer.status === 429 ? answer : null
  }, 'the tenant has used its share')
  assert.deepEqual(refused, { status: 429, code: 'TENANT_SHARE_USED', retryAfter: '1' })
  assert.equal((await put(victim!)).status, 201)
  const operator = { authorization: `Bearer ${operatorKey}` }
  sockets.push(...startSlow(operator, 6))
  await until(async () => ((await put(victim!)).code === 'SERVER_FULL' ? true : null), 'there is no place')
  for (const socket of sockets) socket.destroy()
  await until(async () => ((await put(victim!)).status === 200 ? true : null), 'there is a place again')
})
