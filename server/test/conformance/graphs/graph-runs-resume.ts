// Conformance when an ended graph run is resumed: nodes that did not succeed run again, in the same run.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { idempotencyKeyOf } from '../../../src/domain/queue/execution.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { resumesMax } from '../../../src/ports/graph-runs.ts'
import { edit, pause, remove, resume } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { type End, type GraphScene, makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** The ids of the new executions. */
export async function resumed(g: GraphScene, runId: string): Promise<string[]> {
  const outcome = await g.resume(runId)
  assert(outcome.kind === 'resumed', JSON.stringify(outcome))
  return outcome.executionIds
}

/** A run of a chain of three with a middle that ended so. */
export async function endMiddle(g: GraphScene, how: End): Promise<string> {
  const runId = await g.trigger('a')
  await g.step()
  await g.finish(runId, 'a')
  await g.finish(runId, 'b', how)
  return runId
}

export function testResume(name: string, setup: Setup): void {
  testAgain(name, setup)
  testCarried(name, setup)
  testRefused(name, setup)
}

function testAgain(name: string, setup: Setup): void {
  for (const how of ['failed', 'timed_out'] as const) {
    test(`${name}: a run of which a node ${how} goes on from there`, async (t) => {
      const s = await setup(t)
      const g = await makeGraph(s, 'a b>a c>b alert>b:failure')
      const runId = await endMiddle(g, how)
      await g.finish(runId, 'alert')
      const before = await g.get(runId)
      assert.equal(before.status, 'FAILED')
      const old = await g.executionOf(runId, 'b')
      const rootId = await g.executionOf(runId, 'a')
      const ids = await resumed(g, runId)
      const run = await g.get(runId)
      assert.deepEqual([run.status, run.resumes, run.finishedAt], ['RUNNING', 1, null])
      assert.deepEqual([run.createdAt, run.slot, run.kind], [before.createdAt, before.slot, before.kind])
      assert.deepEqual(await g.states(runId), {
        a: 'succeeded',
        b: 'going',
        c: 'blocked',
        // It ran because b failed, and is to do so again should that happen.
        alert: 'blocked',
      })
      const [b, c] = [await g.node(runId, 'b'), await g.node(runId, 'c')]
      const alert = await g.node(runId, 'alert')
      assert.deepEqual([b.executionId, c.executionId, alert.executionId].toSorted(), ids.toSorted())
      assert.deepEqual(b.replaced, [old])
      assert.equal(c.replaced.length, 1)
      assert.equal(await g.executionOf(runId, 'a'), rootId)
      assert.equal(await s.statusOf(old), how === 'failed' ? 'FAILED' : 'TIMED_OUT')
      const { runId: of, kind, retryOf, slot } = await s.view(b.executionId!)
      assert.deepEqual([of, kind, retryOf, slot], [runId, 'dependency', old, run.slot])
      assert.deepEqual(await g.running(), ['b'])
      await g.finish(runId, 'b')
      assert.deepEqual((await g.finish(runId, 'c')).over, ['SUCCEEDED'])
    })
  }

  test(`${name}: a root that failed runs again`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a', { a: { overlapPolicy: 'SKIP' } })
    const runId = await g.fire('a', 0)
    await g.step()
    await g.finish(runId, 'a', 'failed')
    const old = await g.executionOf(runId, 'a')
    assert.equal((await resumed(g, runId)).length, 2)
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'blocked' })
    const { kind, retryOf, slot } = await s.view(await g.executionOf(runId, 'a'))
    assert.deepEqual([kind, retryOf, slot], ['retry', old, s.at(0)])
    // Its run is under way again.
    assert.equal((await s.slots.fire([await g.slotOf('a', 1)]))[0]?.answer, 'overlap')
    assert.deepEqual(await g.running(), ['a'])
    await g.finish(runId, 'a')
    assert.deepEqual((await g.finish(runId, 'b')).over, ['SUCCEEDED'])
    assert.deepEqual(await s.slots.fire([await g.slotOf('a', 2)]), [])
  })

  test(`${name}: a root is under way also when only others of its run go on`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a', { a: { overlapPolicy: 'SKIP' } })
    const runId = await endMiddle(g, 'failed')
    await resumed(g, runId)
    assert.equal((await s.slots.fire([await g.slotOf('a', 1)]))[0]?.answer, 'overlap')
    await g.finish(runId, 'b')
    assert.deepEqual(await s.slots.fire([await g.slotOf('a', 2)]), [])
  })

  test(`${name}: a cancelled run goes on where it was stopped`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>b')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    assert.deepEqual(await g.cancel(runId), { kind: 'cancelled' })
    await resumed(g, runId)
    const { status, cancelMessage } = await g.get(runId)
    assert.deepEqual([status, cancelMessage], ['RUNNING', null])
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going', c: 'blocked' })
    await g.finish(runId, 'b')
    assert.deepEqual((await g.finish(runId, 'c')).over, ['SUCCEEDED'])
  })

  test(`${name}: a node that was skipped because its job was paused runs once the job is active`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>b')
    await g.edit('b', pause())
    const runId = await g.trigger('a')
    await g.step()
    assert.deepEqual((await g.finish(runId, 'a')).over, ['SUCCEEDED'])
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'paused', c: 'dependency' })
    // Still paused: it is skipped again, and the run is over at once.
    await resumed(g, runId)
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'paused', c: 'dependency' })
    assert.deepEqual([(await g.get(runId)).status, (await g.get(runId)).resumes], ['SUCCEEDED', 1])
    await g.edit('b', resume())
    await resumed(g, runId)
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going', c: 'blocked' })
    assert.equal((await g.node(runId, 'b')).replaced.length, 2)
  })

  test(`${name}: a branch that was not taken is not taken by a resume either`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a alert>a:failure c>b')
    const runId = await endMiddle(g, 'failed')
    assert.equal((await resumed(g, runId)).length, 2)
    assert.equal((await g.states(runId))['alert'], 'dependency')
  })

  test(`${name}: a root with a skipped slot runs with the resume`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b')
    const runId = await g.fire('a', 0)
    await g.edit('b', pause())
    await g.step()
    assert.deepEqual((await g.finish(runId, 'a')).over, ['SUCCEEDED'])
    await g.edit('b', resume())
    await resumed(g, runId)
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going', c: 'blocked' })
    const { kind, retryOf, slot } = await s.view(await g.executionOf(runId, 'b'))
    assert.deepEqual([kind, retryOf, slot], ['retry', null, s.at(0)])
    await g.finish(runId, 'b')
    assert.deepEqual((await g.finish(runId, 'c')).over, ['SUCCEEDED'])
  })

  test(`${name}: a run may fail and be resumed more than once`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>b')
    const runId = await endMiddle(g, 'failed')
    const olds: string[] = []
    for (const how of ['failed', 'timed_out', 'succeeded'] as const) {
      olds.push(await g.executionOf(runId, 'b'))
      await resumed(g, runId)
      await g.finish(runId, 'b', how)
    }
    const run = await g.get(runId)
    assert.deepEqual([run.status, run.resumes], ['RUNNING', 3])
    assert.deepEqual((await g.node(runId, 'b')).replaced, olds)
    assert.deepEqual((await g.finish(runId, 'c')).over, ['SUCCEEDED'])
  })
}

function testCarried(name: string, setup: Setup): void {
  test(`${name}: an execution that runs again has the present version, and the key and payload of the failed one`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a', { payloadOverride: { own: true } })
    await g.step()
    await g.finish(runId, 'a', s.died())
    assert((await s.deadLetters.get(defaultTenantId, runId)) !== null)
    await g.edit('a', edit({ name: 'a2' }))
    await resumed(g, runId)
    // It is not to be redriven besides.
    assert.equal(await s.deadLetters.get(defaultTenantId, runId), null)
    const view = await s.view(await g.executionOf(runId, 'a'))
    const { jobId } = g.jobOf('a')
    const key = idempotencyKeyOf('trigger', { jobId, executionId: runId, slot: view.slot })
    assert.deepEqual([view.version, view.idempotencyKey], [2, key])
    assert.deepEqual(view.payloadOverride, { own: true })
    const { version, jobName } = await g.node(runId, 'a')
    assert.deepEqual([version, jobName], [2, 'a2'])
    const claimed = await g.claim(runId, 'a')
    assert.deepEqual([claimed.version, claimed.payloadOverride], [2, { own: true }])
    // And the same once more.
    await g.finish(runId, 'a', 'timed_out')
    await resumed(g, runId)
    assert.equal((await s.view(await g.executionOf(runId, 'a'))).idempotencyKey, key)
  })

  test(`${name}: a node that succeeded because another failed runs again under a key of its own`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a alert>b:failure')
    const runId = await endMiddle(g, 'failed')
    await g.finish(runId, 'alert')
    await resumed(g, runId)
    await g.finish(runId, 'b', 'failed')
    assert.equal((await s.view(await g.executionOf(runId, 'alert'))).idempotencyKey, null)
    assert.deepEqual(await g.running(), ['alert'])
  })

  test(`${name}: a node that was cancelled or skipped runs again under a key of its own`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    assert.equal(await g.cancelNode(runId, 'b'), 'cancelled')
    await g.step()
    await resumed(g, runId)
    for (const one of ['b', 'c'])
      assert.equal((await s.view(await g.executionOf(runId, one))).idempotencyKey, null)
  })
}

function testRefused(name: string, setup: Setup): void {
  test(`${name}: a run that has not ended is not resumed`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>a')
    const runId = await g.trigger('a')
    await g.step()
    assert.deepEqual(await g.resume(runId), { kind: 'not_finished', status: 'RUNNING' })
    await g.finish(runId, 'a')
    await g.finish(runId, 'b', 'failed')
    await g.claim(runId, 'c')
    await g.cancel(runId)
    assert.deepEqual(await g.resume(runId), { kind: 'not_finished', status: 'CANCELLING' })
  })

  test(`${name}: a run in which every node has succeeded is not resumed`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>b:failure')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'b')
    const before = await g.get(runId)
    assert.equal(before.status, 'SUCCEEDED')
    assert.deepEqual(await g.resume(runId), { kind: 'nothing' })
    assert.deepEqual(await g.get(runId), before)
  })

  test(`${name}: a run with a root that is under way in another run is not resumed, unless the root allows overlaps`, async (t) => {
    const s = await setup(t)
    for (const [overlapPolicy, expected] of [
      ['SKIP', 'overlap'],
      ['ALLOW', 'resumed'],
    ] as const) {
      const g = await makeGraph(s, 'a b>a', { a: { overlapPolicy } })
      const runId = await endMiddle(g, 'failed')
      const other = await g.trigger('a')
      await g.step()
      const overlap = { kind: 'overlap', jobId: g.jobOf('a').jobId, runId: other, executionId: null }
      if (expected === 'overlap') assert.deepEqual(await g.resume(runId), overlap, 'its root runs')
      await g.finish(other, 'a')
      const outcome = await g.resume(runId)
      assert.equal(outcome.kind, expected)
      if (outcome.kind !== 'overlap') continue
      assert.deepEqual(outcome, overlap)
      assert.equal((await g.get(runId)).status, 'FAILED')
      await g.finish(other, 'b')
      assert.equal((await g.resume(runId)).kind, 'resumed')
    }
  })

  test(`${name}: a run is not resumed while an execution of its root runs alone`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a', { a: { overlapPolicy: 'BUFFER_ALL' } })
    const runId = await endMiddle(g, 'failed')
    const newExecutionId = s.ids.nextBatch()
    const target = { tenantId: defaultTenantId, executionId: runId, newExecutionId, lane: 'shared' }
    assert.equal((await s.control.retry(target)).kind, 'retried')
    const { jobId } = g.jobOf('a')
    const overlap = { kind: 'overlap', jobId, runId: null, executionId: newExecutionId }
    assert.deepEqual(await g.resume(runId), overlap)
  })

  test(`${name}: a run is not resumed while an execution of its root waits in a batch, or late slots are owed`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a', { a: { overlapPolicy: 'SKIP', misfirePolicy: 'FIRE_ALL' } })
    const runId = await endMiddle(g, 'failed')
    const a = g.jobOf('a')
    // Alone again, it fires like any other.
    await g.depend('b', remove)
    const executionId = await s.fire(a, 1)
    const overlap = { kind: 'overlap', jobId: a.jobId, runId: null }
    assert.deepEqual(await g.resume(runId), { ...overlap, executionId })
    assert.equal(await s.tryFire(a, 2, { late: true, owedTo: s.at(4) }), 'deferred')
    await s.runAll()
    assert.deepEqual(await g.resume(runId), { ...overlap, executionId: null })
  })

  test(`${name}: a run that does not exist, or of another tenant, is not resumed`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await endMiddle(g, 'failed')
    const tenantId = await s.addTenant(1)
    assert.deepEqual(await s.graphRuns.resume({ tenantId, runId, ...g.tools }), { kind: 'not_found' })
    assert.deepEqual(await g.resume(s.ids.next()), { kind: 'not_found' })
  })

  test(`${name}: a run is resumed at most a hundred times`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a')
    await g.edit('b', pause())
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    for (let n = 0; n < resumesMax; n++) await resumed(g, runId)
    assert.deepEqual(await g.resume(runId), { kind: 'too_often' })
    assert.equal((await g.get(runId)).resumes, resumesMax)
  })

  test(`${name}: a resume is undone with the request that asked for it`, async (t) => {
    const s = await setup(t)
    if (!s.canUndo) return
    const g = await makeGraph(s, 'a b>a')
    const runId = await endMiddle(g, 'failed')
    const before = await g.get(runId)
    const order = { tenantId: defaultTenantId, runId, ...g.tools }
    const outcome = await s.requests.run({ once: null, dryRun: true }, async ({ graphRuns }) => ({
      value: (await graphRuns.resume(order)).kind,
      reply: null,
    }))
    assert.deepEqual(outcome, { kind: 'done', value: 'resumed' })
    assert.deepEqual(await g.get(runId), before)
    assert.deepEqual(await g.running(), [])
  })
}
