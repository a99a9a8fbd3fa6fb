// Conformance when jobs change during a graph run, and when other executions of a job block a node.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { edit, pause, remove } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testRunEdits(name: string, setup: Setup): void {
  testPinned(name, setup)
  testWaiting(name, setup)
}

function testPinned(name: string, setup: Setup): void {
  test(`${name}: a run keeps the versions and dependencies that its jobs had at its start`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b d>c')
    const runId = await g.trigger('a')
    await g.step()
    await g.edit('b', edit({ priority: 1 }))
    await g.depend('c', edit({ dependsOn: [] }))
    const late = await s.createJob({
      name: 'late',
      slotAt: null,
      dependsOn: [{ jobId: g.jobOf('a').jobId, on: 'success' }],
    })
    await g.finish(runId, 'a')
    assert.equal((await g.claim(runId, 'b')).version, 1)
    assert.equal((await g.node(runId, 'b')).version, 1)
    await g.finish(runId, 'b')
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'succeeded', c: 'going', d: 'blocked' })
    await g.finish(runId, 'c')
    assert.deepEqual((await g.finish(runId, 'd')).over, ['SUCCEEDED'])
    assert.equal((await s.list(late)).total, 0)
    // The next run is made of the present jobs.
    const next = await g.trigger('a')
    await g.step()
    const { plan } = await g.get(next)
    const members = [g.jobOf('a'), g.jobOf('b'), late].map(({ jobId }) => jobId)
    assert.deepEqual(plan.map(({ jobId }) => jobId).toSorted(), members.toSorted())
    assert.equal(plan.find(({ jobId }) => jobId === g.jobOf('b').jobId)?.version, 2)
  })

  test(`${name}: a node is skipped if its job is paused when its turn comes`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b:completion d>a')
    const runId = await g.trigger('a')
    await g.step()
    await g.edit('b', pause())
    assert.equal((await g.states(runId))['b'], 'blocked')
    await g.finish(runId, 'a')
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'paused', c: 'dependency', d: 'going' })
    const { status, skipped } = await s.view(await g.executionOf(runId, 'b'))
    const message = 'The job was paused when its turn came.'
    assert.deepEqual([status, skipped], ['SKIPPED', { reason: 'paused', message }])
    const below = await g.node(runId, 'c')
    assert.equal(below.skipMessage, 'It runs on completion of "b", which was skipped (paused).')
    assert.deepEqual((await g.finish(runId, 'd')).over, ['SUCCEEDED'])
    const any = { status: null, jobId: null, from: null, to: null, before: null, limit: 1 }
    const [listed] = (await s.graphRuns.list({ tenantId: g.jobOf('a').tenantId, ...any })).runs
    assert.deepEqual(listed!.skips, { paused: 1, dependency: 1 })
  })

  test(`${name}: one that is paused while it goes is not stopped`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.edit('b', pause())
    await g.step()
    assert.deepEqual(await g.running(), ['b'])
    assert.deepEqual((await g.finish(runId, 'b')).over, ['SUCCEEDED'])
  })

  test(`${name}: a node is skipped when its turn comes if its job was deleted`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a')
    const runId = await g.trigger('a')
    await g.step()
    await g.depend('b', remove)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'blocked', c: 'blocked' })
    await g.finish(runId, 'a')
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'deleted', c: 'going' })
    const { skipped } = await s.view(await g.executionOf(runId, 'b'))
    assert.deepEqual(skipped, { reason: 'deleted', message: 'The job was deleted when its turn came.' })
    assert.deepEqual((await g.finish(runId, 'c')).over, ['SUCCEEDED'])
    assert.equal((await g.node(runId, 'b')).jobName, 'b')
  })

  test(`${name}: one that has gone ends with its job, and the run goes on without it`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>a')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.depend('b', remove)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'cancelled', c: 'going' })
    assert.deepEqual((await g.finish(runId, 'c')).over, ['CANCELLED'])
  })

  test(`${name}: a node that a person repeats runs alone`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'b', 'failed')
    const before = await g.get(runId)
    const newExecutionId = s.ids.nextBatch()
    const executionId = await g.executionOf(runId, 'b')
    const target = { tenantId: defaultTenantId, executionId, newExecutionId, lane: 'shared' }
    assert.equal((await s.control.retry(target)).kind, 'retried')
    await s.runAll()
    assert.deepEqual(await s.runSteps.findNoted(10, true), [])
    const { runId: of, status } = await s.view(newExecutionId)
    assert.deepEqual([of, status], [null, 'SUCCEEDED'])
    assert.deepEqual(await g.get(runId), before)
  })
}

function testWaiting(name: string, setup: Setup): void {
  test(`${name}: a node waits for others of its job, unless that allows overlaps`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a', { b: { overlapPolicy: 'SKIP' } })
    for (const one of ['b', 'c']) await s.trigger(g.jobOf(one))
    const other = await s.addWorker()
    const { live } = await s.claim(other)
    const runId = await g.trigger('a')
    await g.step()
    const stepped = await g.finish(runId, 'a')
    assert.deepEqual([stepped.ready, stepped.waiting], [1, true])
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going', c: 'going' })
    assert.equal(await s.statusOf(await g.executionOf(runId, 'b')), 'PENDING')
    assert.equal((await s.release(g.jobOf('b'))).ready, 0)
    assert.deepEqual(await g.running(), ['c'])
    for (const one of live) await s.finishLive(other, one, s.succeeded())
    assert.equal((await s.release(g.jobOf('b'))).ready, 1)
    await g.finish(runId, 'b')
    assert.equal((await g.states(runId))['b'], 'succeeded')
  })

  test(`${name}: of two runs that overlap, a node that allows none goes in one after the other`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a', { b: { overlapPolicy: 'SKIP' } })
    const runIds = [await g.trigger('a'), await g.trigger('a')]
    await g.step()
    for (const runId of runIds) await g.end(runId, 'a')
    const stepped = await g.step()
    assert.deepEqual([stepped.ready, stepped.waiting], [1, true])
    assert.deepEqual(await g.running(), ['b'])
    const first = (await g.node(runIds[0]!, 'b')).status === 'RUNNING' ? runIds[0]! : runIds[1]!
    await g.finish(first, 'b')
    assert.equal((await s.release(g.jobOf('b'))).ready, 1)
    const second = runIds.find((runId) => runId !== first)!
    assert.deepEqual((await g.finish(second, 'b')).over, ['SUCCEEDED'])
  })

  test(`${name}: a node that is limited is counted before it goes, and not while it is blocked`, async (t) => {
    const s = await setup(t)
    const concurrencyKey = { key: 'database', limit: 1 }
    const g = await makeGraph(s, 'a b>a c>a', { b: { concurrencyKey }, c: { concurrencyKey } })
    const other = await s.createJob({
      overlapPolicy: 'ALLOW',
      concurrencyKey,
      slotAt: null,
      status: 'PAUSED',
    })
    const runId = await g.trigger('a')
    await g.step()
    // Nothing of the run holds the key yet.
    await s.trigger(other)
    assert.equal((await s.release(other)).ready, 1)
    await s.runAll()
    await g.step()
    const release = async () => (await s.release(g.jobOf('b'), g.jobOf('c'))).ready
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going', c: 'going' })
    assert.deepEqual(await g.running(), [])
    assert.equal(await release(), 1)
    const [first] = await g.running()
    assert.equal(await release(), 0)
    await g.finish(runId, first!)
    assert.equal(await release(), 1)
    assert.deepEqual((await g.finish(runId, first === 'b' ? 'c' : 'b')).over, ['SUCCEEDED'])
  })

  test(`${name}: a blocked node does not hold up other executions`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a', { b: { overlapPolicy: 'SKIP' } })
    const runId = await g.trigger('a')
    await g.step()
    const { underWay, waiting } = await s.look(g.jobOf('b'))
    assert.deepEqual([underWay, waiting], [0, []])
    const alone = await s.trigger(g.jobOf('b'))
    assert.equal((await s.view(alone)).runId, null)
    assert.deepEqual(await g.running(), ['a', 'b'])
    assert.equal((await g.states(runId))['b'], 'blocked')
  })
}
