// Conformance: an execution that may have killed its worker waits apart from the others, so that it takes none of them
// with it again.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { suspectHost } from '../../../src/domain/queue/route.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { ClaimedLive } from '../../../src/ports/queue.ts'
import type { StoreScenario } from '../stores.ts'
import { http, lose } from './held.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const shell = { ...http, type: 'shell', command: '/bin/true', args: [], env: {} } as const

function claimSuspects(s: StoreScenario, workerId: string, count = 1): Promise<ClaimedLive[]> {
  const hosts = [{ host: suspectHost, count }]
  const order = { workerId, routes: ['shell'], lanes: [], hosts, batchesMax: 1 }
  return s.queue.claim(order).then(({ live }) => live)
}

/** Loses the executions that wait on the route with a worker that claims them. */
async function loseAgain(s: StoreScenario, count: number): Promise<void> {
  const lost = await s.addWorker()
  const { live } = await s.claimOn(lost, ['shell'])
  assert.deepEqual(
    live.map(({ suspect }) => suspect),
    Array(count).fill(false),
  )
  await lose(s, lost)
}

/** A batch of commands that was lost with two workers. */
async function loseBatch(s: StoreScenario, count: number) {
  const jobs: NewJob[] = []
  for (let i = 0; i < count; i++) jobs.push(await s.createJob({ execution: shell }))
  const { executionIds } = await s.fireBatch(jobs, 0)
  const lost = await s.addWorker()
  const claimed = await s.claimOn(lost, ['shell'])
  assert.equal(claimed.batches.length, 1)
  await lose(s, lost)
  await loseAgain(s, count)
  return executionIds
}

export function testSuspects(name: string, setup: Setup): void {
  test(`${name}: an execution lost with two workers that it may have killed is claimed one at a time`, async (t) => {
    const s = await setup(t)
    const executionIds = await loseBatch(s, 2)
    assert.deepEqual(await s.queue.waiting(['shell'], 10), { lanes: [], hosts: [suspectHost] })
    const workerId = await s.addWorker()
    assert.deepEqual(await s.claimOn(workerId, ['shell']), { batches: [], live: [] })
    const [first, ...more] = await claimSuspects(s, workerId)
    assert.deepEqual(more, [])
    const [second] = await claimSuspects(s, workerId)
    assert.deepEqual([first!.executionId, second!.executionId].toSorted(), executionIds)
    for (const { suspect, attempt, losses, fence } of [first!, second!])
      assert.deepEqual([suspect, attempt, losses, fence], [true, 3, 2, 3])
  })

  test(`${name}: a single execution that was lost so waits apart too`, async (t) => {
    const s = await setup(t)
    const executionId = await s.trigger(await s.createJob({ execution: shell }))
    const lost = await s.addWorker()
    const [live] = (await s.claimOn(lost, ['shell'])).live
    assert.equal(live!.suspect, false)
    await lose(s, lost)
    await loseAgain(s, 1)
    const [again] = await claimSuspects(s, await s.addWorker())
    assert.deepEqual([again!.executionId, again!.suspect], [executionId, true])
  })

  test(`${name}: one loss makes none a suspect: all are claimed together again`, async (t) => {
    const s = await setup(t)
    await s.fireBatch([await s.createJob({ execution: shell }), await s.createJob({ execution: shell })], 0)
    const single = await s.trigger(await s.createJob({ execution: shell }))
    const lost = await s.addWorker()
    await s.claimOn(lost, ['shell'])
    await lose(s, lost)
    assert.deepEqual((await s.queue.waiting(['shell'], 10)).hosts, [])
    const { live } = await s.claimOn(await s.addWorker(), ['shell'])
    assert.deepEqual(
      live.map(({ suspect, losses }) => [suspect, losses]),
      Array(3).fill([false, 1]),
    )
    assert(live.some(({ executionId }) => executionId === single))
  })

  test(`${name}: an execution lost with workers of HTTP calls is never suspected`, async (t) => {
    const s = await setup(t)
    await s.fireBatch([await s.createJob(), await s.createJob()], 0)
    const lost = await s.addWorker()
    await s.claimBatch(lost)
    await lose(s, lost)
    const another = await s.addWorker()
    await s.claim(another)
    await lose(s, another)
    const { live } = await s.claim(await s.addWorker())
    assert.deepEqual(
      live.map(({ suspect }) => suspect),
      [false, false],
    )
  })

  test(`${name}: one that is handed back unstarted is still suspected`, async (t) => {
    const s = await setup(t)
    await loseBatch(s, 1)
    const workerId = await s.addWorker()
    const [first] = await claimSuspects(s, workerId)
    await s.finishLive(workerId, first!, { kind: 'unstarted', host: null })
    const [second] = await claimSuspects(s, workerId)
    assert.equal(second!.suspect, true)
    assert.equal(await s.queue.releaseUnknown(workerId, []), 1)
    const [third] = await claimSuspects(s, workerId)
    const { executionId, jobId, attempt, fence } = third!
    const mark = { executionId, jobId, attempt, fence, workerId }
    await s.attempts.report([{ ...mark, ending: { kind: 'unstarted' } }])
    const [fourth] = await claimSuspects(s, workerId)
    assert.deepEqual([fourth!.suspect, fourth!.attempt], [true, 3])
  })

  test(`${name}: one that ended and is tried again is suspected no more`, async (t) => {
    const s = await setup(t)
    const [executionId] = await loseBatch(s, 1)
    const workerId = await s.addWorker()
    const [first] = await claimSuspects(s, workerId)
    await s.finishLive(workerId, first!, s.failedForNow())
    await s.maintenance.wake(1)
    const { live } = await s.claimOn(workerId, ['shell'])
    assert.deepEqual(
      live.map((one) => [one.executionId, one.suspect, one.attempt]),
      [[executionId, false, 4]],
    )
  })
}
