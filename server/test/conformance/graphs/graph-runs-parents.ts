// Conformance of the parents of an execution after its run is resumed: the parents as they were at its time.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { pause, resume } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { endMiddle, resumed } from './graph-runs-resume.ts'
import { makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testParentsOfResumed(name: string, setup: Setup): void {
  test(`${name}: the parents of an execution are the ones that replaced earlier executions`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b')
    const runId = await endMiddle(g, 'failed')
    await resumed(g, runId)
    await g.finish(runId, 'b')
    const executionId = await g.executionOf(runId, 'c')
    const [parent] = (await s.graphRuns.parentsOf([executionId])).get(executionId)!
    const b = await g.executionOf(runId, 'b')
    assert.deepEqual([parent?.executionId, parent?.status, parent?.result], [b, 'SUCCEEDED', 'result of b'])
  })

  test(`${name}: the parents of an earlier execution stay as they were, however often its run is resumed`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a,b:failure')
    const parentsOf = async (executionId: string) => {
      const parents = (await s.graphRuns.parentsOf([executionId], runId)).get(executionId)!
      return parents.map((parent) => [parent.executionId, parent.status, parent.result])
    }
    const runId = await endMiddle(g, 'failed')
    const a = [await g.executionOf(runId, 'a'), 'SUCCEEDED', 'result of a']
    const told = new Map<string, unknown>()
    /** The middle has ended so. */
    const end = async (how: 'FAILED' | 'TIMED_OUT' | 'SUCCEEDED', result: string | null) => {
      const b = [await g.executionOf(runId, 'b'), how, result]
      told.set(await g.executionOf(runId, 'c'), [a, b])
    }
    await end('FAILED', 'oops')
    await g.finish(runId, 'c', 'failed')
    await resumed(g, runId)
    await g.finish(runId, 'b', 'timed_out')
    await end('TIMED_OUT', 'oops')
    await g.finish(runId, 'c', 'timed_out')
    await resumed(g, runId)
    await g.finish(runId, 'b')
    await end('SUCCEEDED', 'result of b')
    assert.equal((await g.get(runId)).status, 'SUCCEEDED')
    assert.equal(told.size, 3)
    for (const [executionId, expected] of told) assert.deepEqual(await parentsOf(executionId), expected)
  })

  test(`${name}: an execution that ran again without its parents running again keeps the same parents`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'b')
    const [b, first] = [await g.executionOf(runId, 'b'), await g.executionOf(runId, 'c')]
    await g.finish(runId, 'c', 'failed')
    await resumed(g, runId)
    const second = await g.executionOf(runId, 'c')
    await g.finish(runId, 'c', 'failed')
    for (const executionId of [first, second]) {
      const parents = (await s.graphRuns.parentsOf([executionId], runId)).get(executionId)!
      assert.deepEqual(
        parents.map((parent) => [parent.executionId, parent.status]),
        [[b, 'SUCCEEDED']],
      )
    }
  })

  test(`${name}: a root with a skipped slot has no execution among the parents, also when it has run since`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b')
    const runId = await g.fire('a', 0)
    await g.edit('b', pause())
    await g.step()
    await g.finish(runId, 'a')
    const old = await g.executionOf(runId, 'c')
    await g.edit('b', resume())
    await resumed(g, runId)
    await g.finish(runId, 'b')
    const parents = (await s.graphRuns.parentsOf([old], runId)).get(old)!
    assert.deepEqual(
      parents.map((parent) => [parent.executionId, parent.status, parent.result]),
      [
        [await g.executionOf(runId, 'a'), 'SUCCEEDED', 'result of a'],
        [null, 'SKIPPED', null],
      ],
    )
    assert.deepEqual((await g.node(runId, 'b')).replaced, [])
  })
}
