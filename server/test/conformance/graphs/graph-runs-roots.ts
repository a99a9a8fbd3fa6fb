// Conformance of the roots of a graph run: roots of the same slot share it, a parent that is not reached counts by its
// latest execution, and the end of the run frees the roots.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { otherSchedule, pause } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testRunRoots(name: string, setup: Setup): void {
  testShared(name, setup)
  testUnrun(name, setup)
  testOutside(name, setup)
  testFarOutside(name, setup)
  testFreed(name, setup)
}

function testShared(name: string, setup: Setup): void {
  test(`${name}: roots that fire for one slot share a run`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b')
    const runId = await g.fire('a', 0)
    assert.equal(await g.fire('b', 0), runId)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'going', c: 'blocked' })
    const run = await g.get(runId)
    assert.deepEqual([run.kind, run.slot], ['slot', s.at(0)])
    assert.deepEqual(run.roots.map((root) => root.name).toSorted(), ['a', 'b'])
    await g.finish(runId, 'a')
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going', c: 'blocked' })
    assert.equal((await g.finish(runId, 'b')).ready, 1)
    assert.deepEqual((await g.finish(runId, 'c')).over, ['SUCCEEDED'])
    const views = await Promise.all(
      ['a', 'b', 'c'].map(async (one) => s.view(await g.executionOf(runId, one))),
    )
    assert.deepEqual(
      views.map((view) => [view.kind, view.slot, view.runId]),
      [
        ['slot', s.at(0), runId],
        ['slot', s.at(0), runId],
        ['dependency', s.at(0), runId],
      ],
    )
  })

  test(`${name}: a root that fires later goes into the run that the first has made`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b c>a,b d>a')
    const runId = await g.fire('a', 0)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unfired', c: 'blocked', d: 'blocked' })
    const { executionId, status } = await g.node(runId, 'b')
    assert.deepEqual([executionId, status], [null, 'WAITING_DEPENDENCIES'])
    await g.finish(runId, 'a')
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'unfired', c: 'blocked', d: 'going' })
    await g.finish(runId, 'd')
    assert.equal((await g.get(runId)).status, 'RUNNING')
    await g.fire('b', 0)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going', c: 'blocked', d: 'succeeded' })
    await g.finish(runId, 'b')
    assert.deepEqual((await g.finish(runId, 'c')).over, ['SUCCEEDED'])
  })

  test(`${name}: each slot has a run of its own`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b c>a,b')
    const [first, second] = [await g.fire('a', 0), await g.fire('a', 1)]
    assert.notEqual(first, second)
    await g.fire('b', 1)
    await g.step()
    assert.deepEqual(await g.states(first), { a: 'going', b: 'unfired', c: 'blocked' })
    assert.deepEqual(await g.states(second), { a: 'going', b: 'going', c: 'blocked' })
  })
}

function testUnrun(name: string, setup: Setup): void {
  test(`${name}: a run does not wait for a root with a skipped slot, and the dependents of that root are skipped`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b d>a', { b: { overlapPolicy: 'SKIP' } })
    const runId = await g.fire('a', 0)
    await g.step()
    await g.trigger('b')
    assert.deepEqual(
      (await s.slots.fire([await g.slotOf('b', 0)])).map(({ answer }) => answer),
      ['overlap'],
    )
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unrun', c: 'dependency', d: 'blocked' })
    const { skipped } = await s.view(await g.executionOf(runId, 'c'))
    assert.equal(skipped?.message, 'It runs on success of "b", which was skipped (slot).')
    assert.equal((await g.node(runId, 'b')).skipMessage, null, 'it has no execution')
    await g.finish(runId, 'a')
    assert.deepEqual((await g.finish(runId, 'd')).over, ['SUCCEEDED'])
    const { counts, skips } = await g.get(runId)
    assert.deepEqual([counts.SKIPPED, skips], [2, { slot: 1, dependency: 1 }])
  })

  test(`${name}: a run does not wait for a root that was paused before it fired`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b')
    const runId = await g.fire('a', 0)
    await g.edit('b', pause())
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unrun', c: 'dependency' })
  })

  test(`${name}: a run does not wait for a root with a cursor that has passed the slot`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b')
    const runId = await g.fire('a', 0)
    await g.fire('b', 3, { move: { slotAt: s.at(4), dueAt: s.at(4), decidedTo: s.at(3) } })
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unrun', c: 'dependency' })
  })

  test(`${name}: a run does not wait for a root that begins with a later slot`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b', { b: { slotAt: s.at(1) } })
    const runId = await g.fire('a', 0)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unrun', c: 'dependency' })
  })

  test(`${name}: one that owes the slot is waited for`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b', { b: { overlapPolicy: 'SKIP' } })
    await g.trigger('b')
    const owed = await g.slotOf('b', 0, {
      late: true,
      owedTo: s.at(2),
      move: { slotAt: s.at(3), dueAt: s.at(3), decidedTo: s.at(2) },
    })
    assert.deepEqual(
      (await s.slots.fire([owed])).map(({ answer }) => answer),
      ['deferred'],
    )
    const runId = await g.fire('a', 1)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unfired', c: 'blocked' })
  })

  test(`${name}: the run of a root that was triggered waits for no other root`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c')
    const runId = await g.trigger('a')
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'blocked' })
  })

  test(`${name}: a run does not wait for a root without the slot, which counts by its latest execution`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b:completion', { b: { schedule: otherSchedule } })
    const runId = await g.fire('a', isEven(s.at(0)) ? 1 : 0)
    await g.step()
    const { role } = await g.node(runId, 'b')
    assert.equal(role, 'outside')
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'absent', c: 'dependency' })
  })

  test(`${name}: a run waits for a root that has the slot, regardless of the other slots of the root`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b', { b: { schedule: otherSchedule } })
    const second = isEven(s.at(0)) ? 0 : 1
    const runId = await g.fire('a', second)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unfired', c: 'blocked' })
    assert.equal(await g.fire('b', second), runId)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'going', c: 'blocked' })
  })
}

/** Every second second has an even one. */
const isEven = (at: number) => (at / 1_000) % 2 === 0

function testOutside(name: string, setup: Setup): void {
  test(`${name}: of two runs that start together, a node skipped in the first does not count as ended for the other`, async (t) => {
    const g = await makeGraph(await setup(t), 'a x z b>z,x c>a,b')
    // Nothing of x has ended, so b is skipped as soon as its run is made.
    const first = await g.trigger('z')
    const second = await g.trigger('a')
    await g.step()
    assert.equal((await g.states(first))['b'], 'dependency')
    assert.equal((await g.states(second))['b'], 'absent')
  })

  const cases = [
    { title: 'succeeded', ends: ['failed', 'succeeded'] as const, rule: 'success', state: 'going' },
    { title: 'failed', ends: ['succeeded', 'failed'] as const, rule: 'success', state: 'dependency' },
    { title: 'timed out', ends: ['timed_out'] as const, rule: 'failure', state: 'going' },
    { title: 'has not run yet', ends: [], rule: 'completion', state: 'dependency' },
  ] as const
  for (const { title, ends, rule, state } of cases) {
    test(`${name}: a parent that is not reached counts by its latest execution: it ${title}`, async (t) => {
      const s = await setup(t)
      const g = await makeGraph(s, `a b c>a,b:${rule}`)
      const before: string[] = []
      for (const end of ends) {
        const earlier = await g.trigger('b')
        await g.step()
        before.push(await g.executionOf(earlier, 'b'))
        await g.finish(earlier, 'b', end)
      }
      const runId = await g.trigger('a')
      await g.step()
      const outside = await g.node(runId, 'b')
      assert.deepEqual(
        [outside.role, outside.state, outside.executionId],
        ['outside', ends.at(-1) ?? 'absent', before.at(-1) ?? null],
      )
      assert.equal((await g.get(runId)).nodes, 2)
      await g.finish(runId, 'a')
      assert.equal((await g.states(runId))['c'], state)
      if (state === 'dependency' && ends.length === 0) {
        const { skipped } = await s.view(await g.executionOf(runId, 'c'))
        assert.equal(skipped?.message, `It runs on ${rule} of "b", of which no execution has ended.`)
        assert.deepEqual((await g.get(runId)).skips, { dependency: 1 }, 'what is outside is not counted')
      }
      if (state === 'going') {
        const c = await g.executionOf(runId, 'c')
        const parents = (await s.graphRuns.parentsOf([c])).get(c)!
        assert.deepEqual(
          parents.map(({ executionId }) => executionId),
          [runId, before.at(-1)],
        )
        assert.deepEqual((await g.finish(runId, 'c')).over, ['SUCCEEDED'])
      }
    })
  }
}

function testFarOutside(name: string, setup: Setup): void {
  test(`${name}: a node that depends on a job outside the run that cannot meet its rule is skipped as soon as the run is made`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b c>a d>c,b')
    const runId = await g.trigger('a')
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'absent', c: 'blocked', d: 'dependency' })
  })
}

function testFreed(name: string, setup: Setup): void {
  test(`${name}: a root is under way until its run has ended`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a', { a: { overlapPolicy: 'SKIP' } })
    const runId = await g.fire('a', 0)
    await g.step()
    const tryFire = async (second: number) =>
      (await s.slots.fire([await g.slotOf('a', second)]))[0]?.answer ?? 'fired'
    await g.finish(runId, 'a')
    assert.equal(await tryFire(1), 'overlap')
    await g.finish(runId, 'b')
    assert.equal(await tryFire(2), 'fired')
  })

  test(`${name}: a root is free again when its whole run was skipped or cancelled`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a', { a: { overlapPolicy: 'SKIP' } })
    const tryFire = async (second: number) =>
      (await s.slots.fire([await g.slotOf('a', second)]))[0]?.answer ?? 'fired'
    const first = await g.fire('a', 0)
    await g.step()
    await g.finish(first, 'a', 'failed')
    const second = await g.fire('a', 1)
    await g.step()
    await g.cancel(second)
    assert.equal(await tryFire(2), 'fired')
  })
}
