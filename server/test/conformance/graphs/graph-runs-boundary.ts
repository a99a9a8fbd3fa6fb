// Conformance at the edges of a graph run: roots with a pause that is over, roots that fire into a run they are not
// part of, and runs that an edit has made wait for each other.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Dependency } from '../../../src/domain/graphs/graph.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { waitingMax } from '../../../src/domain/queue/release.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { resumePaused } from '../../../src/maintenance/resume-paused.ts'
import { edit, pause, resume } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { type GraphScene, makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testRunBoundary(name: string, setup: Setup): void {
  testPausedUntil(name, setup)
  testSplit(name, setup)
  testJoined(name, setup)
  testResumed(name, setup)
  testTurned(name, setup)
}

const onSuccessOf = (g: GraphScene, ...names: string[]): Dependency[] =>
  names.map((one) => ({ jobId: g.jobOf(one).jobId, on: 'success' }))

/** From now on it depends on these. */
async function depend(g: GraphScene, child: string, ...parents: string[]): Promise<void> {
  const dependsOn = onSuccessOf(g, ...parents)
  await g.depend(child, edit({ dependsOn }), dependsOn)
}

/** The only run that a job was in besides this one. */
async function otherRunOf(g: GraphScene, name: string, runId: string): Promise<string> {
  const query = { tenantId: defaultTenantId, status: null, from: null, to: null, before: null, limit: 10 }
  const { runs } = await g.s.graphRuns.list({ ...query, jobId: g.jobOf(name).jobId })
  const others = runs.map((run) => run.runId).filter((id) => id !== runId)
  assert.equal(others.length, 1, `${name} was in ${others.length} other runs`)
  return others[0]!
}

function testPausedUntil(name: string, setup: Setup): void {
  test(`${name}: a run waits for a root with a pause that ended before the slot until the root has resumed`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b')
    const { slotAt } = await g.edit('b', pause('holidays', epochMs((await s.now()) - 1)))
    const second = (slotAt! - s.at(0)) / 1_000
    const runId = await g.fire('a', second, { dueAt: s.at(0) })
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unfired', c: 'blocked' })
    // Maintenance comes to it a moment later.
    await resumePaused({ jobs: s.jobs, onChanged: () => {} })
    assert.equal((await s.jobs.get(defaultTenantId, g.jobOf('b').jobId))!.slotAt, slotAt)
    assert.equal(await g.fire('b', second, { dueAt: s.at(0) }), runId)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'going', c: 'blocked' })
  })

  test(`${name}: a run does not wait for a root with a pause that ends after the slot`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b')
    const { slotAt } = await g.edit('b', pause())
    await g.edit('b', pause('holidays', epochMs(slotAt! + 1)))
    const runId = await g.fire('a', (slotAt! - s.at(0)) / 1_000, { dueAt: s.at(0) })
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'unrun', c: 'dependency' })
  })

  test(`${name}: a node starts if the pause of its job is over when its turn comes`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a')
    const runId = await g.trigger('a')
    await g.step()
    const now = await s.now()
    await g.edit('b', pause('holidays', epochMs(now - 1)))
    await g.edit('c', pause('holidays', epochMs(now + 3_600_000)))
    await g.finish(runId, 'a')
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going', c: 'paused' })
  })
}

function testSplit(name: string, setup: Setup): void {
  for (const when of ['goes', 'has ended'] as const) {
    test(`${name}: a root that has left the graph before the run was made, and ${when}, has a run of its own`, async (t) => {
      const s = await setup(t)
      const g = await makeGraph(s, 'a b c>a d>b e>c,d')
      const executionId = s.ids.nextBatch()
      const runId = await g.fire('a', 0)
      await g.fire('b', 0, { executionId })
      if (when === 'has ended') await s.runAll()
      await depend(g, 'e', 'c')
      await g.step()
      assert.deepEqual(Object.keys(await g.states(runId)).toSorted(), ['a', 'c', 'e'])
      const own = await otherRunOf(g, 'b', runId)
      assert.equal(own, executionId)
      const { kind, slot } = await g.get(own)
      assert.deepEqual([kind, slot], ['slot', s.at(0)])
      for (let hops = 0; hops < 3; hops++) {
        await s.runAll()
        await g.step()
      }
      assert.deepEqual(await g.states(own), { b: 'succeeded', d: 'succeeded' })
      assert.deepEqual(await g.states(runId), { a: 'succeeded', c: 'succeeded', e: 'succeeded' })
      assert.equal((await s.view(executionId)).runId, own)
      assert.deepEqual([(await g.get(own)).status, (await g.get(runId)).status], ['SUCCEEDED', 'SUCCEEDED'])
    })
  }

  test(`${name}: one that is in no graph any more runs alone`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a,b', { b: { overlapPolicy: 'SKIP' } })
    const executionId = s.ids.nextBatch()
    const runId = await g.fire('a', 0)
    await g.fire('b', 0, { executionId })
    await depend(g, 'c', 'a')
    await g.step()
    assert.equal((await s.view(executionId)).runId, null)
    await s.runAll()
    await g.step()
    assert.equal(await s.statusOf(executionId), 'SUCCEEDED')
    assert.deepEqual(await g.states(runId), { a: 'succeeded', c: 'going' })
    assert.equal(await s.tryFire(g.jobOf('b'), 1), 'fired', 'nothing of it is under way')
  })

  test(`${name}: a run that was cancelled before it was made is, with the roots that have left it`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a d>b e>c,d')
    const executionId = s.ids.nextBatch()
    const runId = await g.fire('a', 0)
    await g.fire('b', 0, { executionId })
    assert.deepEqual(await g.cancel(runId), { kind: 'cancelling' })
    await depend(g, 'e', 'c')
    assert.deepEqual((await g.step()).over, ['CANCELLED', 'CANCELLED'])
    assert.deepEqual(await g.states(executionId), { b: 'cancelled', d: 'cancelled' })
    assert.deepEqual(await g.states(runId), { a: 'cancelled', c: 'cancelled', e: 'cancelled' })
  })
}

function testJoined(name: string, setup: Setup): void {
  test(`${name}: a root that comes into a run in which it is no node has one of its own`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a z x>z', { z: { overlapPolicy: 'SKIP' } })
    const runId = await g.fire('a', 0)
    await g.step()
    await depend(g, 'b', 'a', 'z')
    const executionId = s.ids.nextBatch()
    assert.equal(await g.fire('z', 0, { executionId }), runId)
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'blocked' })
    // None of the other jobs that it runs after has ended.
    assert.deepEqual(await g.states(executionId), { z: 'going', x: 'blocked', b: 'dependency', a: 'absent' })
    await s.runAll()
    await g.step()
    assert.deepEqual(await g.states(runId), { a: 'succeeded', b: 'going' })
    const tryFire = async (second: number) =>
      (await s.slots.fire([await g.slotOf('z', second)]))[0]?.answer ?? 'fired'
    assert.equal(await tryFire(1), 'overlap', 'its run goes on')
    await g.finish(executionId, 'x')
    assert.equal((await g.get(executionId)).status, 'SUCCEEDED')
    assert.equal(await tryFire(2), 'fired', 'the run that it is no node of is not in its way')
    await g.finish(runId, 'b')
    assert.equal((await g.get(runId)).status, 'SUCCEEDED')
  })

  test(`${name}: a root that comes into an ended run in which it is no node has a run of its own`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a z x>z')
    const runId = await g.fire('a', 0)
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'b')
    const before = await g.get(runId)
    await depend(g, 'b', 'a', 'z')
    const executionId = s.ids.nextBatch()
    assert.equal(await g.fire('z', 0, { executionId }), runId)
    await g.step()
    await g.finish(executionId, 'z')
    const ends = { z: 'succeeded', x: 'going', b: 'going', a: 'succeeded' }
    assert.deepEqual(await g.states(executionId), ends)
    assert.deepEqual(await g.get(runId), before)
  })
}

function testResumed(name: string, setup: Setup): void {
  test(`${name}: a root that fires into a run that was resumed without it has one of its own`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b c>a d>a,b')
    const { slotAt } = await g.edit('b', pause())
    const second = (slotAt! - s.at(0)) / 1_000
    const runId = await g.fire('a', second, { dueAt: s.at(0) })
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'c', 'failed')
    assert.equal((await g.get(runId)).status, 'FAILED')
    assert.equal((await g.resume(runId)).kind, 'resumed')
    // As if it had been resumed before the slot, which is late then.
    await g.edit('b', resume(slotAt!))
    const other = await s.createJob({ name: 'other' })
    const executionId = s.ids.nextBatch()
    const items = [
      await g.slotOf('b', second, { executionId, dueAt: s.at(0) }),
      s.slotOf(other, 0, { ownRow: true }),
    ]
    assert.deepEqual(await s.slots.fire(items), [])
    await g.step()
    assert.deepEqual(await g.states(executionId), { b: 'going', d: 'blocked', a: 'succeeded' })
    await g.finish(executionId, 'b')
    await g.finish(executionId, 'd')
    assert.equal((await g.get(executionId)).status, 'SUCCEEDED')
    // The run that was resumed still goes on, and counts.
    assert.equal((await g.get(runId)).status, 'RUNNING')
    await g.edit('b', edit({ overlapPolicy: 'SKIP' }))
    const tryFire = async (at: number) => {
      const item = await g.slotOf('b', at, { version: 2, overlapPolicy: 'SKIP', dueAt: s.at(0) })
      return (await s.slots.fire([item]))[0]?.answer ?? 'fired'
    }
    assert.equal(await tryFire(second + 1), 'overlap')
    await g.finish(runId, 'c')
    assert.equal((await g.get(runId)).status, 'SUCCEEDED')
    assert.equal(await tryFire(second + 2), 'fired')
  })
}

function testTurned(name: string, setup: Setup): void {
  test(`${name}: two runs of a graph that was reversed both end, regardless of the executions ahead of their nodes`, async (t) => {
    const s = await setup(t)
    const skip = { overlapPolicy: 'SKIP' } as const
    const g = await makeGraph(s, 'j k>j', { j: skip, k: skip })
    const [j, k] = [g.jobOf('j'), g.jobOf('k')]
    const first = await g.trigger('j')
    await g.step()
    await g.depend('k', edit({ dependsOn: [], schedule: j.schedule }))
    await depend(g, 'j', 'k')
    const second = await g.trigger('k')
    await g.step()
    // People trigger both, more often than is looked at.
    const triggers = Array.from({ length: waitingMax }, () => [j, k]).flat()
    for (const { tenantId, jobId } of triggers) {
      const order = { tenantId, jobId, executionId: s.ids.nextBatch(), lane: sharedLane }
      assert.equal((await s.jobs.trigger(order)).kind, 'triggered')
    }
    await g.end(first, 'j')
    await g.end(second, 'k')
    await g.step()
    const isOpen = async () =>
      (await g.get(first)).finishedAt === null || (await g.get(second)).finishedAt === null
    for (let rounds = 0; await isOpen(); rounds++) {
      assert(rounds < 10, 'they wait for each other')
      await s.release(j, k)
      await s.runAll()
      await g.step()
    }
    assert.deepEqual([(await g.get(first)).status, (await g.get(second)).status], ['SUCCEEDED', 'SUCCEEDED'])
  })
}
