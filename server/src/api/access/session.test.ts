import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant, strangeKey } from '../../../test/access.ts'
import { type Answer, assertProblem, operatorKey, setupApp } from '../../../test/app.ts'
import { hashKey } from '../../domain/access/api-key.ts'
import { codeMs, sessionMs } from '../../domain/access/session.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

const host = 'jobs.example'
const fromPage = { 'x-carillon-client': 'dashboard', host }

async function setup(t: TestContext, changes: { publicUrl?: string } = {}) {
  const parts = await setupApp(t, changes)
  const { app, call, memory } = parts
  const send = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    return app.inject({ method, url: `/api/v1${path}`, headers: { ...headers, ...type }, ...payload })
  }
  const tryLogIn = (body: unknown, headers: Record<string, string> = {}) =>
    send('POST', '/session', { host, ...headers }, body)
  /** Returns the headers that the dashboard sends from then on. */
  const logIn = async (body: unknown) => {
    const answer = await tryLogIn(body)
    assert.equal(answer.statusCode, 200, answer.body)
    return { ...fromPage, cookie: cookieOf(answer) }
  }
  const makeCode = async (code: string) => {
    const keyHash = hashKey(operatorKey)
    await memory.sessions.addCode({ hash: hashKey(code), keyHash, forMs: codeMs })
    return code
  }
  const tenantId = await addTenant(call, 'sales')
  return { ...parts, tenantId, send, tryLogIn, logIn, makeCode }
}

function cookieOf(answer: Answer): string {
  return String(answer.headers['set-cookie']).split(';')[0]!
}

test('a key opens a session with a cookie that no script can read and no other site sends', async (t) => {
  const { call, tenantId, send, tryLogIn } = await setup(t)
  const { key } = await addKey(call, tenantId, { name: 'on call', scopes: ['read', 'operate'] })
  const answer = await tryLogIn({ key })
  const who = {
    tenant: { tenant_id: tenantId, name: 'sales' },
    operator: false,
    scopes: ['read', 'operate'],
    key_name: 'on call',
  }
  assert.deepEqual(answer.json(), who)
  assert.equal(answer.headers['cache-control'], 'no-store')
  const [pair, ...attributes] = String(answer.headers['set-cookie']).split('; ')
  assert.match(pair!, /^carillon_session_[0-9a-f]{8}=[\w-]{43}$/)
  assert.deepEqual(attributes, ['Max-Age=604800', 'Path=/', 'HttpOnly', 'SameSite=Strict'])
  const seen = await send('GET', '/session', { ...fromPage, cookie: `theme=dark; ${pair}; a=b=c` })
  assert.deepEqual(seen.json(), who)
})

test('a session has the rights of its key, and no more', async (t) => {
  const { call, tenantId, send, logIn } = await setup(t)
  const { key } = await addKey(call, tenantId, { scopes: ['read'] })
  const session = await logIn({ key })
  assert.equal((await send('GET', '/jobs', session)).statusCode, 200)
  assertProblem(await send('POST', '/jobs', session, {}), 'SCOPE_MISSING')
  assertProblem(await send('GET', '/partitions', session), 'OPERATOR_ONLY')
  assertProblem(await send('GET', '/jobs', { ...session, 'x-tenant-id': defaultTenantId }), 'TENANT_MISMATCH')
})

test('an operator has every scope, no name of a key, and the tenant that it names', async (t) => {
  const { tenantId, send, logIn } = await setup(t)
  const session = await logIn({ key: operatorKey })
  const own = (await send('GET', '/session', session)).json()
  assert.deepEqual(own, {
    tenant: { tenant_id: defaultTenantId, name: 'default' },
    operator: true,
    scopes: ['read', 'write', 'operate', 'admin'],
    key_name: null,
  })
  const sales = (await send('GET', '/session', { ...session, 'x-tenant-id': tenantId })).json()
  assert.equal(sales.tenant.name, 'sales')
})

test('every key can look itself up, regardless of its scopes', async (t) => {
  const { call, tenantId } = await setup(t)
  const { headers } = await addKey(call, tenantId, { name: 'deploy', scopes: ['write'] })
  const answer = await call('GET', '/session', undefined, headers)
  assert.deepEqual([answer.json().scopes, answer.json().key_name], [['write'], 'deploy'])
  assertProblem(await call('GET', '/session', undefined, { authorization: '' }), 'UNAUTHENTICATED')
})

test('a cookie without the header of our page counts for nothing', async (t) => {
  const { send, logIn } = await setup(t)
  const { cookie } = await logIn({ key: operatorKey })
  for (const headers of [{}, { 'x-carillon-client': '' }, { 'x-carillon-client': 'other' }]) {
    const sent = { cookie, host, ...headers } as Record<string, string>
    assertProblem(await send('GET', '/session', sent), 'UNAUTHENTICATED')
    assertProblem(await send('POST', '/jobs', sent, {}), 'UNAUTHENTICATED')
    assertProblem(await send('DELETE', '/session', sent), 'UNAUTHENTICATED')
  }
  assert.equal((await send('GET', '/session', { cookie, ...fromPage })).statusCode, 200)
})

test('a request from a page of another site is refused, also to log in', async (t) => {
  const { send, tryLogIn, logIn } = await setup(t)
  const session = await logIn({ key: operatorKey })
  for (const origin of ['https://evil.example', 'null', `http://${host}.evil.example`, `http://${host}:81`]) {
    assertProblem(await send('GET', '/session', { ...session, origin }), 'UNAUTHENTICATED')
    assertProblem(await send('DELETE', '/session', { ...session, origin }), 'UNAUTHENTICATED')
    assertProblem(await tryLogIn({ key: operatorKey }, { origin }), 'UNAUTHENTICATED')
  }
  for (const origin of [`http://${host}`, `https://${host}`])
    assert.equal((await send('GET', '/session', { ...session, origin })).statusCode, 200)
})

test('behind a proxy that changes the host, the public address counts too', async (t) => {
  const { tryLogIn } = await setup(t, { publicUrl: 'https://carillon.example/' })
  const answer = await tryLogIn({ key: operatorKey }, { origin: 'https://carillon.example' })
  assert.equal(answer.statusCode, 200)
  assertProblem(await tryLogIn({ key: operatorKey }, { origin: 'https://evil.example' }), 'UNAUTHENTICATED')
})

test('over https the cookie is restricted to https, and proxy headers about that are not trusted', async (t) => {
  const { tryLogIn } = await setup(t)
  const secure = await tryLogIn({ key: operatorKey }, { origin: `https://${host}` })
  assert.match(String(secure.headers['set-cookie']), /; Secure$/)
  const plain = await tryLogIn({ key: operatorKey }, { 'x-forwarded-proto': 'https' })
  assert.doesNotMatch(String(plain.headers['set-cookie']), /Secure/)
})

test('an API key takes precedence over the session cookie', async (t) => {
  const { call, tenantId, send, logIn } = await setup(t)
  const session = await logIn({ key: operatorKey })
  const { headers } = await addKey(call, tenantId, { scopes: ['read'] })
  const answer = await send('GET', '/session', { ...session, ...headers })
  assert.equal(answer.json().tenant.tenant_id, tenantId)
})

test('a session ends when its key is revoked, at once', async (t) => {
  const { call, tenantId, send, logIn } = await setup(t)
  const { key, keyId } = await addKey(call, tenantId)
  const session = await logIn({ key })
  assert.equal((await send('GET', '/session', session)).statusCode, 200)
  await call('DELETE', `/api-keys/${keyId}`, undefined, { 'x-tenant-id': tenantId })
  const answer = await send('GET', '/session', session)
  assertProblem(answer, 'UNAUTHENTICATED')
  assert.match(answer.json().detail, /revoked/)
})

test('a session ends when its key expires, and after seven days', async (t) => {
  const { call, world, tenantId, send, logIn } = await setup(t)
  const short = await logIn({
    key: (await addKey(call, tenantId, { expires_at: '2026-01-01T00:00:02Z' })).key,
  })
  const long = await logIn({ key: operatorKey })
  assert.equal((await send('GET', '/session', short)).statusCode, 200)
  await world.advance(2_000)
  assertProblem(await send('GET', '/session', short), 'UNAUTHENTICATED')
  await world.advance(sessionMs - 2_001)
  assert.equal((await send('GET', '/session', long)).statusCode, 200)
  await world.advance(1)
  assertProblem(await send('GET', '/session', long), 'UNAUTHENTICATED')
})

test('a logout ends the session at once and removes the cookie; a second logout is no error', async (t) => {
  const { send, logIn } = await setup(t)
  const session = await logIn({ key: operatorKey })
  for (let i = 0; i < 2; i++) {
    const answer = await send('DELETE', '/session', session)
    assert.equal(answer.statusCode, 204)
    assert.match(String(answer.headers['set-cookie']), /^carillon_session_[0-9a-f]{8}=; Max-Age=0; Path=\//)
    assertProblem(await send('GET', '/session', session), 'UNAUTHENTICATED')
  }
  assert.equal((await send('DELETE', '/session', { host })).statusCode, 204)
})

test('a second log in ends the session of the first', async (t) => {
  const { send, tryLogIn, logIn } = await setup(t)
  const first = await logIn({ key: operatorKey })
  const second = await tryLogIn({ key: operatorKey }, { cookie: first.cookie })
  assertProblem(await send('GET', '/session', first), 'UNAUTHENTICATED')
  assert.equal((await send('GET', '/session', { ...fromPage, cookie: cookieOf(second) })).statusCode, 200)
})

test('the code of a link opens one session for the operator, once', async (t) => {
  const { send, tryLogIn, logIn, makeCode } = await setup(t)
  const code = await makeCode('a code')
  const session = await logIn({ code })
  assert.equal((await send('GET', '/session', session)).json().operator, true)
  const again = await tryLogIn({ code })
  assertProblem(again, 'UNAUTHENTICATED')
  assert.match(again.json().detail, /used already/)
  assert.equal(again.headers['set-cookie'], undefined)
})

test('a key makes a code that opens one session with the rights of that key', async (t) => {
  const { call, tenantId, send, tryLogIn, logIn } = await setup(t)
  const { headers } = await addKey(call, tenantId, { name: 'a person', scopes: ['read'] })
  const made = await call('POST', '/session/code', undefined, headers)
  assert.equal(made.statusCode, 201, made.body)
  assert.equal(made.headers['cache-control'], 'no-store')
  const { code, url } = made.json()
  assert.equal(url, null)
  const session = await logIn({ code })
  const seen = (await send('GET', '/session', session)).json()
  assert.deepEqual([seen.key_name, seen.scopes, seen.operator], ['a person', ['read'], false])
  assertProblem(await tryLogIn({ code }), 'UNAUTHENTICATED')
  // Of the session, for a further browser of the same person.
  const second = await send('POST', '/session/code', session, {})
  assert.equal((await tryLogIn({ code: second.json().code })).statusCode, 200)
  assertProblem(await call('POST', '/session/code', { days: 3 }, headers), 'INVALID_REQUEST', '/days')
  assertProblem(await call('POST', '/session/code', undefined, { authorization: '' }), 'UNAUTHENTICATED')
})

test('a code is good for fifteen minutes', async (t) => {
  const { world, tryLogIn, makeCode } = await setup(t)
  const [one, other] = [await makeCode('one'), await makeCode('other')]
  await world.advance(codeMs - 1)
  assert.equal((await tryLogIn({ code: one })).statusCode, 200)
  await world.advance(1)
  assertProblem(await tryLogIn({ code: other }), 'UNAUTHENTICATED')
})

test('a wrong key, a damaged one and a revoked one open nothing', async (t) => {
  const { call, tenantId, tryLogIn } = await setup(t)
  const { key, keyId } = await addKey(call, tenantId)
  await call('DELETE', `/api-keys/${keyId}`, undefined, { 'x-tenant-id': tenantId })
  for (const wrong of [key, strangeKey(), `${operatorKey}x`, key.slice(0, -1)]) {
    const answer = await tryLogIn({ key: wrong })
    assertProblem(answer, 'UNAUTHENTICATED')
    assert.equal(answer.headers['set-cookie'], undefined)
    assert.doesNotMatch(answer.body, new RegExp(wrong))
  }
})

test('exactly one of key and code is taken', async (t) => {
  const { tryLogIn } = await setup(t)
  for (const body of [{}, { key: 'a', code: 'b' }, { key: '' }, { key: 1 }, { token: 'x' }])
    assertProblem(await tryLogIn(body), 'INVALID_REQUEST')
})

test('from one address ten tries are taken at once and five a second', async (t) => {
  const { world, tryLogIn } = await setup(t)
  for (let i = 0; i < 10; i++) assertProblem(await tryLogIn({ code: 'guess' }), 'UNAUTHENTICATED')
  const refused = await tryLogIn({ code: 'guess' })
  assertProblem(refused, 'RATE_LIMITED')
  assert.equal(refused.headers['retry-after'], '1')
  await world.advance(1_000)
  for (let i = 0; i < 5; i++) assertProblem(await tryLogIn({ code: 'guess' }), 'UNAUTHENTICATED')
  assertProblem(await tryLogIn({ key: operatorKey }), 'RATE_LIMITED')
})

test('a cookie that nobody was given is refused, however long', async (t) => {
  const { send, logIn } = await setup(t)
  const [name] = (await logIn({ key: operatorKey })).cookie.split('=')
  for (const value of ['', 'x', 'a'.repeat(5_000), '%00', '"; Path=/'])
    assertProblem(
      await send('GET', '/session', { ...fromPage, cookie: `${name}=${value}` }),
      'UNAUTHENTICATED',
    )
})

test('two installations on one host do not log each other out', async (t) => {
  const first = await setup(t)
  const tokenKey = async () => new Uint8Array(32).fill(7)
  const second = await setupApp(t, { secrets: { ...first.memory.secrets, tokenKey } as never })
  const { cookie } = await first.logIn({ key: operatorKey })
  const answer = await second.app.inject({
    method: 'POST',
    url: '/api/v1/session',
    // A browser sends the cookies of every port of the host.
    headers: { host, cookie },
    payload: { key: operatorKey },
  })
  assert.equal(answer.statusCode, 200, answer.body)
  const both = { ...fromPage, cookie: `${cookie}; ${cookieOf(answer)}` }
  assert.notEqual(cookieOf(answer).split('=')[0], cookie.split('=')[0])
  assert.equal((await first.send('GET', '/session', both)).statusCode, 200)
  assert.equal((await second.get('/api/v1/session', both)).statusCode, 200)
})
