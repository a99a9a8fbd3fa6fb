import assert from 'node:assert/strict'
import test from 'node:test'
import { accepted, setupWorker } from '../../test/worker-scene.ts'
import type { NewJob } from '../ports/jobs.ts'

/** A worker with a batch in flight: for each answer an execution with its own host. */
async function setup(t: test.TestContext, answers: readonly Parameters<Scene['createCalled']>[0][]) {
  const scene = await setupWorker(t)
  const worker = await scene.start()
  const jobs: NewJob[] = []
  for (const answer of answers) jobs.push(await scene.createCalled(answer))
  const { executionIds } = await scene.fireBatch(jobs, 0)
  await worker.claim()
  const mark = (executionId: string) => {
    const { jobId } = jobs[executionIds.indexOf(executionId)]!
    return { executionId, jobId, attempt: 1, fence: 1, workerId: null }
  }
  return {
    ...scene,
    ...{ worker, jobs, executionIds },
    /** The target gives a sign of life: the execution leaves its batch. */
    beat: (executionId: string) => scene.ports.attempts.update([{ ...mark(executionId), alive: true }]),
    /** The target reports the end by itself. */
    complete: (executionId: string) =>
      scene.ports.attempts.report([
        { ...mark(executionId), ending: scene.succeeded({ preview: 'by token' }) },
      ]),
  }
}
type Scene = Awaited<ReturnType<typeof setupWorker>>

test('when one execution has left its batch, each execution is recorded and emitted once', async (t) => {
  const { executionIds, beat, turn, worker, statusOf, attemptsOf, finishedIds, refused } = await setup(t, [
    {},
    {},
    {},
  ])
  await beat(executionIds[1]!)
  await turn(worker)
  for (const executionId of executionIds) {
    assert.equal(await statusOf(executionId), 'SUCCEEDED')
    assert.deepEqual(attemptsOf(executionId), [[1, 'succeeded']])
  }
  assert.deepEqual([finishedIds(), refused], [executionIds.toSorted(), []])
  assert.equal(worker.isIdle, true)
})

test('when all executions have left their batch, each is recorded and emitted once', async (t) => {
  const { executionIds, beat, turn, worker, attemptsOf, finishedIds, refused } = await setup(t, [
    {},
    { status: 404 },
  ])
  for (const executionId of executionIds) await beat(executionId)
  await turn(worker)
  assert.deepEqual(executionIds.map(attemptsOf), [[[1, 'succeeded']], [[1, 'failed']]])
  assert.deepEqual([finishedIds(), refused], [executionIds.toSorted(), []])
  assert.equal(worker.isIdle, true)
})

for (const answers of [1, 2, 3]) {
  test(`executions that left their batch are recorded and emitted once when ${answers} answers to its writes are lost`, async (t) => {
    const s = await setup(t, [{}, { status: 500 }, {}, { afterMs: 250 }])
    const { executionIds, beat, turn, pass, worker, attemptsOf, finishedIds, refused } = s
    await beat(executionIds[1]!)
    await beat(executionIds[3]!)
    s.lost.answers = answers
    await pass(worker, 200)
    await turn(worker)
    await pass(worker, 300)
    const ended = ['succeeded', 'failed', 'succeeded', 'succeeded']
    assert.deepEqual(
      executionIds.map(attemptsOf),
      ended.map((outcome) => [[1, outcome]]),
    )
    assert.deepEqual([finishedIds(), refused], [executionIds.toSorted(), []])
    assert.equal(worker.isIdle, true)
  })
}

test('an execution that left its batch while it ran goes on and is recorded when it ends', async (t) => {
  const s = await setup(t, [{ afterMs: 5_000 }, {}])
  const [slow] = s.executionIds
  await s.beat(slow!)
  await s.pass(s.worker, 300)
  assert.equal(await s.statusOf(slow!), 'RUNNING')
  await s.pass(s.worker, 5_000)
  assert.deepEqual([s.attemptsOf(slow!), s.refused], [[[1, 'succeeded']], []])
  assert.equal(s.worker.isIdle, true)
})

for (const others of [0, 1]) {
  test(`a target that reports the end while the call runs decides the outcome, with ${others} others in the batch`, async (t) => {
    const s = await setup(t, [
      { afterMs: 5_000, body: 'by answer' },
      ...Array.from({ length: others }, () => ({})),
    ])
    const [done] = s.executionIds
    await s.complete(done!)
    await s.pass(s.worker, 6_000)
    const { status, attempts } = await s.view(done!)
    assert.deepEqual([status, attempts.length, attempts[0]!.preview], ['SUCCEEDED', 1, 'by token'])
    assert.equal(attempts[0]!.workerId, s.worker.lease.workerId, 'this worker held it')
    assert.deepEqual(
      [s.finishedIds(), s.refused],
      [s.executionIds.slice(1), []],
      'the API has emitted its end',
    )
    assert.equal(s.worker.isIdle, true)
  })
}

test('an execution that waits for its host and has left its batch goes back', async (t) => {
  const s = await setupWorker(t)
  const worker = await s.start({}, { capacity: 8 })
  const job = await s.createCalled({ afterMs: 60_000 })
  const { executionIds } = await s.fireBatch([job, await s.createJob({ execution: job.execution })], 0)
  await worker.claim()
  const [first, second] = executionIds
  const mark = { executionId: second!, jobId: 'any', attempt: 1, fence: 1, workerId: null }
  await s.ports.attempts.update([{ ...mark, alive: true }])
  await s.world.advance(200)
  await worker.expireBatches()
  await worker.finish()
  assert.equal(await s.statusOf(first!), 'RUNNING')
  const { state, attempt, workerId } = s.store.live.get(second!)!
  assert.deepEqual({ state, attempt, workerId }, { state: 'ready', attempt: 0, workerId: null })
  assert.deepEqual([s.finishedIds(), s.refused, worker.inFlight.size], [[], [], 1])
})

test('an accepted execution belongs to its target until it ends, and the worker has room again', async (t) => {
  const s = await setup(t, [{ ...accepted, afterMs: 50 }, {}])
  const [awaited] = s.executionIds
  await s.pass(s.worker, 100)
  const { state, workerId, callerId, deadline, startedAt } = s.store.live.get(awaited!)!
  assert.deepEqual([state, workerId, callerId], ['awaiting', null, s.worker.lease.workerId])
  assert.equal(deadline! - startedAt!, 60_000)
  assert.deepEqual([s.finishedIds(), s.worker.isIdle], [[s.executionIds[1]], true])
  await s.complete(awaited!)
  assert.deepEqual(s.attemptsOf(awaited!), [[1, 'succeeded']])
})

test('an accepted execution with its own row belongs to its target until it ends', async (t) => {
  const s = await setupWorker(t)
  const worker = await s.start()
  const executionId = await s.trigger(await s.createCalled({ ...accepted, afterMs: 50 }))
  await s.turn(worker)
  await s.pass(worker, 100)
  assert.equal(s.store.live.get(executionId)!.state, 'awaiting')
  assert.deepEqual([s.finishedIds(), s.refused, worker.isIdle], [[], [], true])
  assert.deepEqual(s.after, [{ retries: false, handedBack: false }], 'no other worker is to claim it')
})

test('a completion that comes before the worker has written that the execution is awaited is its end', async (t) => {
  const s = await setup(t, [{ ...accepted, afterMs: 50 }, { afterMs: 100 }])
  const [awaited] = s.executionIds
  await s.world.advance(60)
  await s.complete(awaited!)
  await s.pass(s.worker, 300)
  const { status, attempts } = await s.view(awaited!)
  assert.deepEqual([status, attempts.length, attempts[0]!.preview], ['SUCCEEDED', 1, 'by token'])
  assert.deepEqual([s.finishedIds(), s.refused], [[s.executionIds[1]], []])
  assert.equal(s.worker.isIdle, true)
})

for (const kind of ['batch', 'live'] as const) {
  test(`a lost answer to the write of an awaited execution changes nothing: ${kind}`, async (t) => {
    const s = await setupWorker(t)
    const worker = await s.start()
    const job = await s.createCalled(accepted)
    const executionId = kind === 'batch' ? await s.fire(job, 0) : await s.trigger(job)
    s.lost.answers = 1
    await s.turn(worker)
    assert.equal(s.store.live.get(executionId)!.state, 'awaiting')
    assert.deepEqual([s.finishedIds(), s.refused, worker.isIdle], [[], [], true])
  })
}

test('an execution that was reclaimed before it could be awaited is refused, and runs again', async (t) => {
  const s = await setup(t, [{ ...accepted, afterMs: 50 }])
  const [lease] = await s.maintenance.watch()
  await s.world.advance(60)
  await s.maintenance.reclaim(lease!)
  await s.worker.finish()
  assert.deepEqual([s.refused, s.finishedIds()], [s.executionIds, []])
  assert.equal(s.store.live.get(s.executionIds[0]!)!.state, 'ready')
})
