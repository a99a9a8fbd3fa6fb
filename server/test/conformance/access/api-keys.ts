// Conformance of the API keys port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { apiKeysMax, hashKey } from '../../../src/domain/access/api-key.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import type { ApiKey, NewApiKey } from '../../../src/ports/api-keys.ts'
import { firstTiers, unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import type { StoreScenario } from '../stores.ts'

const tenantId = defaultTenantId

async function add(s: StoreScenario, changes: Partial<NewApiKey> = {}): Promise<ApiKey> {
  const made = await tryAdd(s, changes)
  assert(typeof made === 'object', `${made}`)
  return made
}

async function tryAdd(s: StoreScenario, changes: Partial<NewApiKey> = {}): Promise<ApiKey | 'too_many'> {
  const keyId = s.ids.next()
  return s.apiKeys.create({
    keyId,
    tenantId,
    name: 'deploy',
    prefix: 'crl_01234567',
    hash: hashKey(keyId),
    scopes: ['read', 'operate'],
    createdBy: 'operator',
    expiresAt: null,
    ...changes,
  })
}

export function testApiKeys(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a key is kept as it was made, without its hash`, async (t) => {
    const s = await setup(t)
    const before = await s.now()
    const expiresAt = epochMs(before + 3_600_123)
    const made = await add(s, { expiresAt })
    const { createdAt, keyId, ...rest } = made
    assert.deepEqual(rest, {
      tenantId,
      name: 'deploy',
      prefix: 'crl_01234567',
      scopes: ['read', 'operate'],
      createdBy: 'operator',
      expiresAt,
      revokedAt: null,
      lastUsedAt: null,
    })
    assert(createdAt >= before && createdAt <= (await s.now()))
    assert.deepEqual(await s.apiKeys.get([tenantId], keyId), made)
  })

  test(`${name}: a hash leads to its key and the tier of its tenant`, async (t) => {
    const s = await setup(t)
    const { keyId } = await add(s)
    const found = {
      keyId,
      name: 'deploy',
      scopes: ['read', 'operate'],
      expiresAt: null,
      revokedAt: null,
      tenant: { tenantId, tier: unlimitedTier, isDeleted: false },
    }
    assert.deepEqual(await s.apiKeys.findByHash(hashKey(keyId)), found)
    await s.tenants.change(tenantId, { tier: 'free' })
    const free = firstTiers.find(({ tier }) => tier === 'free')!
    assert.deepEqual((await s.apiKeys.findByHash(hashKey(keyId)))!.tenant, {
      tenantId,
      tier: free,
      isDeleted: false,
    })
    assert.equal(await s.apiKeys.findByHash(hashKey('another')), null)
  })

  test(`${name}: a key without a tenant is an operator's`, async (t) => {
    const s = await setup(t)
    const { keyId } = await add(s, { tenantId: null })
    assert.equal((await s.apiKeys.findByHash(hashKey(keyId)))!.tenant, null)
    assert.equal((await s.apiKeys.get([tenantId, null], keyId))!.tenantId, null)
    assert.equal(await s.apiKeys.get([tenantId], keyId), null)
  })

  test(`${name}: a revoked key is found as such; the first time counts`, async (t) => {
    const s = await setup(t)
    const { keyId } = await add(s)
    assert.equal(await s.apiKeys.revoke([tenantId], keyId), 'revoked')
    const { revokedAt } = (await s.apiKeys.findByHash(hashKey(keyId)))!
    assert(revokedAt !== null && revokedAt <= (await s.now()))
    await s.tick()
    assert.equal(await s.apiKeys.revoke([tenantId], keyId), 'revoked')
    assert.equal((await s.apiKeys.get([tenantId], keyId))!.revokedAt, revokedAt)
  })

  test(`${name}: a key is renamed and its expiry set and removed, and fields that are not named stay`, async (t) => {
    const s = await setup(t)
    const made = await add(s)
    const change = (changes: Parameters<typeof s.apiKeys.change>[2]) =>
      s.apiKeys.change([tenantId], made.keyId, changes)
    assert.deepEqual(await change({ name: 'new' }), { ...made, name: 'new' })
    const expiresAt = epochMs((await s.now()) + 60_001)
    assert.deepEqual(await change({ expiresAt }), { ...made, name: 'new', expiresAt })
    assert.deepEqual(await change({ name: 'newer' }), { ...made, name: 'newer', expiresAt })
    assert.deepEqual(await change({ expiresAt: null }), { ...made, name: 'newer' })
  })

  test(`${name}: nobody reaches the keys of another owner`, async (t) => {
    const s = await setup(t)
    const other = s.ids.next()
    await s.tenants.create({ tenantId: other, name: 'other', tier: 'free' })
    const own = await add(s)
    for (const owners of [[other], [null], [other, null], []]) {
      assert.equal(await s.apiKeys.get(owners, own.keyId), null)
      assert.equal(await s.apiKeys.change(owners, own.keyId, { name: 'mine' }), null)
      assert.equal(await s.apiKeys.revoke(owners, own.keyId), 'not_found')
    }
    assert.deepEqual(await s.apiKeys.get([tenantId], own.keyId), own)
  })

  test(`${name}: the keys of an owner are listed newest first and in pages`, async (t) => {
    const s = await setup(t)
    const keys: ApiKey[] = []
    for (let i = 0; i < 3; i++) keys.unshift(await add(s))
    const operators = await add(s, { tenantId: null })
    const first = await s.apiKeys.list({ tenantId, before: null, limit: 2 })
    assert.deepEqual(first, { keys: keys.slice(0, 2), more: true, total: 3 })
    const second = await s.apiKeys.list({ tenantId, before: keys[1]!.keyId, limit: 2 })
    assert.deepEqual(second, { keys: keys.slice(2), more: false, total: 3 })
    const others = await s.apiKeys.list({ tenantId: null, before: null, limit: 2 })
    assert.deepEqual(others, { keys: [operators], more: false, total: 1 })
  })

  test(`${name}: a use is noted once a minute`, async (t) => {
    const s = await setup(t)
    const { keyId } = await add(s)
    const before = await s.now()
    await s.apiKeys.noteUse(keyId)
    const { lastUsedAt } = (await s.apiKeys.get([tenantId], keyId))!
    assert(lastUsedAt !== null && lastUsedAt >= before)
    await s.tick()
    await s.apiKeys.noteUse(keyId)
    assert.equal((await s.apiKeys.get([tenantId], keyId))!.lastUsedAt, lastUsedAt)
    await s.apiKeys.noteUse(s.ids.next())
  })

  test(`${name}: an owner has a thousand keys at most, however many make the last one at once`, async (t) => {
    const s = await setup(t)
    for (let i = 0; i < apiKeysMax - 1; i++) await add(s)
    // Connections are made first: else the first one is done before the second has one.
    await Promise.all(Array.from({ length: 4 }, () => s.apiKeys.list({ tenantId, before: null, limit: 1 })))
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => tryAdd(s)))
    assert.equal(outcomes.filter((outcome) => outcome === 'too_many').length, 3)
    await add(s, { tenantId: null })
    const [last] = (await s.apiKeys.list({ tenantId, before: null, limit: 1 })).keys
    await s.apiKeys.revoke([tenantId], last!.keyId)
    await add(s)
    assert.equal(await tryAdd(s), 'too_many')
  })

  test(`${name}: of revoked keys the latest thousand are remembered`, async (t) => {
    const s = await setup(t)
    const first = await add(s)
    await s.apiKeys.revoke([tenantId], first.keyId)
    await s.tick()
    for (let i = 0; i < apiKeysMax; i++) {
      assert.equal(await s.apiKeys.revoke([tenantId], (await add(s)).keyId), 'revoked')
    }
    assert.notEqual(await s.apiKeys.get([tenantId], first.keyId), null)
    await add(s)
    assert.equal(await s.apiKeys.get([tenantId], first.keyId), null)
    assert.equal((await s.apiKeys.list({ tenantId, before: null, limit: 1 })).total, apiKeysMax + 1)
  })
}
