// Conformance of the job versions port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { StoreScenario } from '../stores.ts'
import { change, edit, pause } from './changes.ts'

export function testJobVersions(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: every version is kept as it was, with its author and time`, async (t) => {
    const s = await setup(t)
    const made = await s.createJob({ name: 'first' })
    const { tenantId, jobId, createdAt } = made
    const before = await s.now()
    await change(s, made, edit({ name: 'second' }))
    // Of the job and not of a version of it.
    await change(s, made, pause())
    await change(s, made, edit({ name: 'third', tags: ['a'] }))
    const page = await s.jobVersions.list({ tenantId, jobId, before: null, limit: 10 })
    assert.deepEqual(
      page!.versions.map(({ job, createdBy }) => [job.version, job.name, job.tags, createdBy]),
      [
        [3, 'third', ['a'], 'editor'],
        [2, 'second', [], 'editor'],
        [1, 'first', [], 'tester'],
      ],
    )
    const [third, , first] = page!.versions
    assert.equal(first!.createdAt, createdAt)
    assert(third!.createdAt! >= before && third!.createdAt! <= (await s.now()))
    assert.deepEqual([page!.more, page!.total], [false, 3])
  })

  test(`${name}: versions come in pages, the latest first`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const { tenantId, jobId } = job
    for (const one of ['b', 'c', 'd']) await change(s, job, edit({ name: one }))
    const page = (before: number | null) => s.jobVersions.list({ tenantId, jobId, before, limit: 2 })
    const numbersOf = (one: Awaited<ReturnType<typeof page>>) => one!.versions.map((each) => each.job.version)
    const first = await page(null)
    assert.deepEqual([numbersOf(first), first!.more, first!.total], [[4, 3], true, 4])
    const second = await page(3)
    assert.deepEqual([numbersOf(second), second!.more], [[2, 1], false])
  })

  test(`${name}: a job that is not there, or another tenant's, has none`, async (t) => {
    const s = await setup(t)
    const { tenantId, jobId } = await s.createJob()
    const list = (of: string, id: string) =>
      s.jobVersions.list({ tenantId: of, jobId: id, before: null, limit: 10 })
    assert.equal(await list(tenantId, s.ids.next()), null)
    assert.equal(await list(await s.addTenant(1), jobId), null)
  })
}
