// Conformance when jobs are found by key, listed and counted.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { JobFilter } from '../../../src/domain/jobs/operation.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { JobQuery, NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit, pause, remove, resume } from './changes.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const everything: JobFilter = { status: null, tag: null, q: null }
const firstPage: JobQuery = {
  tenantId: defaultTenantId,
  filter: everything,
  before: null,
  offset: 0,
  limit: 50,
  payloads: true,
  bytesMax: 1_000_000,
}

const otherTenantId = '00000000-0000-7000-8000-0000000000ff'
const idsOf = (jobs: readonly { jobId: string }[]) => jobs.map(({ jobId }) => jobId)

export function testJobsList(name: string, setup: Setup): void {
  testKeys(name, setup)
  testFilters(name, setup)
  testPages(name, setup)
  testQuiet(name, setup)
}

function testQuiet(name: string, setup: Setup): void {
  test(`${name}: a job is quiet while it is in no graph and none of its executions is unended`, async (t) => {
    const s = await setup(t)
    const free = await s.createJob()
    const triggered = await s.createJob()
    const executionId = await s.trigger(triggered)
    const fired = await s.createJob()
    await s.fire(fired, 0)
    const parent = await s.createJob()
    const child = await s.createJob({ slotAt: null, dependsOn: [{ jobId: parent.jobId, on: 'success' }] })
    const ended = await s.createJob()
    await s.fire(ended, 1)
    const cancelled = await s.trigger(ended)
    const quiet = async () => {
      const asked = idsOf([free, triggered, fired, parent, child, ended])
      const found = await s.jobs.findQuiet(defaultTenantId, asked)
      return new Set(asked.filter((jobId) => found.includes(jobId)))
    }
    assert.deepEqual(await quiet(), new Set([free.jobId]))
    for (const one of [executionId, cancelled])
      await s.control.cancel({ tenantId: defaultTenantId, executionId: one, message: 'no' })
    await s.runAll()
    assert.deepEqual(await quiet(), new Set(idsOf([free, triggered, fired, ended])))
    await change(s, child, remove)
    assert.deepEqual(await quiet(), new Set(idsOf([free, triggered, fired, parent, child, ended])))
    assert.deepEqual(await s.jobs.findQuiet(otherTenantId, [free.jobId]), [])
    assert.deepEqual(await s.jobs.findQuiet(defaultTenantId, [otherTenantId]), [])
  })
}

function testKeys(name: string, setup: Setup): void {
  test(`${name}: a job is found by its key`, async (t) => {
    const s = await setup(t)
    const { jobId } = await s.createJob({ key: 'billing' })
    await s.createJob({ key: 'billing.2' })
    const found = await s.jobs.getByKey(defaultTenantId, 'billing')
    assert.deepEqual(found, await s.jobs.get(defaultTenantId, jobId))
    assert.equal(await s.jobs.getByKey(defaultTenantId, 'bill'), null)
  })

  test(`${name}: a key belongs to one undeleted job of a tenant`, async (t) => {
    const s = await setup(t)
    const first = await s.createJob({ key: 'billing' })
    const second = { ...first, jobId: s.ids.next(), name: 'second' }
    assert.equal(await s.jobs.create(second), 'key_taken')
    assert.equal(await s.jobs.get(defaultTenantId, second.jobId), null)
    const tenantId = await s.addTenant(1)
    assert.equal(await s.jobs.create({ ...second, jobId: s.ids.next(), tenantId }), 'created')
    assert.equal((await s.jobs.getByKey(defaultTenantId, 'billing'))!.jobId, first.jobId)
  })

  test(`${name}: a job with a key that is taken writes nothing, not even its execution`, async (t) => {
    const s = await setup(t)
    const first = await s.createJob({ key: 'billing' })
    const immediate = { executionId: s.ids.nextBatch(), slot: s.at(1), lane: 'shared' }
    const second: NewJob = { ...first, jobId: s.ids.next(), status: 'COMPLETED', slotAt: null, immediate }
    assert.equal(await s.jobs.create(second), 'key_taken')
    assert.deepEqual((await s.queue.waiting(['server'], 10)).lanes, [])
    assert.equal((await s.jobs.count(defaultTenantId, everything)).total, 1)
  })

  test(`${name}: of two jobs created at once with one key, one is`, async (t) => {
    const s = await setup(t)
    const { immediate, ...job } = await s.createJob()
    const keyed = () => ({ ...job, immediate, jobId: s.ids.next(), key: 'billing' })
    const others = [
      { ...keyed(), key: 'a' },
      { ...keyed(), key: null },
    ]
    const made = await Promise.all([keyed(), ...others, keyed(), keyed()].map((one) => s.jobs.create(one)))
    assert.deepEqual(made.toSorted(), ['created', 'created', 'created', 'key_taken', 'key_taken'])
    assert.equal((await s.jobs.count(defaultTenantId, everything)).total, 4)
  })

  test(`${name}: a key is free again when its job is deleted or has another`, async (t) => {
    const s = await setup(t)
    const first = await s.createJob({ key: 'billing' })
    await change(s, first, remove)
    assert.equal(await s.jobs.getByKey(defaultTenantId, 'billing'), null)
    const second = await s.createJob({ key: 'billing' })
    assert.equal((await s.jobs.getByKey(defaultTenantId, 'billing'))!.jobId, second.jobId)
    await change(s, second, edit({}, 'other'))
    const third = await s.createJob({ key: 'billing' })
    assert.equal((await s.jobs.getByKey(defaultTenantId, 'billing'))!.jobId, third.jobId)
    assert.equal((await s.jobs.getByKey(defaultTenantId, 'other'))!.jobId, second.jobId)
    assert.equal((await s.jobs.get(defaultTenantId, first.jobId))!.key, 'billing')
  })

  test(`${name}: an edit to a key that is taken changes nothing`, async (t) => {
    const s = await setup(t)
    await s.createJob({ key: 'taken' })
    const job = await s.createJob({ key: 'mine' })
    const before = await s.jobs.get(defaultTenantId, job.jobId)
    const target = { tenantId: defaultTenantId, jobId: job.jobId }
    assert.equal(await s.jobs.change(target, edit({ name: 'renamed' }, 'taken')), 'key_taken')
    assert.deepEqual(await s.jobs.get(defaultTenantId, job.jobId), before)
    assert.equal(await s.tryFire(job, 0), 'fired')
    assert.equal((await change(s, job, edit({ name: 'renamed' }, 'mine'))).version, 2)
    assert.equal((await change(s, job, edit({}, null))).key, null)
  })

  test(`${name}: nobody finds the job of another tenant by its key`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const { jobId } = await s.createJob({ tenantId, key: 'billing' })
    assert.equal(await s.jobs.getByKey(defaultTenantId, 'billing'), null)
    assert.equal((await s.jobs.getByKey(tenantId, 'billing'))!.jobId, jobId)
  })
}

function testFilters(name: string, setup: Setup): void {
  test(`${name}: jobs are found by status, tag and text, alone and together`, async (t) => {
    const s = await setup(t)
    const nightly = await s.createJob({ name: 'Nightly Invoices', tags: ['billing', 'eu'], key: 'inv.night' })
    const report = await s.createJob({ name: 'report', tags: ['billing'] })
    const paused = await s.createJob({ name: 'clean 100% up', tags: ['eu'], key: 'cleaner' })
    const done = await s.createJob({ status: 'COMPLETED', slotAt: null, tags: ['Billing_x'] })
    const gone = await s.createJob({ name: 'old invoices', tags: ['billing'] })
    await change(s, paused, pause())
    await change(s, gone, remove)
    const find = async (filter: Partial<JobFilter>) => {
      const whole = { ...everything, ...filter }
      const { jobs, next } = await s.jobs.list({ ...firstPage, filter: whole })
      assert.equal(next, null)
      assert.deepEqual(await s.jobs.count(defaultTenantId, whole), { total: jobs.length, capped: false })
      return idsOf(jobs)
    }
    const ids = (...found: NewJob[]) => idsOf(found)
    assert.deepEqual(await find({}), ids(done, paused, report, nightly))
    assert.deepEqual(await find({ status: 'ACTIVE' }), ids(report, nightly))
    assert.deepEqual(await find({ status: 'PAUSED' }), ids(paused))
    assert.deepEqual(await find({ status: 'COMPLETED' }), ids(done))
    assert.deepEqual(await find({ status: 'DELETED' }), ids(gone))
    assert.deepEqual(await find({ tag: 'billing' }), ids(report, nightly))
    assert.deepEqual(await find({ tag: 'bill' }), [])
    assert.deepEqual(await find({ q: 'invoice' }), ids(nightly))
    assert.deepEqual(await find({ q: 'INVOICE' }), ids(nightly))
    assert.deepEqual(await find({ q: 'inv.n' }), ids(nightly))
    assert.deepEqual(await find({ q: 'billing' }), ids(done, report, nightly))
    assert.deepEqual(await find({ q: '100%' }), ids(paused))
    assert.deepEqual(await find({ q: 'billing_' }), ids(done))
    assert.deepEqual(await find({ q: '%' }), ids(paused))
    assert.deepEqual(await find({ status: 'ACTIVE', tag: 'eu' }), ids(nightly))
    assert.deepEqual(await find({ status: 'PAUSED', tag: 'eu', q: 'clean' }), ids(paused))
    assert.deepEqual(await find({ status: 'DELETED', tag: 'billing', q: 'invoices' }), ids(gone))
    assert.deepEqual(await find({ status: 'PAUSED', tag: 'billing' }), [])
    assert.deepEqual(await find({ q: 'report\nbilling' }), [])
  })

  test(`${name}: a job is found by its present values, not by earlier ones`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ name: 'before', tags: ['old'], key: 'first' })
    await change(s, job, edit({ name: 'after', tags: ['new'] }, 'second'))
    const find = async (filter: Partial<JobFilter>) =>
      (await s.jobs.count(defaultTenantId, { ...everything, ...filter })).total
    for (const was of [{ q: 'before' }, { q: 'first' }, { tag: 'old' }]) assert.equal(await find(was), 0)
    for (const is of [{ q: 'after' }, { q: 'second' }, { tag: 'new' }]) assert.equal(await find(is), 1)
    await change(s, job, pause())
    assert.equal(await find({ status: 'ACTIVE' }), 0)
    await change(s, job, resume())
    assert.equal(await find({ status: 'ACTIVE' }), 1)
  })

  test(`${name}: a listed job is the same as by its id`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ key: 'billing', tags: ['a', 'b'] })
    await s.fire(job, 0)
    await change(s, job, pause('holidays', s.at(9_000)))
    const { jobs } = await s.jobs.list(firstPage)
    assert.deepEqual(jobs, [
      { ...(await s.jobs.get(defaultTenantId, job.jobId)), payload: null, health: null },
    ])
  })

  test(`${name}: nobody lists or counts the jobs of another tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    await s.createJob({ tenantId, tags: ['billing'] })
    for (const status of [null, 'ACTIVE'] as const) {
      const filter = { ...everything, status, tag: 'billing', q: 'report' }
      assert.deepEqual(await s.jobs.list({ ...firstPage, filter }), { jobs: [], next: null })
      assert.deepEqual(await s.jobs.count(defaultTenantId, filter), { total: 0, capped: false })
      assert.equal((await s.jobs.count(tenantId, filter)).total, 1)
    }
  })
}

function testPages(name: string, setup: Setup): void {
  for (const status of [null, 'ACTIVE'] as const) {
    test(`${name}: pages by cursor and by offset cover all ${status ?? ''} jobs once`, async (t) => {
      const s = await setup(t)
      const made: string[] = []
      for (let i = 0; i < 9; i++) made.push((await s.createJob({ tags: i % 3 === 0 ? ['third'] : [] })).jobId)
      await s.createJob({ tenantId: await s.addTenant(1) })
      const expected = made.toReversed()
      for (const tag of [null, 'third']) {
        const filter = { ...everything, status, tag }
        const wanted = tag === null ? expected : [made[6], made[3], made[0]]
        for (const limit of [1, 2, 3, 9, 10]) {
          assert.deepEqual(await walk(s, { filter, limit }), wanted)
          const pages = await Promise.all(
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) =>
              s.jobs.list({ ...firstPage, filter, offset: n * limit, limit }),
            ),
          )
          assert.deepEqual(idsOf(pages.flatMap(({ jobs }) => jobs)), wanted)
        }
      }
    })
  }

  test(`${name}: a page that ends with the last job says so`, async (t) => {
    const s = await setup(t)
    const made = idsOf([await s.createJob(), await s.createJob()])
    const page = async (changes: Partial<JobQuery>) => {
      const { jobs, next } = await s.jobs.list({ ...firstPage, ...changes })
      return [idsOf(jobs), next]
    }
    assert.deepEqual(await page({ limit: 2 }), [made.toReversed(), null])
    assert.deepEqual(await page({ limit: 1 }), [[made[1]], made[1]])
    assert.deepEqual(await page({ limit: 1, before: made[1]! }), [[made[0]], null])
    assert.deepEqual(await page({ before: made[0]! }), [[], null])
    assert.deepEqual(await page({ offset: 2 }), [[], null])
  })
}

/** All jobs, page after page. */
async function walk(s: StoreScenario, changes: Pick<JobQuery, 'filter' | 'limit'>): Promise<string[]> {
  const seen: string[] = []
  let before: string | null = null
  do {
    const { jobs, next } = await s.jobs.list({ ...firstPage, ...changes, before })
    seen.push(...idsOf(jobs))
    before = next
  } while (before !== null)
  return seen
}
