import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { LaneChooser } from '../domain/queue/lane.ts'
import type { NewJob } from '../ports/jobs.ts'
import { Releaser } from './release-waiting.ts'

const other = '0192abcd-ef01-7000-8000-000000000002'

async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  /** The callbacks called, in order. */
  const told: string[] = []
  const { clock, ids } = world
  const releaser = new Releaser({
    ...{ clock, ids, lanes: new LaneChooser(), maintenance: ports.maintenance },
    onReady: () => void told.push('ready'),
    onCancelled: () => void told.push('cancelled'),
    onPlanned: () => void told.push('planned'),
  })
  const { at } = scenario
  return {
    ...scenario,
    ...{ world, store, told, releaser },
    /** Fires second 0 of a job, which owes every slot up to second `to`. */
    fireOwing: (job: NewJob, to: number) =>
      scenario.fire(job, 0, {
        late: true,
        owedTo: at(to),
        move: { slotAt: at(to + 1), dueAt: at(to + 1), decidedTo: at(to) },
      }),
    /** The claimable executions of the job: kind and second, or the trigger's id. */
    claimable({ jobId }: NewJob): (number | string)[] {
      const rows = [...store.live.values()].filter((row) => row.jobId === jobId && row.state === 'ready')
      return rows.map(({ kind, slot, executionId }) =>
        kind === 'slot' ? (slot - at(0)) / 1_000 : executionId,
      )
    },
    /** Jobs of which an execution is under way and a trigger waits. */
    async createWaiting(count: number) {
      const jobs: NewJob[] = []
      for (let i = 0; i < count; i++) jobs.push(await scenario.createJob())
      for (let i = 0; i < count; i += 100) await scenario.fireBatch(jobs.slice(i, i + 100), 0)
      for (const job of jobs) await scenario.trigger(job)
      return jobs
    },
    async runAllOf(count: number) {
      const workerId = await scenario.addWorker()
      const { batches } = await scenario.claim(workerId, count)
      for (const batch of batches) await scenario.finishBatch(workerId, batch, scenario.succeeded())
    },
  }
}

test('while nothing waits the step is idle, while something waits it comes back soon', async () => {
  const { releaser, createJob, fire, trigger, told } = await setup()
  assert.equal(await releaser.step(), 'idle')
  const job = await createJob()
  await fire(job, 0)
  await trigger(job)
  assert.equal(await releaser.step(), 100)
  assert.deepEqual(told, [], 'nobody is told for nothing')
})

test('triggers wait for the live execution and go one at a time, in the order they came', async () => {
  const { releaser, createJob, fire, trigger, world, runAll, claimable, told } = await setup()
  const job = await createJob()
  await fire(job, 0)
  const triggers = []
  for (let i = 0; i < 3; i++) {
    triggers.push(await trigger(job))
    await world.advance(1)
  }
  await releaser.step()
  assert.deepEqual(claimable(job), [])
  await runAll()
  for (const [i, executionId] of triggers.entries()) {
    await releaser.step()
    assert.deepEqual(claimable(job), [executionId])
    await releaser.step()
    assert.deepEqual(claimable(job), [executionId], 'the next one waits for it')
    assert.deepEqual(told, Array(i + 1).fill('ready'))
    await runAll()
  }
  assert.equal(await releaser.step(), 'idle')
})

test('owed slots go one after the other, in order, each once', async () => {
  const { releaser, createJob, fireOwing, runAll, claimable, owedBy, list, at } = await setup()
  const job = await createJob()
  await fireOwing(job, 4)
  await releaser.step()
  assert.deepEqual(claimable(job), [], 'the first one is under way')
  await runAll()
  for (const second of [1, 2, 3, 4]) {
    await releaser.step()
    assert.deepEqual(claimable(job), [second])
    await releaser.step()
    assert.deepEqual(claimable(job), [second])
    await runAll()
  }
  assert.equal(await owedBy(job), null)
  assert.equal(await releaser.step(), 'idle')
  const { executions } = await list(job)
  assert.deepEqual(
    executions.map(({ slot, status, kind }) => [slot, status, kind]),
    [4, 3, 2, 1, 0].map((second) => [at(second), 'SUCCEEDED', 'slot']),
  )
})

test('only slots that the schedule has are owed', async () => {
  const { releaser, createJob, fireOwing, runAll, claimable, owedBy } = await setup()
  const job = await createJob({ schedule: { type: 'CRON', cron_expression: '*/3 * * * * *' } })
  await fireOwing(job, 6)
  await runAll()
  for (const second of [3, 6]) {
    await releaser.step()
    assert.deepEqual(claimable(job), [second])
    await runAll()
  }
  assert.equal(await owedBy(job), null)
})

test('a range in which the schedule has no slot any more is owed no longer', async () => {
  const { releaser, createJob, store, at, owedBy, claimable } = await setup()
  const job = await createJob({ schedule: { type: 'CRON', cron_expression: '0 0 1 1 *' } })
  store.setOwed(store.jobs.get(job.jobId)!, { from: at(1), to: at(5), paceMs: 0, nextAt: at(0) })
  await releaser.step()
  assert.equal(await owedBy(job), null)
  assert.deepEqual(claimable(job), [])
  assert.equal(await releaser.step(), 'idle')
})

test('a trigger goes before the slots that are owed', async () => {
  const { releaser, createJob, fireOwing, trigger, runAll, claimable } = await setup()
  const job = await createJob()
  await fireOwing(job, 2)
  const triggered = await trigger(job)
  await runAll()
  for (const expected of [triggered, 1, 2]) {
    await releaser.step()
    assert.deepEqual(claimable(job), [expected])
    await runAll()
  }
})

test('owed slots are enqueued with the job’s priority and into its tenant’s lane', async () => {
  const { releaser, createJob, fireOwing, runAll, store } = await setup()
  const job = await createJob({ priority: 8 })
  await fireOwing(job, 1)
  await runAll()
  await releaser.step()
  const [row] = [...store.live.values()]
  assert.deepEqual([row!.priority, row!.lane, row!.route, row!.attempt], [8, 'shared', 'server', 0])
})

test('jobs that cannot go on do not hold up others', async () => {
  const { releaser, createJob, fire, trigger, claimBatch, addWorker, runAll, claimable } = await setup()
  const stuck = await createJob()
  await fire(stuck, 0)
  await claimBatch(await addWorker())
  await trigger(stuck)
  const other = await createJob()
  await fire(other, 0)
  const triggered = await trigger(other)
  await runAll()
  await releaser.step()
  assert.deepEqual([claimable(stuck), claimable(other)], [[], [triggered]])
})

test('a round goes over more than 500 jobs and then begins again', async () => {
  const { releaser, createWaiting, runAllOf, claimable, told } = await setup()
  const jobs = await createWaiting(1_100)
  assert.deepEqual(
    [await releaser.step(), await releaser.step(), await releaser.step()],
    ['more', 'more', 100],
  )
  assert.deepEqual(told, [])
  await runAllOf(1_100)
  assert.equal(await releaser.step(), 'more')
  assert.equal(jobs.filter((job) => claimable(job).length === 1).length, 500)
  await releaser.step()
  await releaser.step()
  assert.deepEqual(new Set(jobs.map((job) => claimable(job).length)), new Set([1]))
  assert.deepEqual(told, ['ready', 'ready', 'ready'])
  assert.equal(await releaser.step(), 'idle')
})

test('a tenant with one waiting job does not wait until the round has come to it', async () => {
  const { releaser, createWaiting, createJob, fire, trigger, runAllOf, claimable } = await setup()
  await createWaiting(1_600)
  const job = await createJob({ tenantId: other })
  await fire(job, 0)
  await trigger(job)
  await runAllOf(1_601)
  assert.equal(await releaser.step(), 'more')
  assert.equal(claimable(job).length, 0)
  assert.equal(await releaser.step(), 'more')
  assert.equal(claimable(job).length, 1)
})

test('a round of exactly 500 jobs still counts as one in which something waits', async () => {
  const { releaser, createWaiting } = await setup()
  await createWaiting(500)
  assert.equal(await releaser.step(), 'more')
  assert.equal(await releaser.step(), 100)
})

test('a job that awaits the end of its execution gets its next slot, and the planner is notified', async () => {
  const { releaser, createJob, fire, runAll, jobs, told, at } = await setup()
  const schedule = { type: 'INTERVAL', every_seconds: 30, after_completion: true } as const
  const job = await createJob({ schedule })
  await fire(job, 0, { move: { slotAt: null, dueAt: null, decidedTo: at(0), awaits: true } })
  assert.equal(await releaser.step(), 100)
  assert.deepEqual(told, [])
  await runAll()
  assert.equal(await releaser.step(), 100)
  assert.deepEqual(told, ['planned'])
  assert.equal((await jobs.get(job.tenantId, job.jobId))!.slotAt, at(331))
  assert.equal(await releaser.step(), 'idle')
})

test('a running execution gives way to a newer slot, and its worker is notified', async () => {
  const { releaser, createJob, fire, tryFire, addWorker, claimLive, statusOf, told } = await setup()
  const job = await createJob({ overlapPolicy: 'CANCEL_RUNNING' })
  const old = await fire(job, 0)
  await claimLive(await addWorker())
  assert.equal(await tryFire(job, 1), 'buffered')
  assert.equal(await releaser.step(), 100)
  assert.deepEqual([told, await statusOf(old)], [['cancelled'], 'CANCELLING'])
  assert.equal(await releaser.step(), 100)
  assert.deepEqual(told, ['cancelled'], 'once')
})

test('where one round makes way for the next there is no wait between them', async () => {
  const { releaser, createJob, fire, tryFire, claimable, told } = await setup()
  const job = await createJob({ overlapPolicy: 'CANCEL_RUNNING' })
  await fire(job, 0)
  assert.equal(await tryFire(job, 1), 'buffered')
  assert.equal(await releaser.step(), 'more', 'what had not begun is gone')
  assert.equal(await releaser.step(), 100)
  assert.deepEqual([claimable(job), told], [[1], ['ready']])
  assert.equal(await releaser.step(), 'idle')
})

test('after ten rounds without a wait there is one, also when each made way for the next', async () => {
  const { releaser, createJob, tryFire, owedBy, at } = await setup()
  const job = await createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 1_000 })
  assert.equal(await tryFire(job, 0, { late: true, owedTo: at(30) }), 'buffered')
  for (const _ of [1, 2]) {
    const answers = []
    for (let round = 0; round < 10; round++) answers.push(await releaser.step())
    assert.deepEqual(answers, [...Array(9).fill('more'), 100])
  }
  assert.deepEqual(await owedBy(job), { from: at(21), to: at(30) })
})

test('the job that has waited longest for a key gets it, on whichever page it is', async () => {
  const { releaser, createJob, tryFire, trigger, addWorker, claim, finishLive, succeeded, ids, claimable } =
    await setup()
  const limit = { overlapPolicy: 'ALLOW', concurrencyKey: { key: 'one', limit: 1 } } as const
  const sorted = Array.from({ length: 700 }, () => ids.next()).toSorted()
  const first = await createJob({ ...limit, jobId: sorted[0]! })
  const last = await createJob({ ...limit, jobId: sorted.at(-1)!, priority: 1 })
  for (const jobId of sorted.slice(1, -1)) await trigger(await createJob({ ...limit, jobId, priority: 9 }))
  for (const job of [first, last]) assert.equal(await tryFire(job, 0), 'buffered')
  assert.equal(await releaser.step(), 'more')
  assert.deepEqual([claimable(first), claimable(last)], [[], [0]])
  assert.equal(await releaser.step(), 100)
  const workerId = await addWorker()
  const { live } = await claim(workerId)
  assert.deepEqual(
    live.map(({ jobId }) => jobId),
    [last.jobId],
  )
  await finishLive(workerId, live[0]!, succeeded())
  await releaser.step()
  assert.deepEqual(claimable(first), [0], 'and then the next')
})
