import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { addKey, addTenant, bearer, strangeKey } from '../../../test/access.ts'
import { type Answer, assertProblem, operatorKey, setupApp } from '../../../test/app.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { type Caller, requireKey } from './auth.ts'
import { KeyCache, keyCacheMax } from './key-cache.ts'
import { SessionCache } from './session-cache.ts'
import { cookieNameOf } from './session-cookie.ts'
import { WrongKeys } from './wrong-keys.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call, memory, world } = parts
  const tenantId = await addTenant(call, 'sales')
  const asked = t.mock.method(memory.apiKeys, 'findByHash').mock
  const ask = (headers: Record<string, string>, path = `/tenants/${tenantId}`) =>
    call('GET', path, undefined, headers)
  const authenticate = requireKey({
    clock: world.clock,
    keyCache: new KeyCache({ clock: world.clock, ...memory }),
    sessionCache: new SessionCache({ clock: world.clock, random: world.random, ...memory }),
    wrongKeys: new WrongKeys(world.clock),
    cookieName: cookieNameOf(memory.secrets),
    operatorKey,
    publicUrl: null,
  })
  /** The caller as the API identifies it. */
  const askAs = async (headers: Record<string, string>): Promise<Caller> => {
    const request = { headers } as unknown as FastifyRequest
    await authenticate(request)
    assert.equal(request.tenantId, request.caller.tenantId)
    return request.caller
  }
  return { ...parts, tenantId, asked, ask, askAs }
}

function assertRefused(answer: Answer, why: RegExp): void {
  assertProblem(answer, 'UNAUTHENTICATED')
  assert.match(JSON.parse(answer.body).detail, why)
}

test('a key identifies its caller by the tenant, name and scopes it was created with', async (t) => {
  const { call, tenantId, askAs } = await setup(t)
  const { headers } = await addKey(call, tenantId, { name: 'deploy', scopes: ['write', 'read'] })
  const caller = await askAs(headers)
  assert.deepEqual([caller.tenantId, caller.operator, caller.name], [tenantId, false, 'deploy'])
  assert.deepEqual([...caller.scopes], ['write', 'read'])
  assert.equal(caller.tier.tier, 'unlimited')
})

test('a key with a wrong checksum, or of another form, never reaches the store', async (t) => {
  const { call, tenantId, asked, ask } = await setup(t)
  const { key } = await addKey(call, tenantId)
  const damaged = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  assertRefused(await ask(bearer(damaged)), /complete API key/)
  assertRefused(await ask(bearer(key.slice(0, -1))), /complete API key/)
  assertRefused(await ask(bearer(`crl_${'z'.repeat(10_000)}`)), /complete API key/)
  assertRefused(await ask(bearer('hello')), /not known/)
  assert.equal(asked.callCount(), 0)
})

test('a key that nobody made is refused, and asking again soon does not ask the store again', async (t) => {
  const { asked, ask } = await setup(t)
  for (let i = 0; i < 3; i++) assertRefused(await ask(bearer(strangeKey())), /not known/)
  assert.equal(asked.callCount(), 1)
})

test('a key works until it expires, also while it is remembered', async (t) => {
  const { call, world, tenantId, ask } = await setup(t)
  const { headers } = await addKey(call, tenantId, { expires_at: '2026-01-01T00:00:02Z' })
  await world.advance(1_999)
  assert.equal((await ask(headers)).statusCode, 200)
  await world.advance(1)
  assertRefused(await ask(headers), /expired at 2026-01-01T00:00:02Z/)
})

test('a key revoked here stops at once, one revoked elsewhere within 5 s', async (t) => {
  const { call, memory, world, tenantId, ask } = await setup(t)
  const here = await addKey(call, tenantId)
  const elsewhere = await addKey(call, tenantId)
  assert.equal((await ask(here.headers)).statusCode, 200)
  assert.equal((await ask(elsewhere.headers)).statusCode, 200)
  await call('DELETE', `/api-keys/${here.keyId}`, undefined, { 'x-tenant-id': tenantId })
  await memory.apiKeys.revoke([tenantId], elsewhere.keyId)
  assertRefused(await ask(here.headers), /revoked at 2026-01-01T00:00:00Z/)
  await world.advance(4_999)
  assert.equal((await ask(elsewhere.headers)).statusCode, 200)
  await world.advance(1)
  assertRefused(await ask(elsewhere.headers), /revoked/)
})

test('an expiry that is set here counts at once', async (t) => {
  const { call, world, tenantId, ask } = await setup(t)
  const { keyId, headers } = await addKey(call, tenantId)
  assert.equal((await ask(headers)).statusCode, 200)
  const change = { expires_at: '2026-01-01T00:00:01Z' }
  await call('PATCH', `/api-keys/${keyId}`, change, { 'x-tenant-id': tenantId })
  await world.advance(1_000)
  assertRefused(await ask(headers), /expired/)
})

test('a thousand requests with one key ask the store once, also when they come at once', async (t) => {
  const { call, tenantId, asked, ask } = await setup(t)
  const { headers } = await addKey(call, tenantId)
  await Promise.all(Array.from({ length: 500 }, () => ask(headers)))
  await Promise.all(Array.from({ length: 500 }, () => ask(headers)))
  assert.equal(asked.callCount(), 1)
})

test('of ten thousand remembered keys the oldest makes room', async (t) => {
  const { call, tenantId, asked, askAs } = await setup(t)
  const first = await addKey(call, tenantId)
  const second = await addKey(call, tenantId)
  for (const { headers } of [first, second]) await askAs(headers)
  const rest = { name: 'any', scopes: [], expiresAt: null, revokedAt: null, tenant: null }
  asked.mockImplementation(async () => ({ keyId: nobody, ...rest }))
  for (let i = 0; i < keyCacheMax - 1; i++) await askAs(bearer(strangeKey(i + 100)))
  const before = asked.callCount()
  await askAs(second.headers)
  assert.equal(asked.callCount(), before)
  await askAs(first.headers)
  assert.equal(asked.callCount(), before + 1)
})

test('a tenant may name itself, and no other', async (t) => {
  const { call, tenantId, ask } = await setup(t)
  const { headers } = await addKey(call, tenantId)
  const naming = (id: string) => ask({ ...headers, 'x-tenant-id': id })
  assert.equal((await naming(tenantId)).statusCode, 200)
  assert.equal((await naming(tenantId.toUpperCase())).statusCode, 200)
  for (const other of [defaultTenantId, nobody, 'nonsense', '', `${tenantId}, ${tenantId}`]) {
    assertProblem(await naming(other), 'TENANT_MISMATCH')
  }
})

test('an operator acts for the tenant it names, or else for the default one', async (t) => {
  const { call, tenantId, ask, askAs } = await setup(t)
  const made = await addKey(call, tenantId, { name: 'night shift', scopes: ['read'], operator: true })
  for (const [headers, name] of [
    [bearer(operatorKey), 'operator'],
    [made.headers, 'night shift'],
  ] as const) {
    const plain = await askAs(headers)
    assert.deepEqual([plain.tenantId, plain.operator, plain.name], [defaultTenantId, true, name])
    const acting = await askAs({ ...headers, 'x-tenant-id': tenantId.toUpperCase() })
    assert.deepEqual([acting.tenantId, acting.operator], [tenantId, true])
    for (const unknown of [nobody, 'nonsense', '', `${tenantId},${tenantId}`]) {
      assertProblem(await ask({ ...headers, 'x-tenant-id': unknown }), 'TENANT_NOT_FOUND')
    }
  }
})

test('a job that an operator creates for a tenant belongs to the tenant', async (t) => {
  const { call, tenantId } = await setup(t)
  const { headers } = await addKey(call, tenantId)
  const other = await addKey(call, defaultTenantId)
  const job = { name: 'a', schedule: '@daily', execution: { callback_url: 'http://127.0.0.1:7420/echo' } }
  const made = await call('POST', '/jobs', job, { 'x-tenant-id': tenantId })
  assert.equal(made.statusCode, 201, made.body)
  const path = `/jobs/${made.json().job_id}`
  assert.equal((await call('GET', path, undefined, headers)).statusCode, 200)
  assertProblem(await call('GET', path, undefined, other.headers), 'JOB_NOT_FOUND')
  assertProblem(await call('GET', path), 'JOB_NOT_FOUND')
})

test('the last use of a key is noted once a minute, and no request waits for it or fails with it', async (t) => {
  const { call, memory, world, tenantId, ask } = await setup(t)
  const { headers } = await addKey(call, tenantId)
  const never = new Promise<void>(() => {})
  const noted = t.mock.method(memory.apiKeys, 'noteUse', () => never).mock
  for (let i = 0; i < 3; i++) assert.equal((await ask(headers)).statusCode, 200)
  assert.equal(noted.callCount(), 1)
  await world.advance(59_999)
  await ask(headers)
  assert.equal(noted.callCount(), 1)
  noted.mockImplementation(() => Promise.reject(new Error('the database is away')))
  await world.advance(1)
  assert.equal((await ask(headers)).statusCode, 200)
  assert.equal(noted.callCount(), 2)
})

test('a refused key is refused before its body is read', async (t) => {
  const { call, tenantId } = await setup(t)
  const { headers } = await addKey(call, tenantId, { scopes: ['read'] })
  assertProblem(await call('POST', '/jobs', '{"no json', headers), 'SCOPE_MISSING')
  assertProblem(await call('POST', '/jobs', '{"no json', bearer('hello')), 'UNAUTHENTICATED')
})

test('wrong keys from one address are limited, and no further one reaches the store', async (t) => {
  const { call, tenantId, asked, ask, world } = await setup(t)
  const used = await addKey(call, tenantId)
  assert.equal((await ask(used.headers)).statusCode, 200)
  const before = asked.callCount()
  for (let i = 0; i < 40; i++) assertRefused(await ask(bearer(strangeKey(i + 100))), /not known/)
  const refused = await ask(bearer(strangeKey(999)))
  assertProblem(refused, 'RATE_LIMITED')
  assert.equal(refused.headers['retry-after'], '1')
  assert.match(refused.json().detail, /^From one address, 20 wrong API keys are taken a second/)
  assertProblem(await ask(bearer('no key at all')), 'UNAUTHENTICATED')
  assertProblem(await ask(bearer('nonsense')), 'RATE_LIMITED')
  assert.equal(asked.callCount(), before + 40)
  // Keys that were right go on working from the same address.
  for (const headers of [used.headers, bearer(operatorKey)])
    for (let i = 0; i < 50; i++) assert.equal((await ask(headers)).statusCode, 200)
  await world.advance(1_000)
  for (let i = 0; i < 20; i++) assertRefused(await ask(bearer(strangeKey(i + 200))), /not known/)
  assertProblem(await ask(bearer(strangeKey(300))), 'RATE_LIMITED')
})

test('guesses sent at once are limited as well, and so are cookies', async (t) => {
  const { asked, ask, get, memory } = await setup(t)
  const guesses = Array.from({ length: 100 }, (_, i) => ask(bearer(strangeKey(i + 100))))
  const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode)
  assert.deepEqual([statuses.filter((one) => one === 401).length, asked.callCount()], [40, 40])
  const headers = {
    'x-carillon-client': 'dashboard',
    cookie: `${await cookieNameOf(memory.secrets)()}=guess`,
  }
  assertProblem(await get('/api/v1/session', headers), 'RATE_LIMITED')
})

test('behind a trusted proxy, wrong keys are counted by the address of the client', async (t) => {
  const { app } = await setupApp(t, { trustedProxies: ['127.0.0.1/32'] })
  const guess = async (client: string, remoteAddress: string) => {
    const headers = { ...bearer('nonsense'), 'x-forwarded-for': client }
    const { statusCode } = await app.inject({ url: '/api/v1/jobs', headers, remoteAddress })
    return statusCode
  }
  const guesses = (client: string, remoteAddress: string) =>
    Promise.all(Array.from({ length: 41 }, () => guess(client, remoteAddress)))
  assert.equal((await guesses('198.51.100.1', '127.0.0.1')).at(-1), 429)
  assert.equal(await guess('198.51.100.2', '127.0.0.1'), 401)
  // The client itself may write anything in front of the address that the proxy appended.
  assert.equal(await guess('203.0.113.9, 198.51.100.1', '127.0.0.1'), 429)
  // No proxy of ours: the header is the client's own invention.
  assert.equal((await guesses('198.51.100.3', '192.0.2.7')).at(-1), 429)
  assert.equal(await guess('198.51.100.4', '192.0.2.7'), 429)
})

test('all addresses of an IPv6 network share a bucket, and IPv4 addresses share none', async (t) => {
  const { app } = await setupApp(t)
  const guess = async (remoteAddress: string) => {
    const { statusCode } = await app.inject({
      url: '/api/v1/jobs',
      headers: bearer('nonsense'),
      remoteAddress,
    })
    return statusCode
  }
  const statuses: number[] = []
  for (let n = 1; n <= 60; n++) statuses.push(await guess(`2001:db8:7::${n.toString(16)}`))
  assert.equal(statuses.filter((status) => status === 401).length, 40)
  assert.equal(await guess('2001:db8:7:1::1'), 401)
  for (let n = 1; n <= 60; n++) assert.equal(await guess(`::ffff:198.51.100.${n}`), 401)
})

test('a client that begins with many requests at once is let in with all of them', async (t) => {
  const { call, tenantId, ask } = await setup(t)
  const { headers } = await addKey(call, tenantId)
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask(headers)))
  assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))], [200])
})

test('a right key takes nothing of the bucket of its address', async (t) => {
  const { call, tenantId, ask } = await setup(t)
  for (let i = 0; i < 60; i++) {
    const { headers } = await addKey(call, tenantId)
    assert.equal((await ask(headers)).statusCode, 200)
  }
})
