import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import type { Dependency } from '../domain/graphs/graph.ts'
import { noSchedule } from '../domain/jobs/job.ts'
import { LaneChooser } from '../domain/queue/lane.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { RunSteps, Stepped } from '../ports/graph-runs.ts'
import type { NewJob } from '../ports/jobs.ts'
import { graphRunFinished, graphRunQuarantined } from '../telemetry/events.ts'
import { RunStepper } from './step-runs.ts'

const nothing: Stepped = { ready: 0, waiting: false, cancelled: false, over: [], settled: [] }

async function setup(changes: Partial<Pick<RunSteps, 'findNoted' | 'step'>> = {}) {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  /** The callbacks called, in order. */
  const told: string[] = []
  const { clock, ids } = world
  const { runSteps } = ports
  const stepper = new RunStepper({
    ...{ clock, ids, lanes: new LaneChooser() },
    runSteps: {
      findNoted: (limit, unfired) => runSteps.findNoted(limit, unfired),
      step: (runIds, tools) => runSteps.step(runIds, tools),
      ...changes,
    },
    onReady: () => void told.push('ready'),
    onWaiting: () => void told.push('waiting'),
    onCancelled: () => void told.push('cancelled'),
    onOver: () => void told.push('over'),
  })
  /** A job that runs after others. */
  const createAfter = (name: string, ...parents: readonly NewJob[]) => {
    const dependsOn = parents.map(({ jobId }): Dependency => ({ jobId, on: 'success' }))
    return scenario.createJob({ name, dependsOn, schedule: noSchedule, slotAt: null })
  }
  /** Claims every claimable execution, ends each with `ending` and returns the names of their jobs. */
  async function runReady(ending = scenario.succeeded()): Promise<string[]> {
    const workerId = await scenario.addWorker()
    const { live } = await scenario.claim(workerId)
    for (const one of live) await scenario.finishLive(workerId, one, ending)
    return live.map(({ jobId }) => store.jobs.get(jobId)!.versions.get(1)!.name).toSorted()
  }
  /** Steps until there is nothing more to do at once. */
  async function stepAll(): Promise<'idle' | number> {
    for (let i = 0; i < 20; i++) {
      const more = await stepper.step()
      if (more !== 'more') return more
    }
    assert.fail('it does not come to rest')
  }
  return { ...scenario, world, store, runSteps, told, stepper, createAfter, runReady, stepAll }
}

test('a diamond runs in order, each node once, and every interested party is notified', async (t) => {
  const s = await setup()
  const finished: string[] = []
  const subscription = graphRunFinished.subscribe(({ status }) => finished.push(status))
  t.after(() => subscription[Symbol.dispose]())
  const a = await s.createJob({ name: 'a' })
  const b = await s.createAfter('b', a)
  const c = await s.createAfter('c', a)
  await s.createAfter('d', b, c)
  await s.trigger(a)
  for (const names of [['a'], ['b', 'c'], ['d']]) {
    await s.stepAll()
    assert.deepEqual(await s.runReady(), names)
  }
  assert.deepEqual(s.told, ['ready', 'ready'], 'the root goes by itself')
  assert.deepEqual(finished, [])
  await s.stepAll()
  assert.deepEqual(s.told, ['ready', 'ready', 'waiting', 'over'])
  assert.deepEqual(finished, ['SUCCEEDED'])
  assert.deepEqual([s.store.live.size, s.store.runNotes.size, s.store.runRoots.size], [0, 0, 0])
})

test('a step is not done twice when its reply was lost', async () => {
  let lose = false
  const s: Awaited<ReturnType<typeof setup>> = await setup({
    async step(runIds, tools) {
      const stepped = await s.runSteps.step(runIds, tools)
      if (lose) throw new Unavailable('the store')
      return stepped
    },
  })
  const a = await s.createJob({ name: 'a' })
  await s.createAfter('b', a)
  await s.trigger(a)
  lose = true
  await assert.rejects(s.stepper.step(), Unavailable)
  await s.runReady()
  await assert.rejects(s.stepper.step(), Unavailable)
  lose = false
  await s.stepAll()
  assert.deepEqual(await s.runReady(), ['b'])
  assert.deepEqual(await s.runReady(), [])
})

test('cancelling a run notifies the worker of its running execution, and reports that something waits', async () => {
  const s = await setup()
  const a = await s.createJob({ name: 'a' })
  await s.createAfter('b', a)
  const runId = await s.trigger(a)
  await s.stepAll()
  await s.claimLive(await s.addWorker())
  const cancel = { runId, what: 'cancel', jobId: a.jobId, executionId: runId, message: 'enough' } as const
  s.store.addRunNote({ ...cancel, at: await s.now() })
  s.told.length = 0
  await s.stepAll()
  assert.deepEqual(s.told, ['waiting', 'cancelled'])
})

test('while no run is open hints are looked into only now and then', async () => {
  let looks = 0
  const s = await setup({
    async findNoted() {
      looks += 1
      return []
    },
  })
  assert.equal(await s.stepper.step(), 'idle')
  await s.world.advance(5)
  assert.equal(await s.stepper.step(), 15, 'the rest of the time until the next look')
  assert.equal(looks, 1)
  await s.world.advance(15)
  assert.equal(await s.stepper.step(), 'idle')
  assert.equal(looks, 2)
})

test('while a run is open every hint is looked into, and it is looked often without one', async () => {
  const s = await setup()
  const a = await s.createJob({ name: 'a' })
  await s.createAfter('b', a)
  await s.trigger(a)
  assert.equal(await s.stepper.step(), 100)
  await s.runReady()
  assert.equal(await s.stepper.step(), 'more')
  await s.world.advance(500)
  assert.equal(await s.stepAll(), 100)
  await s.world.advance(500)
  assert.equal(await s.stepAll(), 'idle', 'nothing was noted for a second')
})

test('runs that never come to an end make way for others after some pages', async () => {
  const s = await setup({ findNoted: async () => ['x'], step: async () => ({ ...nothing, ready: 1 }) })
  for (let i = 0; i < 9; i++) assert.equal(await s.stepper.step(), 'more')
  assert.equal(await s.stepper.step(), 100)
  assert.equal(await s.stepper.step(), 'more')
})

test('a full page of runs is followed by the next page, unless other processes hold all of its runs', async () => {
  let found = 200
  const s = await setup({
    findNoted: async (limit) => Array.from({ length: Math.min(found, limit) }, (_, i) => `${i}`),
    step: async () => nothing,
  })
  assert.equal(await s.stepper.step(), 'more')
  found = 199
  assert.equal(await s.stepper.step(), 100)
})

test('roots that are still to fire are looked for once a second', async () => {
  const asked: boolean[] = []
  const s = await setup({
    async findNoted(_limit, unfired) {
      asked.push(unfired)
      return []
    },
  })
  for (const waitMs of [0, 500, 400, 100, 500, 500]) {
    await s.world.advance(waitMs)
    await s.stepper.step()
  }
  assert.deepEqual(asked, [true, false, false, true, false, true])
})

test('the rest that was too much for one step is followed by the next step', async () => {
  let left = true
  const step = async (): Promise<Stepped> => (left ? { ...nothing, left } : nothing)
  const s = await setup({ findNoted: async () => ['x'], step })
  assert.equal(await s.stepper.step(), 'more')
  left = false
  assert.equal(await s.stepper.step(), 100)
})

test('after a failure fewer runs are looked at, and more again once that has worked', async () => {
  const all = Array.from({ length: 300 }, (_, n) => `${n}`)
  const looked: number[] = []
  const s = await setup({
    findNoted: async (limit) => all.slice(0, limit),
    async step(runIds) {
      looked.push(runIds.length)
      if (runIds.length > 50 && looked.length < 6) throw new Unavailable('the store')
      return nothing
    },
  })
  for (let i = 0; i < 8; i++) await s.stepper.step().catch(() => {})
  assert.deepEqual(looked, [200, 100, 50, 100, 50, 100, 200, 200])
})

test('a run that fails each time holds up no others, is tried alone now and then, and goes on once that works', async (t) => {
  const noted = new Set(['bad', 'b', 'c'])
  let isMended = false
  const tried: string[] = []
  const s = await setup({
    findNoted: async (limit, _unfired, except = []) => [...noted.difference(new Set(except))].slice(0, limit),
    async step(runIds) {
      tried.push(runIds.join(' '))
      if (runIds.includes('bad') && !isMended) throw new Unavailable('the store')
      for (const runId of runIds) noted.delete(runId)
      return nothing
    },
  })
  const quarantined: string[] = []
  const subscription = graphRunQuarantined.subscribe(({ runId }) => quarantined.push(runId))
  t.after(() => subscription[Symbol.dispose]())
  const stepTimes = async (times: number) => {
    for (let i = 0; i < times; i++) await s.stepper.step().catch(() => {})
    return tried.splice(0)
  }
  assert.deepEqual(await stepTimes(6), ['bad b c', 'bad', 'bad', 'bad', 'b', 'c'])
  assert.deepEqual(await stepTimes(1), [])
  await s.world.advance(30_000)
  assert.deepEqual(await stepTimes(2), ['bad'], 'it is quarantined again, for longer')
  await s.world.advance(59_900)
  assert.deepEqual(await stepTimes(1), [])
  isMended = true
  await s.world.advance(100)
  assert.deepEqual(await stepTimes(1), ['bad'])
  noted.add('bad')
  assert.deepEqual(await stepTimes(1), ['bad'], 'it is one among others again')
  assert.deepEqual(quarantined, ['bad'])
})
