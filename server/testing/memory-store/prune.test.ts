import assert from 'node:assert/strict'
import test from 'node:test'
import { createAfter, runOn, stepRuns } from '../../test/conformance/graphs/run-scene.ts'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from './open-memory-store.ts'

async function setup() {
  const world = createVirtualWorld()
  const ports = openMemoryStore(world.clock)
  const s = await createScenario({
    ...ports,
    ids: world.ids,
    now: async () => world.clock.databaseNow(),
  })
  const { store, executions } = ports
  return { s, world, store, prune: () => executions.prune(world.clock.databaseNow()) }
}

test('pruned executions are gone from history and still counted', async () => {
  const { s, world, store, prune } = await setup()
  const job = await s.createJob()
  const pruned = await s.fire(job, 0)
  await s.runAll()
  await world.advance(1)
  prune()
  const kept = await s.fire(job, 1)
  await s.runAll()
  assert.equal(await s.executions.getExecution(job.tenantId, pruned), null)
  assert.deepEqual(
    (await s.list(job)).executions.map(({ executionId }) => executionId),
    [kept],
  )
  assert.deepEqual([store.log.ended, store.log.counts.succeeded], [2, 2])
})

test('the log of an execution goes with it', async () => {
  const { s, world, prune } = await setup()
  const job = await s.createJob()
  const executionId = await s.fire(job, 0)
  const part = { tenantId: job.tenantId, executionId, attempt: 1, firstLine: 0 }
  await s.logs.append([{ ...part, lines: [{ at: s.at(1), level: 'info', message: 'hello' }] }])
  const read = () => s.logs.read({ ...part, attempt: null, after: null, limit: 10 })
  await world.advance(1)
  prune()
  assert.equal((await read()).lines.length, 1)
  await s.runAll()
  await world.advance(1)
  prune()
  assert.deepEqual((await read()).lines, [])
})

test('a graph run goes once it has ended', async () => {
  const { s, world, store, prune } = await setup()
  const root = await s.createJob()
  await createAfter(s, [root])
  await s.trigger(root)
  await stepRuns(s)
  for (const left of [1, 1, 0]) {
    await world.advance(1)
    prune()
    assert.equal(store.graphRuns.size, left)
    await runOn(s)
  }
})

test('an execution between two attempts keeps its earlier attempts', async () => {
  const { s, world, prune } = await setup()
  const executionId = await s.fire(await s.createJob(), 0)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
  await world.advance(1)
  prune()
  assert.equal((await s.view(executionId)).attempts.length, 1)
})

test('a slot with a pruned record does not fire again', async () => {
  const { s, store, prune } = await setup()
  const job = await s.createJob()
  for (const second of [0, 1, 2]) {
    await s.fire(job, second)
    await s.runAll()
  }
  prune()
  assert.equal(store.jobs.get(job.jobId)!.slots.size, 3)
  await s.fire(job, 3, { move: { slotAt: s.at(4), dueAt: s.at(4), decidedTo: s.at(3) } })
  prune()
  assert.equal(store.jobs.get(job.jobId)!.slots.size, 1)
  for (const second of [0, 1, 2, 3]) assert.equal(await s.tryFire(job, second), 'already_recorded')
  assert.equal(await s.tryFire(job, 4), 'overlap')
})

test('an owed slot that has its record is not run again after pruning', async () => {
  const { s, prune } = await setup()
  const job = await s.createJob()
  await s.fire(job, 1)
  await s.runAll()
  await s.fire(job, 0, { late: true, owedTo: s.at(3) })
  await s.runAll()
  prune()
  assert.equal((await s.release(job)).ready, 1)
  assert.equal((await s.claimLive(await s.addWorker())).slot, s.at(2))
})
