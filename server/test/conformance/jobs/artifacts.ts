// Conformance of the artifacts port, for every implementation.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { artifactsMax } from '../../../src/ports/artifacts.ts'
import type { StoreScenario } from '../stores.ts'

const tenantId = defaultTenantId

async function put(s: StoreScenario, artifactId: string, content: Uint8Array, changes: object = {}) {
  const sha256 = hash('sha256', content)
  const outcome = await s.artifacts.put({ tenantId, artifactId, sha256, content, by: 'tester', ...changes })
  assert(outcome.kind !== 'too_many')
  return { ...outcome, sha256 }
}

export function testArtifacts(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: an artifact is put, replaced, read and removed`, async (t) => {
    const s = await setup(t)
    const before = await s.now()
    const first = Buffer.from([0, 255, 1, 10, 13, 0])
    const made = await put(s, 'a', first)
    assert.equal(made.kind, 'created')
    const { createdAt, ...rest } = made.artifact
    assert.deepEqual(rest, { artifactId: 'a', sha256: made.sha256, bytes: 6, createdBy: 'tester' })
    assert(createdAt >= before)
    assert.deepEqual(await s.artifacts.get(tenantId, 'a'), made.artifact)
    assert.deepEqual(Buffer.from((await s.artifacts.read(tenantId, 'a', made.sha256))!), first)
    await s.tick()
    const second = Buffer.from('other')
    const changed = await put(s, 'a', second, { by: 'editor' })
    assert.deepEqual(
      [changed.kind, changed.artifact.bytes, changed.artifact.createdBy],
      ['replaced', 5, 'editor'],
    )
    assert(changed.artifact.createdAt > createdAt)
    assert.equal(await s.artifacts.read(tenantId, 'a', made.sha256), null, 'there is another one by now')
    assert.deepEqual(Buffer.from((await s.artifacts.read(tenantId, 'a', changed.sha256))!), second)
    assert.equal(await s.artifacts.remove(tenantId, 'a'), true)
    assert.equal(await s.artifacts.remove(tenantId, 'a'), false)
    assert.equal(await s.artifacts.get(tenantId, 'a'), null)
    assert.equal(await s.artifacts.read(tenantId, 'a', changed.sha256), null)
  })

  test(`${name}: an artifact of many pieces comes back whole`, async (t) => {
    const s = await setup(t)
    for (const bytes of [4 * 2 ** 20, 9 * 2 ** 20 + 7]) {
      const content = Buffer.alloc(bytes)
      for (let i = 0; i < bytes; i += 4_096) content.writeUInt32LE(i, Math.min(i, bytes - 4))
      const { sha256 } = await put(s, 'large', content)
      const read = await s.artifacts.read(tenantId, 'large', sha256)
      assert.equal(hash('sha256', read!), sha256)
    }
  })

  test(`${name}: artifacts are listed by id and in pages, each tenant its own`, async (t) => {
    const s = await setup(t)
    const other = await s.addTenant(1)
    const content = Buffer.from('x')
    for (const id of ['b', 'a-b', 'a.b', 'c']) await put(s, id, content)
    await put(s, 'theirs', content, { tenantId: other })
    const idsOf = async (after: string | null, limit: number) => {
      const { artifacts, more, total } = await s.artifacts.list({ tenantId, after, limit })
      return [artifacts.map(({ artifactId }) => artifactId).join(), more, total]
    }
    assert.deepEqual(await idsOf(null, 2), ['a-b,a.b', true, 4])
    assert.deepEqual(await idsOf('a.b', 2), ['b,c', false, 4])
    assert.equal(await s.artifacts.get(tenantId, 'theirs'), null)
    assert.equal(await s.artifacts.read(tenantId, 'theirs', hash('sha256', content)), null)
    assert.equal(await s.artifacts.remove(tenantId, 'theirs'), false)
    assert.notEqual(await s.artifacts.get(other, 'theirs'), null)
  })

  test(`${name}: a tenant has so many and no more, and may replace one even then`, async (t) => {
    const s = await setup(t)
    const content = Buffer.from('x')
    const order = { tenantId, sha256: hash('sha256', content), content, by: 'tester' }
    const puts = Array.from({ length: artifactsMax + 1 }, (_, i) => ({ ...order, artifactId: `a${i}` }))
    const outcomes = await Promise.all(puts.map((one) => s.artifacts.put(one)))
    const kinds = outcomes.map(({ kind }) => kind)
    assert.equal(kinds.filter((kind) => kind === 'created').length, artifactsMax)
    const made = puts[kinds.indexOf('created')]!
    assert.equal((await s.artifacts.put(made)).kind, 'replaced')
    assert.equal((await s.artifacts.put(puts[kinds.indexOf('too_many')]!)).kind, 'too_many')
  })
}
