// Conformance when a graph run, or part of it, is cancelled.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { StoreScenario } from '../stores.ts'
import { makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testCancelRuns(name: string, setup: Setup): void {
  test(`${name}: a run of which nothing runs is cancelled at once`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b', { a: { overlapPolicy: 'SKIP' } })
    const runId = await g.trigger('a')
    await g.step()
    assert.deepEqual(await g.cancel(runId), { kind: 'cancelled' })
    const { status, cancelMessage, finishedAt, counts } = await g.get(runId)
    assert.deepEqual([status, cancelMessage, counts], ['CANCELLED', 'stop', { CANCELLED: 3 }])
    assert(finishedAt !== null)
    assert.deepEqual(await g.running(), [])
    assert.deepEqual(await s.runSteps.findNoted(10, true), [])
    const { status: ofNode, error, runId: of } = await s.view(await g.executionOf(runId, 'c'))
    assert.deepEqual([ofNode, error?.message, of], ['CANCELLED', 'stop', runId])
    assert.deepEqual(await g.cancel(runId, 'again'), { kind: 'cancelled_before' })
    assert.equal((await g.get(runId)).cancelMessage, 'stop')
  })

  test(`${name}: a run of which something runs is cancelled once that has ended, and nothing else goes`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a d>b:completion')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.claim(runId, 'b')
    await g.end(runId, 'c')
    assert.deepEqual(await g.cancel(runId), { kind: 'cancelling' })
    assert.equal((await g.get(runId)).status, 'CANCELLING')
    assert.deepEqual(await g.states(runId), {
      a: 'succeeded',
      b: 'going',
      c: 'succeeded',
      d: 'cancelled',
    })
    assert.equal((await g.node(runId, 'b')).status, 'CANCELLING')
    assert.deepEqual(await g.cancel(runId, 'again'), { kind: 'cancelling' })
    // Regardless of the report of its worker.
    assert.deepEqual((await g.finish(runId, 'b')).over, ['CANCELLED'])
    assert.equal((await g.states(runId))['b'], 'cancelled')
    assert.deepEqual(await g.cancel(runId), { kind: 'cancelled_before' })
  })

  test(`${name}: cancelling a run again answers that it is being cancelled until a run step has processed the cancel`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a')
    const runId = await g.trigger('a')
    await g.step()
    await g.claim(runId, 'a')
    await g.cancel(runId)
    await g.end(runId, 'a')
    assert.deepEqual(await g.cancel(runId, 'again'), { kind: 'cancelling' })
    assert.deepEqual((await g.step()).over, ['CANCELLED'])
  })

  test(`${name}: a run is cancelled even if all of its nodes had succeeded by then`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a')
    await g.step()
    await g.end(runId, 'a')
    // Nobody has looked at it yet.
    assert.deepEqual(await g.cancel(runId), { kind: 'cancelled' })
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'cancelled' })
  })

  for (const end of ['succeeded', 'failed'] as const) {
    test(`${name}: a run that has ${end} is not cancelled any more`, async (t) => {
      const g = await makeGraph(await setup(t), 'a b>a')
      const runId = await g.trigger('a')
      await g.step()
      await g.finish(runId, 'a')
      await g.finish(runId, 'b', end)
      const status = end === 'succeeded' ? 'SUCCEEDED' : 'FAILED'
      assert.deepEqual(await g.cancel(runId), { kind: 'finished', status })
      assert.equal((await g.get(runId)).status, status)
    })
  }

  test(`${name}: a run that nobody has made yet is cancelled when it is made`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a')
    assert.deepEqual(await g.cancel(runId), { kind: 'cancelling' })
    assert.deepEqual((await g.step()).over, ['CANCELLED'])
    assert.deepEqual(await g.states(runId), { a: 'cancelled', b: 'cancelled' })
    assert.equal((await g.get(runId)).cancelMessage, 'stop')
    assert.deepEqual(await g.running(), [])
  })

  test(`${name}: nobody cancels a run that is not theirs, or not there`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a')
    const tenantId = await s.addTenant(1)
    const target = { tenantId, runId, message: 'stop' }
    assert.deepEqual(await s.graphRuns.cancel(target), { kind: 'not_found' })
    await g.step()
    assert.deepEqual(await s.graphRuns.cancel(target), { kind: 'not_found' })
    assert.deepEqual(await g.cancel(s.ids.next()), { kind: 'not_found' })
    assert.deepEqual(await g.running(), ['a'])
  })

  testParts(name, setup)
}

function testParts(name: string, setup: Setup): void {
  test(`${name}: a root that is cancelled takes its run with it`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a:completion c>b')
    const runId = await g.trigger('a')
    await g.step()
    assert.equal(await g.cancelNode(runId, 'a'), 'cancelled')
    assert.deepEqual((await g.step()).over, ['CANCELLED'])
    assert.deepEqual(await g.states(runId), { a: 'cancelled', b: 'cancelled', c: 'cancelled' })
    assert.equal((await g.get(runId)).cancelMessage, 'no')
  })

  test(`${name}: a running root that is cancelled takes its run with it once it has ended`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b c>a d>a,b')
    const runId = await g.fire('a', 0)
    await g.fire('b', 0)
    await g.step()
    await g.claim(runId, 'a')
    assert.equal(await g.cancelNode(runId, 'a'), 'cancelling')
    assert.deepEqual((await g.step()).over, [])
    const stepped = await g.finish(runId, 'a')
    assert.deepEqual([stepped.cancelled, stepped.over], [true, []])
    assert.deepEqual(await g.states(runId), { a: 'cancelled', b: 'going', c: 'cancelled', d: 'cancelled' })
    assert.equal((await g.get(runId)).status, 'CANCELLING')
    assert.deepEqual((await g.finish(runId, 'b')).over, ['CANCELLED'])
  })

  test(`${name}: a node that is cancelled ends alone, and its dependents are skipped`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>a d>b e>c')
    const runId = await g.trigger('a')
    await g.step()
    // Before its turn has come.
    assert.equal(await g.cancelNode(runId, 'b'), 'cancelled')
    await g.step()
    assert.deepEqual(await g.states(runId), {
      a: 'going',
      b: 'cancelled',
      c: 'blocked',
      d: 'dependency',
      e: 'blocked',
    })
    await g.finish(runId, 'a')
    await g.finish(runId, 'c')
    assert.deepEqual((await g.finish(runId, 'e')).over, ['CANCELLED'])
    assert.equal((await g.get(runId)).cancelMessage, null)
  })

  test(`${name}: a cancelled run waits for no root, and one that fires into it later is cancelled`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b')
    const runId = await g.fire('a', 0)
    await g.step()
    await g.claim(runId, 'a')
    assert.deepEqual(await g.cancel(runId), { kind: 'cancelling' })
    await g.end(runId, 'a')
    assert.deepEqual((await g.step()).over, ['CANCELLED'])
    const ended = { a: 'cancelled', b: 'unrun', c: 'cancelled' }
    assert.deepEqual(await g.states(runId), ended)
    await g.fire('b', 0)
    await g.step()
    assert.deepEqual(await g.states(runId), ended)
    assert.deepEqual(await g.running(), [])
    const { executions } = await s.list(g.jobOf('b'))
    assert.deepEqual(
      executions.map(({ status }) => status),
      ['CANCELLED'],
    )
    // Nothing of it blocks the next run.
    assert.deepEqual(await s.runSteps.findNoted(10, true), [])
  })

  test(`${name}: a run that was cancelled is undone with the request that cancelled it`, async (t) => {
    const s = await setup(t)
    if (!s.canUndo) return
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a')
    await g.step()
    const before = await g.get(runId)
    const target = { tenantId: defaultTenantId, runId, message: 'stop' }
    const outcome = await s.requests.run({ once: null, dryRun: true }, async ({ graphRuns }) => ({
      value: await graphRuns.cancel(target),
      reply: null,
    }))
    assert(outcome.kind === 'done' && outcome.value.kind === 'cancelled')
    assert.deepEqual(
      outcome.value.settled.map(({ outcome: how, attempt, isFinal }) => [how, attempt, isFinal]),
      [
        ['cancelled', 0, true],
        ['cancelled', 0, true],
      ],
    )
    assert.deepEqual(await g.get(runId), before)
  })
}
