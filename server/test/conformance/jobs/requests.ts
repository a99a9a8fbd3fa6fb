// Conformance of the requests port, for every implementation: one key, one effect, one answer.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { dayMs } from '../../../src/lib/time/units.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Done, Once, Reply, WriteStores } from '../../../src/ports/requests.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit, pause, remove } from './changes.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>
type Work = (stores: WriteStores) => Promise<Done<string>>

const fingerprint = (of: string) => new TextEncoder().encode(of.padEnd(32, '.'))
const nothing = { status: null, tag: null, q: null }

const onceOf = (changes: Partial<Once> = {}): Once => ({
  tenantId: defaultTenantId,
  key: 'order-7',
  fingerprint: fingerprint('POST /jobs'),
  ...changes,
})

const reply: Reply = {
  status: 201,
  headers: { location: '/api/v1/jobs/7', etag: '"1"' },
  body: '{"b":1,"a":"käse \\u0041 \\"x\\"","n":1.50}',
}

/** Creates a job of its own and says which. */
function creates(s: StoreScenario, job: NewJob): { work: Work; jobIds: string[] } {
  const jobIds: string[] = []
  const work: Work = async ({ jobs }) => {
    const jobId = s.ids.next()
    jobIds.push(jobId)
    assert.equal(await jobs.create({ ...job, jobId, key: null }), 'created')
    return { value: jobId, reply }
  }
  return { work, jobIds }
}

const count = async (s: StoreScenario) => (await s.jobs.count(defaultTenantId, nothing)).total

export function testRequests(name: string, setup: Setup): void {
  testOnce(name, setup)
  testConcurrent(name, setup)
  testStores(name, setup)
  testDryRuns(name, setup)
}

function testOnce(name: string, setup: Setup): void {
  test(`${name}: a request without a key has its effect each time`, async (t) => {
    const s = await setup(t)
    const { work, jobIds } = creates(s, await s.createJob())
    for (const n of [0, 1]) {
      const outcome = await s.requests.run({ once: null, dryRun: false }, work)
      assert.deepEqual(outcome, { kind: 'done', value: jobIds[n] })
    }
    assert.equal(await count(s), 3)
  })

  test(`${name}: a request with a key has its effect once, and is answered again with the same answer`, async (t) => {
    const s = await setup(t)
    const { work, jobIds } = creates(s, await s.createJob())
    const run = () => s.requests.run({ once: onceOf(), dryRun: false }, work)
    assert.deepEqual(await run(), { kind: 'done', value: jobIds[0] })
    assert.deepEqual(await run(), { kind: 'repeated', reply })
    assert.deepEqual(await run(), { kind: 'repeated', reply })
    assert.deepEqual([await count(s), jobIds.length], [2, 1])
  })

  test(`${name}: a key with another request is refused and has no effect`, async (t) => {
    const s = await setup(t)
    const { work } = creates(s, await s.createJob())
    await s.requests.run({ once: onceOf(), dryRun: false }, work)
    const other = onceOf({ fingerprint: fingerprint('POST /jobs?x') })
    assert.deepEqual(await s.requests.run({ once: other, dryRun: false }, work), { kind: 'other_request' })
    assert.equal(await count(s), 2)
  })

  test(`${name}: a key of another tenant, and another key, are free`, async (t) => {
    const s = await setup(t)
    const { work } = creates(s, await s.createJob())
    const tenantId = await s.addTenant(1)
    for (const changes of [{}, { tenantId }, { key: 'order-8' }, { key: 'Order-7' }, { key: 'order-7 ' }]) {
      const { kind } = await s.requests.run({ once: onceOf(changes), dryRun: false }, work)
      assert.equal(kind, 'done')
    }
    assert.equal(await count(s), 6)
  })

  test(`${name}: a request that failed may be made again with its key`, async (t) => {
    const s = await setup(t)
    const { work } = creates(s, await s.createJob())
    const fail = async () => {
      throw new Error('not now')
    }
    await assert.rejects(s.requests.run({ once: onceOf(), dryRun: false }, fail), /not now/)
    assert.equal((await s.requests.run({ once: onceOf(), dryRun: false }, work)).kind, 'done')
  })

  test(`${name}: a request that failed has written nothing`, async (t) => {
    const s = await setup(t)
    if (!s.canUndo) return
    const { work } = creates(s, await s.createJob())
    const half: Work = async (stores) => {
      await work(stores)
      throw new Error('halfway')
    }
    await assert.rejects(s.requests.run({ once: onceOf(), dryRun: false }, half), /halfway/)
    assert.equal(await count(s), 1)
  })

  test(`${name}: an answer is kept for a day`, async (t) => {
    const s = await setup(t)
    const { work } = creates(s, await s.createJob())
    const kind = async (changes: Partial<Once> = {}) =>
      (await s.requests.run({ once: onceOf(changes), dryRun: false }, work)).kind
    assert.equal(await kind(), 'done')
    await s.ageRequests(dayMs - 60_000)
    assert.equal(await s.requests.prune(10), 0)
    assert.equal(await kind(), 'repeated')
    await s.ageRequests(61_000)
    // It may still be stored: then it no longer counts, regardless of the request that was made with it.
    assert.equal(await kind({ fingerprint: fingerprint('another') }), 'done')
    assert.equal(await kind({ fingerprint: fingerprint('another') }), 'repeated')
    assert.equal(await count(s), 3)
  })

  test(`${name}: old answers are forgotten, so many at a time`, async (t) => {
    const s = await setup(t)
    const { work } = creates(s, await s.createJob())
    const make = (key: string) => s.requests.run({ once: onceOf({ key }), dryRun: false }, work)
    for (const key of ['a', 'b', 'c']) await make(key)
    await s.ageRequests(dayMs + 1_000)
    await make('d')
    assert.deepEqual([await s.requests.prune(2), await s.requests.prune(2)], [2, 1])
    assert.equal(await s.requests.prune(2), 0)
    assert.equal((await make('d')).kind, 'repeated')
  })
}

function testConcurrent(name: string, setup: Setup): void {
  test(`${name}: while a request is under way, others with its key are told so`, async (t) => {
    const s = await setup(t)
    const { work } = creates(s, await s.createJob())
    const inner: unknown[] = []
    const outer: Work = async (stores) => {
      for (const changes of [{}, { fingerprint: fingerprint('another') }]) {
        inner.push(await s.requests.run({ once: onceOf(changes), dryRun: false }, work))
      }
      const other = await s.requests.run({ once: onceOf({ key: 'other' }), dryRun: false }, work)
      inner.push({ kind: other.kind })
      return work(stores)
    }
    assert.equal((await s.requests.run({ once: onceOf(), dryRun: false }, outer)).kind, 'done')
    assert.deepEqual(inner, [{ kind: 'in_flight' }, { kind: 'in_flight' }, { kind: 'done' }])
    assert.equal(await count(s), 3)
  })

  test(`${name}: of many requests at once with one key one has its effect`, async (t) => {
    const s = await setup(t)
    const { work } = creates(s, await s.createJob())
    const all = await Promise.all(
      Array.from({ length: 6 }, () => s.requests.run({ once: onceOf(), dryRun: false }, work)),
    )
    const kinds = all.map(({ kind }) => kind)
    assert.equal(kinds.filter((kind) => kind === 'done').length, 1)
    assert(kinds.every((kind) => ['done', 'repeated', 'in_flight'].includes(kind)))
    assert.equal(await count(s), 2)
  })
}

function testStores(name: string, setup: Setup): void {
  test(`${name}: everything that a request writes under a key is there when it is over`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const dead = await s.trigger(job)
    const workerId = await s.addWorker()
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    const [triggered, redriven, repeated, cancelled] = [
      s.ids.next(),
      s.ids.next(),
      s.ids.next(),
      s.ids.next(),
    ]
    const order = { tenantId: defaultTenantId, jobId: job.jobId, lane: sharedLane }
    const outcome = await s.requests.run({ once: onceOf(), dryRun: false }, async (stores) => {
      const { jobs, control, deadLetters, operations } = stores
      assert.equal((await jobs.trigger({ ...order, executionId: triggered })).kind, 'triggered')
      assert.equal((await jobs.trigger({ ...order, executionId: cancelled })).kind, 'triggered')
      const target = { tenantId: defaultTenantId, executionId: cancelled, message: 'no' }
      assert.equal((await control.cancel(target)).kind, 'cancelled')
      await deadLetters.edit(defaultTenantId, dead, 'edited')
      const letters = [{ executionId: dead, newExecutionId: redriven, lane: sharedLane }]
      await deadLetters.redrive({ tenantId: defaultTenantId, letters })
      const again = { tenantId: defaultTenantId, executionId: dead, newExecutionId: repeated }
      assert.equal((await control.retry({ ...again, lane: sharedLane })).kind, 'retried')
      await change(stores, job, pause())
      const view = await change(stores, job, edit({ name: 'renamed' }))
      const { length } = (await operations.list({ tenantId: defaultTenantId, before: null, limit: 9 }))
        .operations
      return { value: [view.version, length], reply }
    })
    assert.deepEqual(outcome, { kind: 'done', value: [2, 0] })
    const views = await Promise.all([triggered, redriven, repeated, cancelled].map((id) => s.view(id)))
    assert.deepEqual(
      views.map(({ status, kind }) => `${status} ${kind}`),
      ['PENDING trigger', 'PENDING redrive', 'PENDING retry', 'CANCELLED trigger'],
    )
    assert.equal(views[1]!.payloadOverride, 'edited')
    const { status, name: named } = (await s.jobs.get(defaultTenantId, job.jobId))!
    assert.deepEqual([status, named], ['PAUSED', 'renamed'])
  })

  test(`${name}: a refusal by the stores is an answer like any other, and is repeated`, async (t) => {
    const s = await setup(t)
    const taken = await s.createJob({ key: 'taken' })
    const job = await s.createJob()
    const refusals: Record<string, (stores: WriteStores) => Promise<unknown>> = {
      create: ({ jobs }) => jobs.create({ ...taken, jobId: s.ids.next() }),
      change: ({ jobs }) => jobs.change(job, edit({}, 'taken')),
      missing: ({ jobs }) => jobs.change({ ...job, jobId: s.ids.next() }, pause()),
    }
    for (const [key, refused] of Object.entries(refusals)) {
      const work = async (stores: WriteStores) => ({ value: await refused(stores), reply })
      const run = () => s.requests.run({ once: onceOf({ key }), dryRun: false }, work)
      const value = key === 'missing' ? 'not_found' : 'key_taken'
      assert.deepEqual(await run(), { kind: 'done', value })
      assert.deepEqual(await run(), { kind: 'repeated', reply })
    }
    assert.equal((await s.jobs.get(defaultTenantId, job.jobId))!.version, 1)
  })
}

function testDryRuns(name: string, setup: Setup): void {
  test(`${name}: a dry run reports the effects, and nothing happens`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    if (!s.canUndo) {
      const { work } = creates(s, job)
      await assert.rejects(s.requests.run({ once: null, dryRun: true }, work), /PostgreSQL/)
      assert.equal(await count(s), 1)
      return
    }
    const before = await s.jobs.get(defaultTenantId, job.jobId)
    const { work } = creates(s, job)
    const executionId = s.ids.next()
    const tried: Work = async (stores) => {
      const { value } = await work(stores)
      const order = { tenantId: defaultTenantId, jobId: job.jobId, executionId, lane: sharedLane }
      await stores.jobs.trigger(order)
      await change(stores, job, remove)
      assert.equal((await stores.jobs.get(defaultTenantId, job.jobId))!.status, 'DELETED')
      return { value, reply }
    }
    const outcome = await s.requests.run({ once: null, dryRun: true }, tried)
    assert.equal(outcome.kind, 'done')
    assert.deepEqual(await s.jobs.get(defaultTenantId, job.jobId), before)
    assert.equal(await count(s), 1)
    assert.equal(await s.executions.getExecution(defaultTenantId, executionId), null)
    assert.equal(await s.tryFire(job, 0), 'fired')
  })

  test(`${name}: a dry run with a key leaves the key free`, async (t) => {
    const s = await setup(t)
    if (!s.canUndo) return
    const { work } = creates(s, await s.createJob())
    const kind = async (dryRun: boolean) => (await s.requests.run({ once: onceOf(), dryRun }, work)).kind
    const kinds = [await kind(true), await kind(true), await kind(false), await kind(false)]
    assert.deepEqual(kinds, ['done', 'done', 'done', 'repeated'])
    assert.equal(await count(s), 2)
  })

  test(`${name}: a dry run that fails says why`, async (t) => {
    const s = await setup(t)
    if (!s.canUndo) return
    const fail = async () => {
      throw new Error('not like this')
    }
    await assert.rejects(s.requests.run({ once: null, dryRun: true }, fail), /not like this/)
  })
}
