// Conformance: the signing key of an installation is made once, and a key that was changed is used beside the new one
// for a while.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId as tenantId } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import type { TenantSigningKeys } from '../../../src/ports/secrets.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const hex = (keys: readonly Uint8Array[]) => keys.map((key) => Buffer.from(key).toString('hex'))
const keyOf = (byte: number) => new Uint8Array(32).fill(byte)

async function keysOf(s: StoreScenario, of = tenantId): Promise<TenantSigningKeys> {
  const [keys, ...more] = await s.secrets.signingKeys([of])
  assert.deepEqual([keys?.tenantId, more], [of, []])
  return keys!
}

export function testSecrets(name: string, setup: Setup): void {
  test(`${name}: the key of tokens is 32 bytes and always the same`, async (t) => {
    const s = await setup(t)
    const key = await s.secrets.tokenKey()
    assert.equal(key.length, 32)
    assert.deepEqual(hex([await s.secrets.tokenKey()]), hex([key]))
  })

  test(`${name}: every tenant has one signing key of its own from the start`, async (t) => {
    const s = await setup(t)
    const other = await s.addTenant(1)
    const found = await s.secrets.signingKeys([tenantId, other])
    assert.deepEqual(found.map((one) => one.tenantId).toSorted(), [tenantId, other].toSorted())
    for (const { keys, previousUntil } of found)
      assert.deepEqual([keys.length, keys[0]!.length, previousUntil], [1, 32, null])
    const all = [...found.flatMap(({ keys }) => keys), await s.secrets.tokenKey()]
    assert.equal(new Set(hex(all)).size, 3)
    assert.deepEqual(hex((await keysOf(s)).keys), hex(found.find((one) => one.tenantId === tenantId)!.keys))
    assert.deepEqual(await s.secrets.signingKeys([]), [])
  })

  test(`${name}: after a change both keys are used, the new one first`, async (t) => {
    const s = await setup(t)
    const other = await s.addTenant(1)
    const before = await keysOf(s)
    const untouched = await keysOf(s, other)
    const from = await s.now()
    const previousUntil = epochMs(from + 86_400_000)
    await s.secrets.rotateSigningKey({ tenantId, key: keyOf(7), previousUntil })
    const { keys, createdAt, previousUntil: until } = await keysOf(s)
    assert.deepEqual(hex(keys), hex([keyOf(7), ...before.keys]))
    assert.equal(until, previousUntil)
    assert(createdAt >= from && createdAt <= (await s.now()))
    assert.deepEqual(hex((await keysOf(s, other)).keys), hex(untouched.keys))
  })

  test(`${name}: the key before is used no longer than was said`, async (t) => {
    const s = await setup(t)
    await s.secrets.rotateSigningKey({ tenantId, key: keyOf(7), previousUntil: s.at(0) })
    const { keys, previousUntil } = await keysOf(s)
    assert.deepEqual([hex(keys), previousUntil], [hex([keyOf(7)]), null])
  })

  test(`${name}: of keys that were changed twice the last two are used`, async (t) => {
    const s = await setup(t)
    const previousUntil = epochMs((await s.now()) + 86_400_000)
    for (const byte of [7, 8]) await s.secrets.rotateSigningKey({ tenantId, key: keyOf(byte), previousUntil })
    assert.deepEqual(hex((await keysOf(s)).keys), hex([keyOf(8), keyOf(7)]))
  })
}
