// Conformance of jobs that depend on others: the graphs they form, the schedulers that are notified, and the changes
// that are refused.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { graphNodesMax, isGraphRefusal } from '../../../src/domain/graphs/graph.ts'
import type { JobView } from '../../../src/domain/jobs/job.ts'
import { defaultTenantId as tenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { WriteStores } from '../../../src/ports/requests.ts'
import { change, edit, pause, remove } from '../jobs/changes.ts'
import {
  after,
  depend,
  draft,
  graphsOf,
  loadAll,
  makeGraph,
  takeNoted,
  tryDelete,
  tryDepend,
  viewOf,
} from '../jobs/dependencies.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testJobsGraph(name: string, setup: Setup): void {
  testGraphs(name, setup)
  testRefusals(name, setup)
  testRequests(name, setup)
}

function testGraphs(name: string, setup: Setup): void {
  test(`${name}: a job keeps its dependencies, in order and with their rules`, async (t) => {
    const s = await setup(t)
    const { a, b } = await makeGraph(s, 'a b')
    const dependsOn = [...after([b!], 'failure'), ...after([a!], 'completion')]
    const job = await s.createJob({ dependsOn, slotAt: null })
    assert.deepEqual((await viewOf(s, job)).dependsOn, dependsOn)
    const turned = dependsOn.toReversed()
    const view = await s.jobs.change({ ...job, dependsOn: turned }, edit({ dependsOn: turned }))
    assert.deepEqual(await viewOf(s, job), view)
    assert.deepEqual([(view as JobView).dependsOn, (view as JobView).version], [turned, 2])
    assert.deepEqual((await viewOf(s, a!)).version, 1)
  })

  test(`${name}: jobs that depend on each other are one graph, others are in none`, async (t) => {
    const s = await setup(t)
    const jobs = await makeGraph(s, 'a b>a x c>a d>b,c')
    assert.deepEqual(await graphsOf(s, jobs), { a: 'a', b: 'a', c: 'a', d: 'a' })
  })

  test(`${name}: a new job joins the graphs of all that it depends on`, async (t) => {
    const s = await setup(t)
    const jobs = await makeGraph(s, 'a b>a c d>c x e>b,d')
    assert.deepEqual(await graphsOf(s, jobs), { a: 'a', b: 'a', c: 'a', d: 'a', e: 'a' })
  })

  test(`${name}: an edit joins graphs, and takes them apart again`, async (t) => {
    const s = await setup(t)
    const jobs = await makeGraph(s, 'a b>a c d>c e>d')
    await depend(s, jobs['d']!, [jobs['c']!, jobs['b']!])
    assert.deepEqual(await graphsOf(s, jobs), { a: 'a', b: 'a', c: 'a', d: 'a', e: 'a' })
    await depend(s, jobs['d']!, [jobs['b']!])
    assert.deepEqual(await graphsOf(s, jobs), { a: 'a', b: 'a', d: 'a', e: 'a' })
    await depend(s, jobs['d']!, [jobs['c']!])
    assert.deepEqual(await graphsOf(s, jobs), { a: 'a', b: 'a', c: 'c', d: 'c', e: 'c' })
    await depend(s, jobs['b']!, [], { schedule: jobs['a']!.schedule })
    await depend(s, jobs['d']!, [], { schedule: jobs['a']!.schedule })
    assert.deepEqual(await graphsOf(s, jobs), { d: 'd', e: 'd' })
  })

  test(`${name}: a job with a lesser id gives its graph another name`, async (t) => {
    const s = await setup(t)
    const jobs = await makeGraph(s, 'a b c>b')
    await depend(s, jobs['a']!, [jobs['c']!])
    assert.deepEqual(await graphsOf(s, jobs), { a: 'a', b: 'a', c: 'a' })
    assert.deepEqual(
      (await loadAll(s)).map(({ jobId, graphId }) => [jobId, graphId]),
      [[jobs['b']!.jobId, jobs['a']!.jobId]],
    )
  })

  test(`${name}: a deleted job leaves its graph`, async (t) => {
    const s = await setup(t)
    const jobs = await makeGraph(s, 'a b>a c d>c e>b,d')
    assert.equal(((await tryDelete(s, jobs['e']!)) as JobView).status, 'DELETED')
    assert.deepEqual(await graphsOf(s, jobs), { a: 'a', b: 'a', c: 'c', d: 'c' })
    assert.equal(((await tryDelete(s, jobs['b']!)) as JobView).status, 'DELETED')
    assert.deepEqual(await graphsOf(s, jobs), { c: 'c', d: 'c' })
    // Nothing runs after it any more.
    assert.equal(((await tryDelete(s, jobs['a']!)) as JobView).status, 'DELETED')
  })

  test(`${name}: a delete that does not know of the graph heeds it all the same`, async (t) => {
    const s = await setup(t)
    const jobs = await makeGraph(s, 'a b>a')
    const refused = await s.jobs.change({ tenantId, jobId: jobs['a']!.jobId }, remove)
    assert(isGraphRefusal(refused as object))
    await change(s, jobs['b']!, remove)
    assert.deepEqual(await graphsOf(s, jobs), {})
  })

  test(`${name}: roots that are in another graph are told to their schedulers`, async (t) => {
    const s = await setup(t)
    const jobs = await makeGraph(s, 'a b c x')
    await takeNoted(s)
    const d = await s.createJob({ name: 'd', dependsOn: after([jobs['a']!, jobs['b']!]), slotAt: null })
    assert.deepEqual(await takeNoted(s), ['a', 'b'])
    // A root that stays in its graph has nothing to learn.
    const e = await s.createJob({ name: 'e', dependsOn: after([jobs['a']!]), slotAt: null })
    assert.deepEqual(await takeNoted(s), [])
    await depend(s, e, [jobs['c']!])
    assert.deepEqual(await takeNoted(s), ['c'])
    await depend(s, d, [jobs['a']!])
    assert.deepEqual(await takeNoted(s), ['b'])
    assert.equal(((await tryDelete(s, d)) as JobView).status, 'DELETED')
    assert.deepEqual(await takeNoted(s), ['a'])
    // One that does not fire is found when it is resumed.
    await change(s, jobs['x']!, pause())
    await depend(s, e, [jobs['x']!, jobs['c']!])
    assert.deepEqual(await takeNoted(s), [])
  })
}

function testRefusals(name: string, setup: Setup): void {
  test(`${name}: a cycle is refused and spelled out`, async (t) => {
    const s = await setup(t)
    const { a, b, c, d } = await makeGraph(s, 'a b>a c>b d>c,a')
    const before = await Promise.all([a!, b!].map((job) => viewOf(s, job)))
    const path = (...jobs: NewJob[]) => jobs.map(({ jobId, name: called }) => ({ jobId, name: called }))
    assert.deepEqual(await tryDepend(s, a!, [a!]), { kind: 'cycle', path: path(a!, a!) })
    assert.deepEqual(await tryDepend(s, a!, [b!]), { kind: 'cycle', path: path(a!, b!, a!) })
    assert.deepEqual(await tryDepend(s, a!, [c!]), { kind: 'cycle', path: path(a!, b!, c!, a!) })
    assert.deepEqual(await tryDepend(s, b!, [d!]), { kind: 'cycle', path: path(b!, c!, d!, b!) })
    assert.deepEqual(await Promise.all([a!, b!].map((job) => viewOf(s, job))), before)
    const { jobId } = await s.createJob()
    const own = await draft(s, [], { jobId: s.ids.next(), name: 'own' })
    const itself = { ...own, dependsOn: after([{ ...own, jobId }, own]) }
    assert.deepEqual(await s.jobs.create(itself), { kind: 'cycle', path: path(own, own) })
    assert.equal(await s.jobs.get(tenantId, own.jobId), null)
  })

  test(`${name}: a job that is unknown, deleted or of another tenant is not depended on`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const deleted = await s.createJob()
    await change(s, deleted, remove)
    const foreign = await s.createJob({ tenantId: await s.addTenant(1) })
    const unknown = { ...job, jobId: s.ids.next() }
    for (const other of [deleted, foreign, unknown]) {
      const refusal = { kind: 'unknown_parent', jobId: other.jobId }
      assert.deepEqual(await tryDepend(s, job, [other]), refusal)
      const fresh = await draft(s, [job, other])
      assert.deepEqual(await s.jobs.create(fresh), refusal)
      assert.equal(await s.jobs.get(tenantId, fresh.jobId), null)
    }
    assert.deepEqual(await graphsOf(s, { job }), {})
    assert.equal((await viewOf(s, job)).version, 1)
  })

  test(`${name}: a graph has no more than a thousand jobs`, async (t) => {
    const s = await setup(t)
    const roots = await Promise.all(Array.from({ length: graphNodesMax + 1 }, () => s.createJob()))
    const half = graphNodesMax / 2
    const one = await s.createJob({ dependsOn: after(roots.slice(0, half)), slotAt: null })
    const other = await s.createJob({ dependsOn: after(roots.slice(half, 2 * half)), slotAt: null })
    const joined = await draft(s, [one, other])
    assert.deepEqual(await s.jobs.create(joined), { kind: 'too_large', jobs: 2 * half + 3 })
    const both = [...roots.slice(0, half), other]
    assert.deepEqual(await tryDepend(s, one, both), { kind: 'too_large', jobs: 2 * half + 2 })
    // The dependencies it drops make room: without two of its own it is just full.
    await depend(s, one, [...roots.slice(2, half), other])
    assert.deepEqual(await graphsOf(s, { lost: roots[0]! }), {})
    const more = await draft(s, [one, roots.at(-1)!])
    assert.deepEqual(await s.jobs.create(more), { kind: 'too_large', jobs: graphNodesMax + 2 })
    assert.deepEqual(await graphsOf(s, { 'not joined': roots.at(-1)! }), {})
  })

  test(`${name}: a job on which others depend is not deleted, and they are named`, async (t) => {
    const s = await setup(t)
    const jobs = await makeGraph(s, 'a c>a b>a d>b')
    const { a, b, c } = jobs
    const named = [c!, b!]
      .map(({ jobId, name: called }) => ({ jobId, name: called }))
      .toSorted((one, other) => (one.jobId < other.jobId ? -1 : 1))
    assert.deepEqual(await tryDelete(s, a!), { kind: 'has_dependents', jobs: named })
    assert.equal((await viewOf(s, a!)).status, 'ACTIVE')
    await depend(s, c!, [b!])
    const left = [{ jobId: b!.jobId, name: 'b' }]
    assert.deepEqual(await tryDelete(s, a!), { kind: 'has_dependents', jobs: left })
    await depend(s, b!, [], { schedule: a!.schedule })
    assert.equal(((await tryDelete(s, a!)) as JobView).status, 'DELETED')
    assert.deepEqual(await graphsOf(s, jobs), { b: 'c', c: 'c', d: 'c' })
  })

  test(`${name}: the dependencies of a job stay unless the change names them beforehand`, async (t) => {
    const s = await setup(t)
    const { a, b } = await makeGraph(s, 'a b>a')
    const bare = edit({ dependsOn: [], schedule: a!.schedule })
    await assert.rejects(s.jobs.change({ tenantId, jobId: b!.jobId }, bare), /not part of this change/)
    const view = await change(s, b!, edit({ name: 'renamed' }))
    assert.deepEqual([view.dependsOn, view.version], [after([a!]), 2])
    const dependsOn = after([a!])
    const other = edit({ dependsOn: after([b!]) })
    await assert.rejects(s.jobs.change({ ...(await s.createJob()), dependsOn }, other), /read in advance/)
  })

  test(`${name}: a key that is taken leaves nothing of a job with dependencies`, async (t) => {
    const s = await setup(t)
    const parent = await s.createJob({ key: 'k' })
    const fresh = await draft(s, [parent], { key: 'k' })
    assert.equal(await s.jobs.create(fresh), 'key_taken')
    assert.equal(await s.jobs.get(tenantId, fresh.jobId), null)
    assert.deepEqual(await graphsOf(s, { parent }), {})
    assert.equal(((await tryDelete(s, parent)) as JobView).status, 'DELETED')
  })
}

function testRequests(name: string, setup: Setup): void {
  const reply = { status: 201, headers: {}, body: '{}' }
  const once = (key: string) => ({ tenantId, key, fingerprint: new Uint8Array(32) })

  test(`${name}: all of it works in a transaction that is under way`, async (t) => {
    const s = await setup(t)
    const { a, b, c } = await makeGraph(s, 'a b c>a')
    const fresh = await draft(s, [a!], { name: 'd' })
    const steps: Record<string, (stores: WriteStores) => Promise<unknown>> = {
      create: ({ jobs }) => jobs.create(fresh),
      edit: ({ jobs }) => tryDepend({ jobs }, c!, [b!]),
      refused: ({ jobs }) => tryDepend({ jobs }, b!, [c!]),
      delete: ({ jobs }) => jobs.change({ ...fresh, dependsOn: [] }, remove),
    }
    const kinds: string[] = []
    for (const [key, step] of Object.entries(steps)) {
      const work = async (stores: WriteStores) => ({ value: await step(stores), reply })
      const outcome = await s.requests.run({ once: once(key), dryRun: false }, work)
      assert(outcome.kind === 'done')
      const value = outcome.value as string | JobView
      kinds.push(typeof value === 'string' ? value : isGraphRefusal(value) ? value.kind : value.status)
    }
    assert.deepEqual(kinds, ['created', 'ACTIVE', 'cycle', 'DELETED'])
    assert.deepEqual(await graphsOf(s, { a: a!, b: b!, c: c!, d: fresh }), { b: 'b', c: 'b' })
  })

  test(`${name}: a dry run of a job with dependencies leaves no graph behind`, async (t) => {
    const s = await setup(t)
    if (!s.canUndo) return
    const parent = await s.createJob()
    const fresh = await draft(s, [parent])
    const work = async ({ jobs }: WriteStores) => ({ value: await jobs.create(fresh), reply })
    const outcome = await s.requests.run({ once: null, dryRun: true }, work)
    assert.deepEqual(outcome, { kind: 'done', value: 'created' })
    assert.deepEqual(await graphsOf(s, { parent }), {})
    assert.equal(((await tryDelete(s, parent)) as JobView).status, 'DELETED')
  })
}
