// Conformance of graph runs: each node starts once, when its parents have ended as its rules require, and is skipped
// once that has become impossible.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { lossesMax } from '../../../src/domain/queue/retry.ts'
import type { StoreScenario } from '../stores.ts'
import { makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testGraphRuns(name: string, setup: Setup): void {
  test(`${name}: a diamond runs from its root to its fan-in, each node once`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>a d>b,c')
    const runId = await g.trigger('a')
    assert.deepEqual(await g.step(), { ready: 0, waiting: false, cancelled: false, over: [] })
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'blocked', c: 'blocked', d: 'blocked' })
    assert.deepEqual(await g.running(), ['a'])
    assert.equal((await g.finish(runId, 'a')).ready, 2)
    assert.deepEqual(await g.running(), ['b', 'c'])
    assert.equal((await g.finish(runId, 'b')).ready, 0)
    assert.deepEqual(await g.running(), ['c'])
    assert.equal((await g.finish(runId, 'c')).ready, 1)
    assert.deepEqual(await g.running(), ['d'])
    assert.equal((await g.get(runId)).status, 'RUNNING')
    const last = await g.finish(runId, 'd')
    assert.deepEqual([last.ready, last.over], [0, ['SUCCEEDED']])
    const run = await g.get(runId)
    assert.deepEqual([run.status, run.nodes, run.counts], ['SUCCEEDED', 4, { SUCCEEDED: 4 }])
    assert(run.finishedAt! >= run.createdAt)
    assert.deepEqual(await g.running(), [])
  })

  test(`${name}: both parents of a fan-in may end before anybody looks`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>a d>b,c')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.end(runId, 'b')
    await g.end(runId, 'c')
    assert.equal((await g.step()).ready, 1)
    assert.deepEqual(await g.running(), ['d'])
  })

  test(`${name}: a root may end before its run is made`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a')
    await s.runAll()
    assert.equal((await g.step()).ready, 1)
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going' })
  })

  test(`${name}: a chain runs in order`, async (t) => {
    const names = Array.from({ length: 12 }, (_, n) => `n${n}`)
    const text = names.map((one, n) => (n === 0 ? one : `${one}>${names[n - 1]}`)).join(' ')
    const g = await makeGraph(await setup(t), text)
    const runId = await g.trigger('n0')
    await g.step()
    for (const one of names) {
      assert.deepEqual(await g.running(), [one])
      await g.finish(runId, one)
    }
    assert.equal((await g.get(runId)).status, 'SUCCEEDED')
  })

  test(`${name}: a fan-out of twenty goes at once, and its fan-in once all have ended`, async (t) => {
    const middle = Array.from({ length: 20 }, (_, n) => `m${n}`)
    const text = ['a', ...middle.map((one) => `${one}>a`), `z>${middle.join(',')}`].join(' ')
    const g = await makeGraph(await setup(t), text)
    const runId = await g.trigger('a')
    await g.step()
    assert.equal((await g.finish(runId, 'a')).ready, 20)
    for (const one of middle) await g.end(runId, one)
    assert.equal((await g.step()).ready, 1)
    assert.deepEqual(await g.running(), ['z'])
    assert.deepEqual((await g.finish(runId, 'z')).over, ['SUCCEEDED'])
  })

  test(`${name}: a step that is repeated changes nothing`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b:failure')
    const runId = await g.trigger('a')
    const nothing = { ready: 0, waiting: false, cancelled: false, over: [], settled: [] }
    for (const one of ['a', 'b']) {
      await g.step()
      const before = await g.get(runId)
      assert.deepEqual(await s.runSteps.step([runId], g.tools), nothing)
      assert.deepEqual(await g.get(runId), before)
      await g.end(runId, one)
    }
    assert.deepEqual((await g.step()).over, ['SUCCEEDED'])
    const before = await g.get(runId)
    assert.deepEqual(await s.runSteps.step([runId, runId], g.tools), nothing)
    assert.deepEqual(await g.get(runId), before)
    assert.deepEqual(await s.runSteps.findNoted(10, true), [])
  })

  test(`${name}: a run that nobody has made yet is known to its tenant as starting`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a')
    const { tenantId } = g.jobOf('a')
    assert.equal(await s.graphRuns.get(tenantId, runId), null)
    assert.equal(await s.graphRuns.isStarting(tenantId, runId), true)
    assert.equal(await s.graphRuns.isStarting(await s.addTenant(1), runId), false)
    await g.step()
    assert.equal(await s.graphRuns.isStarting(tenantId, runId), false)
    assert.equal(await s.graphRuns.isStarting(tenantId, s.ids.next()), false)
  })

  test(`${name}: a run that nobody knows is left alone`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    await s.runSteps.step([s.ids.next()], g.tools)
    assert.equal(await s.graphRuns.get(g.jobOf('a').tenantId, s.ids.next()), null)
  })

  test(`${name}: the runs that were noted first are found first, and no more than asked for`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runIds = [await g.trigger('a'), await g.trigger('a'), await g.trigger('a')]
    assert.deepEqual(await s.runSteps.findNoted(2, true), runIds.slice(0, 2))
    assert.deepEqual(await s.runSteps.findNoted(10, false), runIds)
    assert.deepEqual(await s.runSteps.findNoted(10, true, runIds.slice(0, 1)), runIds.slice(1))
    await s.runSteps.step(runIds.slice(0, 2), g.tools)
    assert.deepEqual(await s.runSteps.findNoted(10, true), runIds.slice(2))
  })

  test(`${name}: concurrent runs of the same graph do not mix`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a')
    const [first, second] = [await g.trigger('a'), await g.trigger('a')]
    await g.step()
    await g.end(first, 'a')
    await g.end(second, 'a', 'failed')
    await g.step()
    assert.deepEqual(await g.states(first), { a: 'succeeded', b: 'going' })
    assert.deepEqual(await g.states(second), { a: 'failed', b: 'dependency' })
  })

  testRules(name, setup)
  testParents(name, setup)
}

function testRules(name: string, setup: Setup): void {
  const goes = {
    success: { succeeded: true, failed: false, timed_out: false },
    completion: { succeeded: true, failed: true, timed_out: true },
    failure: { succeeded: false, failed: true, timed_out: true },
  } as const
  for (const rule of ['success', 'completion', 'failure'] as const) {
    for (const end of ['succeeded', 'failed', 'timed_out'] as const) {
      const isMet = goes[rule][end]
      test(`${name}: on ${rule}, after one that ended ${end}, a node ${isMet ? 'goes' : 'is skipped'}`, async (t) => {
        const s = await setup(t)
        const g = await makeGraph(s, `a b>a:${rule}`)
        const runId = await g.trigger('a')
        await g.step()
        await g.finish(runId, 'a', end)
        assert.deepEqual(await g.states(runId), { a: end, b: isMet ? 'going' : 'dependency' })
        if (isMet) await g.finish(runId, 'b')
        const { status, counts } = await g.get(runId)
        assert.equal(status, end === 'succeeded' ? 'SUCCEEDED' : 'FAILED')
        assert.equal(counts.SKIPPED ?? 0, isMet ? 0 : 1)
      })
    }
    test(`${name}: on ${rule}, after one that was cancelled, a node is skipped`, async (t) => {
      const g = await makeGraph(await setup(t), `a b>a c>b:${rule}`)
      const runId = await g.trigger('a')
      await g.step()
      await g.finish(runId, 'a')
      assert.equal(await g.cancelNode(runId, 'b'), 'cancelled')
      assert.deepEqual((await g.step()).over, ['CANCELLED'])
      assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'cancelled', c: 'dependency' })
    })
  }

  test(`${name}: a skipped node says why, and is on record`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a', 'failed')
    assert.deepEqual(await g.states(runId), { a: 'failed', b: 'dependency', c: 'dependency' })
    const message = 'It runs on success of "a", which ended FAILED.'
    const {
      status,
      skipped,
      kind,
      attempt,
      attempts,
      finishedAt,
      runId: of,
    } = await s.view(await g.executionOf(runId, 'b'))
    assert.deepEqual(skipped, { reason: 'dependency', message })
    assert.deepEqual([status, kind, attempt, attempts, of], ['SKIPPED', 'dependency', 0, [], runId])
    assert(finishedAt !== null)
    const below = await s.view(await g.executionOf(runId, 'c'))
    assert.equal(below.skipped?.message, 'It runs on success of "b", which was skipped (dependency).')
    assert.deepEqual(await s.runSteps.findNoted(10, true), [])
    const { status: ofNode, error, skipMessage } = await g.node(runId, 'b')
    assert.deepEqual([ofNode, error, skipMessage], ['SKIPPED', null, message])
    assert.equal((await g.node(runId, 'a')).skipMessage, null, 'it failed')
  })

  test(`${name}: one branch runs when all went well, and another when something failed`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a alert>b:failure report>b always>b:completion')
    const [good, bad] = [await g.trigger('a'), await g.trigger('a')]
    await g.step()
    for (const runId of [good, bad]) await g.finish(runId, 'a')
    await g.finish(good, 'b')
    await g.finish(bad, 'b', 'failed')
    const [ofGood, ofBad] = [await g.states(good), await g.states(bad)]
    assert.deepEqual([ofGood['alert'], ofGood['report'], ofGood['always']], ['dependency', 'going', 'going'])
    assert.deepEqual([ofBad['alert'], ofBad['report'], ofBad['always']], ['going', 'dependency', 'going'])
    for (const one of ['report', 'always']) await g.finish(good, one)
    for (const one of ['alert', 'always']) await g.finish(bad, one)
    assert.deepEqual([(await g.get(good)).status, (await g.get(bad)).status], ['SUCCEEDED', 'FAILED'])
  })

  test(`${name}: a node of which one dependency failed is skipped while others still run`, async (t) => {
    const g = await makeGraph(await setup(t), 'a b>a c>a d>b,c e>d:completion')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'b', 'failed')
    const expected = { a: 'succeeded', b: 'failed', c: 'going', d: 'dependency', e: 'dependency' }
    assert.deepEqual(await g.states(runId), expected)
    assert.equal((await g.get(runId)).status, 'RUNNING')
    assert.deepEqual((await g.finish(runId, 'c')).over, ['FAILED'])
  })

  test(`${name}: skips count in no statistics`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const { tenantId, jobId } = g.jobOf('b')
    const [first, second] = [await g.trigger('a'), await g.trigger('a')]
    await g.step()
    await g.finish(first, 'a')
    await g.finish(first, 'b')
    await g.finish(second, 'a', 'failed')
    const before = await s.rollups.stats(tenantId, jobId)
    assert.deepEqual([before?.succeeded, before?.failed, before?.lastStatus], [1, 0, 'SUCCEEDED'])
    await s.foldStats()
    assert.deepEqual(await s.rollups.stats(tenantId, jobId), before)
  })
}

function testParents(name: string, setup: Setup): void {
  test(`${name}: a node receives its parents with their results`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a:completion d>b,c:failure', { b: { key: 'key-of-b' } })
    const runId = await g.trigger('a')
    await g.step()
    const root = await g.executionOf(runId, 'a')
    assert.equal((await g.claim(runId, 'a')).runId, runId)
    assert.deepEqual(await s.graphRuns.parentsOf([root]), new Map())
    await g.finish(runId, 'a')
    await g.finish(runId, 'b')
    await g.finish(runId, 'c', 'failed')
    const { executionId, kind, runId: of } = await g.claim(runId, 'd')
    assert.deepEqual([kind, of], ['dependency', runId])
    const alone = await s.trigger(g.jobOf('d'))
    const parents = [
      {
        jobId: g.jobOf('b').jobId,
        jobKey: 'key-of-b',
        executionId: await g.executionOf(runId, 'b'),
        status: 'SUCCEEDED',
        result: 'result of b',
      },
      {
        jobId: g.jobOf('c').jobId,
        jobKey: null,
        executionId: await g.executionOf(runId, 'c'),
        status: 'FAILED',
        result: 'oops',
      },
    ]
    const found = await s.graphRuns.parentsOf([executionId, root, alone])
    assert.deepEqual(found, new Map([[executionId, parents]]))
    await g.finish(runId, 'd')
    assert.deepEqual(await s.graphRuns.parentsOf([executionId], runId), new Map([[executionId, parents]]))
  })

  test(`${name}: while it waits, its parents are shown as they are`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a')
    await g.step()
    const executionId = await g.executionOf(runId, 'b')
    assert.equal(await s.statusOf(executionId), 'WAITING_DEPENDENCIES')
    const statusOfParent = async () => {
      const parents = (await s.graphRuns.parentsOf([executionId])).get(executionId)!
      return parents.map(({ status, result }) => [status, result])
    }
    assert.deepEqual(await statusOfParent(), [['PENDING', null]])
    await g.claim(runId, 'a')
    assert.deepEqual(await statusOfParent(), [['RUNNING', null]])
  })

  test(`${name}: a node is tried again after its worker died, and its fan-in starts once`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a d>b,c')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    const dead = await s.addWorker()
    const { live } = await s.claim(dead)
    assert.equal(live.length, 2)
    assert.notEqual(await s.maintenance.reclaim({ holderId: dead, beats: 0 }), 'alive')
    assert.deepEqual((await g.step()).over, [])
    assert.deepEqual(await g.running(), ['b', 'c'])
    await g.end(runId, 'b')
    assert.equal((await g.finish(runId, 'c')).ready, 1)
    const { attempts } = await s.view(await g.executionOf(runId, 'b'))
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ['lost', 'succeeded'],
    )
    assert.deepEqual(await g.running(), ['d'])
  })

  test(`${name}: a dead letter tells the run that it belonged to`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>b:failure')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'b', s.died())
    const lost = await g.executionOf(runId, 'c')
    for (let losses = 0; losses < lossesMax; losses++) {
      const workerId = await s.addWorker()
      assert.equal((await s.claimLive(workerId)).executionId, lost)
      assert.notEqual(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
    }
    const { tenantId } = g.jobOf('a')
    for (const executionId of [await g.executionOf(runId, 'b'), lost])
      assert.equal((await s.deadLetters.get(tenantId, executionId))?.runId, runId)
    // A redriven execution runs alone.
    const newExecutionId = s.ids.nextBatch()
    const letters = [{ executionId: lost, newExecutionId, lane: 'shared' }]
    await s.deadLetters.redrive({ tenantId, letters })
    assert.equal((await s.view(newExecutionId)).runId, null)
  })
}
