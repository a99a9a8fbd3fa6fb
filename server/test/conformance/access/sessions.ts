// Conformance of the sessions port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { hashKey } from '../../../src/domain/access/api-key.ts'
import { codesMax, sessionsMax } from '../../../src/domain/access/session.ts'
import type { StoreScenario } from '../stores.ts'

const keyHash = hashKey('the key')
const otherKeyHash = hashKey('another key')

export function testSessions(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a session is found by its hash until it is closed`, async (t) => {
    const { sessions, now } = await setup(t)
    const before = await now()
    await sessions.open({ hash: hashKey('a'), keyHash, forMs: 60_000 })
    await sessions.open({ hash: hashKey('b'), keyHash, forMs: 60_000 })
    const found = await sessions.find(hashKey('a'))
    assert.equal(found!.keyHash.toHex(), keyHash.toHex())
    assert(found!.expiresAt >= before + 60_000 && found!.expiresAt <= (await now()) + 60_000)
    await sessions.close(hashKey('a'))
    await sessions.close(hashKey('a'))
    assert.equal(await sessions.find(hashKey('a')), null)
    assert.notEqual(await sessions.find(hashKey('b')), null)
    assert.equal(await sessions.find(hashKey('c')), null)
  })

  test(`${name}: a session that has expired is not found`, async (t) => {
    const { sessions, tick } = await setup(t)
    await sessions.open({ hash: hashKey('a'), keyHash, forMs: 1 })
    await tick()
    await tick()
    assert.equal(await sessions.find(hashKey('a')), null)
    // The next one takes it away for good, and harms nobody.
    await sessions.open({ hash: hashKey('b'), keyHash, forMs: 60_000 })
    assert.notEqual(await sessions.find(hashKey('b')), null)
  })

  test(`${name}: of more sessions than a key may have, the oldest ends`, async (t) => {
    const { sessions, tick } = await setup(t)
    await sessions.open({ hash: hashKey('other'), keyHash: otherKeyHash, forMs: 60_000 })
    await sessions.open({ hash: hashKey('0'), keyHash, forMs: 60_000 })
    await tick()
    for (let n = 1; n < sessionsMax; n++)
      await sessions.open({ hash: hashKey(String(n)), keyHash, forMs: 60_000 })
    assert.notEqual(await sessions.find(hashKey('0')), null)
    await tick()
    await sessions.open({ hash: hashKey('last'), keyHash, forMs: 60_000 })
    assert.equal(await sessions.find(hashKey('0')), null)
    for (const kept of ['1', 'last', 'other']) assert.notEqual(await sessions.find(hashKey(kept)), null, kept)
  })

  test(`${name}: a code gives its key to one of twenty that use it at once, and then to nobody`, async (t) => {
    const { sessions } = await setup(t)
    await sessions.addCode({ hash: hashKey('code'), keyHash, forMs: 60_000 })
    const uses = await Promise.all(Array.from({ length: 20 }, () => sessions.useCode(hashKey('code'))))
    const given = uses.filter((one) => one !== null)
    assert.deepEqual(
      given.map((one) => one.toHex()),
      [keyHash.toHex()],
    )
    assert.equal(await sessions.useCode(hashKey('code')), null)
    assert.equal(await sessions.useCode(hashKey('never made')), null)
  })

  test(`${name}: of more codes than a key may have, the oldest is void`, async (t) => {
    const { sessions, tick } = await setup(t)
    await sessions.addCode({ hash: hashKey('other'), keyHash: otherKeyHash, forMs: 60_000 })
    await sessions.addCode({ hash: hashKey('0'), keyHash, forMs: 60_000 })
    await tick()
    for (let n = 1; n <= codesMax; n++)
      await sessions.addCode({ hash: hashKey(String(n)), keyHash, forMs: 60_000 })
    assert.equal(await sessions.useCode(hashKey('0')), null)
    for (const kept of ['1', String(codesMax), 'other'])
      assert.notEqual(await sessions.useCode(hashKey(kept)), null, kept)
  })

  test(`${name}: a code that has expired gives nothing`, async (t) => {
    const { sessions, tick } = await setup(t)
    await sessions.addCode({ hash: hashKey('code'), keyHash, forMs: 1 })
    await tick()
    await tick()
    await sessions.addCode({ hash: hashKey('next'), keyHash, forMs: 60_000 })
    assert.equal(await sessions.useCode(hashKey('code')), null)
    assert.notEqual(await sessions.useCode(hashKey('next')), null)
  })
}
