import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import * as contract from '@carillon/contract/api-key.ts'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { apiKeysMax, hashKey, SCOPES } from '../../domain/access/api-key.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call } = parts
  const tenantId = await addTenant(call, 'sales')
  const admin = await addKey(call, tenantId, { name: 'admin' })
  /** As the tenant. */
  const own: typeof call = (method, path, body, more) =>
    call(method, path, body, { ...admin.headers, ...more })
  return { ...parts, tenantId, admin, own }
}

const namesOf = (list: { api_keys: { name: string }[] }) => list.api_keys.map(({ name }) => name)

test('a key is shown once, and its hash never', async (t) => {
  const { own, tenantId, world } = await setup(t)
  const request = { name: 'deploy', scopes: ['write', 'read'], expires_at: '2026-02-01T01:00:00+01:00' }
  const made = await own('POST', '/api-keys', request)
  assert.equal(made.statusCode, 201, made.body)
  const { key, ...rest } = made.json()
  assert.match(key, /^crl_[0-9a-z]{38}$/)
  const expected = {
    key_id: rest.key_id,
    tenant_id: tenantId,
    name: 'deploy',
    prefix: key.slice(0, 12),
    scopes: ['write', 'read'],
    created_at: '2026-01-01T00:00:00Z',
    created_by: 'admin',
    expires_at: '2026-02-01T00:00:00Z',
    revoked_at: null,
    last_used_at: null,
  }
  assert.deepEqual(rest, expected)
  const path = `/api-keys/${rest.key_id}`
  assert.equal(made.headers['location'], `/api/v1${path}`)
  assert.equal(made.headers['cache-control'], 'no-store')
  await world.advance(1_000)
  const later = [
    await own('GET', path),
    await own('GET', '/api-keys'),
    await own('PATCH', path, { name: 'deploy' }),
    await own('DELETE', path),
    await own('GET', path),
    await own('GET', `/api-keys/${key}`),
  ]
  assert.deepEqual(later[0]!.json(), expected)
  const hash = hashKey(key)
  for (const { body } of [made, ...later]) {
    for (const secret of [hash.toHex(), hash.toString('base64')]) assert(!body.includes(secret))
  }
  for (const { body } of later) assert(!body.includes(key))
})

test('a repeated request makes no second key and does not show the first one again', async (t) => {
  const { own, memory } = await setup(t)
  const made = t.mock.method(memory.requests, 'run').mock
  const request = { name: 'deploy', scopes: ['read'] }
  const post = () => own('POST', '/api-keys', request, { 'idempotency-key': 'once' })
  const { key, ...rest } = (await post()).json()
  const again = await post()
  assert.deepEqual([again.statusCode, again.headers['idempotency-replayed']], [201, 'true'])
  assert.deepEqual(again.json(), rest)
  const kept = JSON.stringify(await Promise.all(made.calls.map(({ result }) => result)))
  assert(!kept.includes(key))
  assert.deepEqual(namesOf((await own('GET', '/api-keys')).json()), ['deploy', 'admin'])
})

test('a key can be renamed, and its end set, moved and taken away', async (t) => {
  const { own, tenantId, call } = await setup(t)
  const { keyId } = await addKey(call, tenantId, { name: 'old' })
  const change = async (body: object) => (await own('PATCH', `/api-keys/${keyId}`, body)).json()
  assert.equal((await change({ name: 'new' })).name, 'new')
  const ending = await change({ expires_at: '2026-01-02T00:00:00.500Z' })
  assert.deepEqual([ending.name, ending.expires_at], ['new', '2026-01-02T00:00:00.500Z'])
  const endless = await change({ expires_at: null, name: 'endless' })
  assert.deepEqual([endless.name, endless.expires_at], ['endless', null])
})

test('a key is replaced without a gap: both work until the first expires', async (t) => {
  const { own, world, tenantId, call } = await setup(t)
  const first = await addKey(call, tenantId, { scopes: ['read'] })
  const second = await addKey(call, tenantId, { scopes: ['read'] })
  await own('PATCH', `/api-keys/${first.keyId}`, { expires_at: '2026-01-01T01:00:00Z' })
  const statuses = async () => {
    const answers = [first, second].map(({ headers }) =>
      call('GET', `/tenants/${tenantId}`, undefined, headers),
    )
    return (await Promise.all(answers)).map(({ statusCode }) => statusCode)
  }
  assert.deepEqual(await statuses(), [200, 200])
  await world.advance(3_600_000)
  assert.deepEqual(await statuses(), [401, 200])
})

test('revoking twice is as good as once, and the list tells', async (t) => {
  const { own, world, tenantId, call } = await setup(t)
  const { keyId } = await addKey(call, tenantId)
  for (let i = 0; i < 2; i++) {
    const answer = await own('DELETE', `/api-keys/${keyId.toUpperCase()}`)
    assert.deepEqual([answer.statusCode, answer.body], [204, ''])
    await world.advance(1_000)
  }
  assert.equal((await own('GET', `/api-keys/${keyId}`)).json().revoked_at, '2026-01-01T00:00:00Z')
})

test('keys are listed newest first and in pages, and show when they were used', async (t) => {
  const { own, world, tenantId, call } = await setup(t)
  for (const name of ['a', 'b', 'c']) await addKey(call, tenantId, { name })
  const page = (await own('GET', '/api-keys?limit=3')).json()
  assert.deepEqual(namesOf(page), ['c', 'b', 'a'])
  assert.equal(page.pagination.total, 4)
  await world.advance(1_000)
  const rest = (await own('GET', `/api-keys?limit=3&cursor=${page.pagination.next_cursor}`)).json()
  assert.deepEqual(namesOf(rest), ['admin'])
  assert.deepEqual(
    [rest.api_keys[0].last_used_at, rest.pagination.next_cursor],
    ['2026-01-01T00:00:00Z', null],
  )
  await world.advance(60_000)
  await own('GET', '/api-keys')
  const used = (await own('GET', '/api-keys')).json().api_keys.at(-1)
  assert.equal(used.last_used_at, '2026-01-01T00:01:01Z')
})

test('the keys of another tenant are not there', async (t) => {
  const { own, call } = await setup(t)
  const other = await addTenant(call, 'support')
  const foreign = await addKey(call, other)
  const operators = await addKey(call, other, { operator: true })
  for (const { keyId, headers } of [foreign, operators]) {
    assertProblem(await own('GET', `/api-keys/${keyId}`), 'API_KEY_NOT_FOUND')
    assertProblem(await own('PATCH', `/api-keys/${keyId}`, { name: 'mine' }), 'API_KEY_NOT_FOUND')
    assertProblem(await own('DELETE', `/api-keys/${keyId}`), 'API_KEY_NOT_FOUND')
    assert.equal((await call('GET', `/tenants/${other}`, undefined, headers)).statusCode, 200)
  }
  assert.deepEqual(namesOf((await own('GET', '/api-keys')).json()), ['admin'])
})

test('operators make, see and revoke keys of operators; tenants do not', async (t) => {
  const { own, tenantId, call } = await setup(t)
  const request = { name: 'night shift', scopes: ['admin'], operator: true }
  assertProblem(await own('POST', '/api-keys', request), 'OPERATOR_ONLY')
  assertProblem(await own('GET', '/api-keys?operator=true'), 'OPERATOR_ONLY')
  assert.equal((await own('POST', '/api-keys', { ...request, operator: false })).json().tenant_id, tenantId)
  const made = (await call('POST', '/api-keys', request)).json()
  assert.deepEqual([made.tenant_id, made.created_by], [null, 'operator'])
  assert.deepEqual(namesOf((await call('GET', '/api-keys?operator=true')).json()), ['night shift'])
  assert.deepEqual(namesOf((await call('GET', '/api-keys')).json()), [])
  assert.equal((await call('DELETE', `/api-keys/${made.key_id}`)).statusCode, 204)
  const answer = await call('GET', '/workers', undefined, { authorization: `Bearer ${made.key}` })
  assertProblem(answer, 'UNAUTHENTICATED')
})

test('a tenant has at most a thousand keys that are not revoked', async (t) => {
  const { own, memory, tenantId, world, call } = await setup(t)
  const rest = { name: 'a', prefix: 'crl_', scopes: ['read'], createdBy: 'a', expiresAt: null } as const
  for (let i = 2; i < apiKeysMax; i++) {
    await memory.apiKeys.create({ ...rest, keyId: world.ids.next(), tenantId, hash: hashKey(String(i)) })
  }
  const { keyId } = await addKey(call, tenantId)
  const request = { name: 'one more', scopes: ['read'] }
  assertProblem(await own('POST', '/api-keys', request), 'TOO_MANY_API_KEYS')
  await own('DELETE', `/api-keys/${keyId}`)
  assert.equal((await own('POST', '/api-keys', request)).statusCode, 201)
})

test('each wrong request is refused at its place', async (t) => {
  const { own, admin } = await setup(t)
  const post = (body: object) => own('POST', '/api-keys', { name: 'a', scopes: ['read'], ...body })
  assertProblem(await own('POST', '/api-keys', { scopes: ['read'] }), 'INVALID_REQUEST', '/name')
  assertProblem(await post({ name: '' }), 'INVALID_REQUEST', '/name')
  assertProblem(await post({ name: 'x'.repeat(129) }), 'INVALID_REQUEST', '/name')
  assertProblem(await own('POST', '/api-keys', { name: 'a' }), 'INVALID_REQUEST', '/scopes')
  for (const scopes of [[], ['read', 'read'], 'read']) {
    assertProblem(await post({ scopes }), 'INVALID_REQUEST', '/scopes')
  }
  assertProblem(await post({ scopes: ['read', 'root'] }), 'INVALID_REQUEST', '/scopes/1')
  assertProblem(await post({ key: 'crl_mine' }), 'INVALID_REQUEST', '/key')
  assertProblem(await post({ tenant_id: nobody }), 'INVALID_REQUEST', '/tenant_id')
  const path = `/api-keys/${admin.keyId}`
  for (const time of [
    'soon',
    '2026-02-01',
    '2026-02-01T00:00:00',
    '2026-01-01T00:00:00Z',
    '9999-01-01T00:00:00Z',
  ]) {
    assertProblem(await post({ expires_at: time }), 'INVALID_REQUEST', '/expires_at')
    assertProblem(await own('PATCH', path, { expires_at: time }), 'INVALID_REQUEST', '/expires_at')
  }
  assertProblem(await post({ expires_at: null }), 'INVALID_REQUEST', '/expires_at')
  assertProblem(await own('PATCH', path, {}), 'INVALID_REQUEST', '')
  assertProblem(await own('PATCH', path, { scopes: ['admin'] }), 'INVALID_REQUEST', '/scopes')
  assertProblem(await own('PATCH', path, { revoked_at: null }), 'INVALID_REQUEST', '/revoked_at')
  for (const id of [nobody, 'nope', '%00']) {
    assertProblem(await own('GET', `/api-keys/${id}`), 'API_KEY_NOT_FOUND')
    assertProblem(await own('PATCH', `/api-keys/${id}`, { name: 'a' }), 'API_KEY_NOT_FOUND')
    assertProblem(await own('DELETE', `/api-keys/${id}`), 'API_KEY_NOT_FOUND')
  }
  assertProblem(await own('GET', '/api-keys?operator=yes'), 'INVALID_REQUEST', 'operator')
  assertProblem(await own('GET', '/api-keys?cursor=x'), 'INVALID_CURSOR', 'cursor')
})

test('the contract and the domain name the same scopes', () => {
  assert.deepEqual([...contract.SCOPES], [...SCOPES])
})
