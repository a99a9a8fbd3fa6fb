// How a scheduler handles the answers to a fire: slots that wait, are skipped, or count as runs.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setup } from '../../test/fire-scene.ts'
import { dueAtOf } from '../domain/schedule/jitter.ts'
import { toRfc3339 } from '../lib/time/epoch.ts'
import { slotsFired } from '../telemetry/events.ts'

test('a job stays in memory while its slot waits behind an execution, and the release loop is woken', async () => {
  const { at, world, createEvery, trigger, load, fire, calls, asked, slotsOf } = await setup()
  const job = await createEvery(30, 600, { overlapPolicy: 'BUFFER_ONE' })
  await trigger(job)
  await load()
  const event = slotsFired.next()
  assert.equal(await fire(), 30_000)
  assert.deepEqual(calls, ['owed'], 'nothing became claimable')
  assert.deepEqual(await event, { slots: 1, unfired: 0, taken: 0, tookMs: 0 })
  await world.advance(30_000)
  await fire()
  assert.deepEqual(slotsOf(job), [at(600), at(630)])
  assert.deepEqual(
    asked.flat().map(({ slot }) => slot),
    [at(600), at(630)],
  )
})

test('workers are woken when one of several slots became claimable', async () => {
  const { createEvery, trigger, load, fire, calls } = await setup()
  await trigger(await createEvery(30, 600, { overlapPolicy: 'BUFFER_ONE' }))
  await createEvery(30, 600)
  await load()
  await fire()
  assert.deepEqual(calls.toSorted(), ['enqueued', 'owed'])
})

test('an excluded slot is recorded, no loop is woken, and the job goes on', async () => {
  const { at, world, createEvery, load, fire, calls, slotsOf, store } = await setup()
  const exclusions = [{ from: toRfc3339(at(600)), to: toRfc3339(at(630)) }]
  const schedule = { type: 'INTERVAL', every_seconds: 15, exclusions } as const
  const job = await createEvery(15, 600, { schedule })
  await load()
  for (let i = 0; i < 3; i++) {
    await fire()
    assert.deepEqual(calls, i < 2 ? [] : ['enqueued'])
    await world.advance(15_000)
  }
  assert.deepEqual(slotsOf(job), [at(600), at(615), at(630)])
  const { skips } = store.jobs.get(job.jobId)!
  assert.deepEqual(skips, [{ from: at(600), to: at(615), count: 2, reason: 'exclusion', version: 1 }])
})

test('with jitter a slot is fired when it is due, and its job is put back with the next due time', async () => {
  const { at, world, createEvery, load, fire, slotsOf } = await setup()
  const job = await createEvery(40, 600, { jitterSeconds: 39 })
  const [first, second] = [dueAtOf(job, at(600)), dueAtOf(job, at(640))]
  await load()
  assert.equal(await fire(), first - at(600))
  await world.advance(first - at(600) - 1)
  await fire()
  assert.deepEqual(slotsOf(job), [])
  await world.advance(1)
  assert.equal(await fire(), second - first)
  await world.advance(second - first)
  await fire()
  assert.deepEqual(slotsOf(job), [at(600), at(640)])
})

test('a job leaves memory when its next slot lies within the window but is due beyond it, until that slot is due', async () => {
  const { at, world, createEvery, load, fire, dueQueue, slotsOf } = await setup()
  const job = await createEvery(59, 600, { jitterSeconds: 58 })
  const [first, second] = [dueAtOf(job, at(600)), dueAtOf(job, at(659))]
  assert(second > at(660), 'else this test would say nothing')
  await load() // up to second 660
  await world.advance(first - at(600))
  await fire()
  assert.equal(dueQueue.size, 0)
  await world.advance(second - first)
  await load()
  await fire()
  assert.deepEqual(slotsOf(job), [at(600), at(659)])
})

/** Fires until nothing is due any more, at each of the given seconds. */
async function fireEach(
  seconds: number,
  { world, load, fire }: Pick<Awaited<ReturnType<typeof setup>>, 'world' | 'load' | 'fire'>,
): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    await load()
    while ((await fire()) === 'more');
    await world.advance(1_000)
  }
}

test('a job that has had its runs leaves memory and is completed', async () => {
  const scene = await setup()
  const { at, createEvery, slotsOf, dueQueue, store, asked } = scene
  const schedule = { type: 'INTERVAL', every_seconds: 1, max_runs: 3 } as const
  const job = await createEvery(1, 600, { schedule, overlapPolicy: 'ALLOW' })
  await fireEach(10, scene)
  assert.deepEqual(slotsOf(job), [at(600), at(601), at(602)])
  assert.equal(dueQueue.size, 0)
  assert.equal(asked.length, 3, 'a fourth slot is not fired')
  assert.equal(store.jobs.get(job.jobId)!.cursor.status, 'COMPLETED')
})

test('slots that wait count as runs', async () => {
  const scene = await setup()
  const { at, createEvery, trigger, slotsOf, asked, store } = scene
  const schedule = { type: 'INTERVAL', every_seconds: 1, max_runs: 3 } as const
  const job = await createEvery(1, 600, { schedule, overlapPolicy: 'BUFFER_ALL' })
  await trigger(job)
  await fireEach(10, scene)
  assert.deepEqual(slotsOf(job), [at(600), at(601), at(602)])
  assert.equal(asked.length, 3)
  assert.equal(store.jobs.get(job.jobId)!.cursor.status, 'COMPLETED')
})

test('slots that are owed count as runs, as many as they are', async () => {
  const { at, world, createEvery, load, fire, dueQueue, asked, owedBy, store } = await setup()
  const schedule = { type: 'INTERVAL', every_seconds: 1, max_runs: 5 } as const
  const job = await createEvery(1, 600, { schedule })
  await load()
  await world.advance(30_000)
  await fire()
  assert.equal((await owedBy(job))!.to, at(604))
  assert.equal(dueQueue.size, 0)
  assert.deepEqual(asked.flat()[0]!.runs, { max: 5, count: 5 })
  assert.equal(store.jobs.get(job.jobId)!.cursor.status, 'COMPLETED')
})

for (const answer of ['overlap', 'exclusion', 'misfire', 'already_recorded'] as const) {
  test(`a slot answered with ${answer} is no run: the job goes on`, async () => {
    const { world, createEvery, load, fire, fireOnceBy, asked } = await setup()
    const schedule = { type: 'INTERVAL', every_seconds: 1, max_runs: 1 } as const
    await createEvery(1, 600, { schedule })
    await load()
    fireOnceBy(async (_, [one]) => [{ jobId: one!.jobId, slot: one!.slot, answer }])
    await fire()
    await world.advance(1_000)
    await fire()
    assert.equal(asked.length, 2)
    await world.advance(1_000)
    await fire()
    assert.equal(asked.length, 2, 'the second one was its only run')
  })
}

test('a job that counts from the end of its execution leaves memory when it fires', async () => {
  const { at, createEvery, load, fire, dueQueue, slotsOf, store } = await setup()
  const schedule = { type: 'INTERVAL', every_seconds: 1, after_completion: true } as const
  const job = await createEvery(1, 600, { schedule })
  await load()
  await fire()
  assert.deepEqual(slotsOf(job), [at(600)])
  assert.equal(dueQueue.size, 0)
  const { status, slotAt } = store.jobs.get(job.jobId)!.cursor
  assert.deepEqual([status, slotAt], ['ACTIVE', null])
})

test('a job with changed calendars is dropped, comes back as a change, and is planned again', async () => {
  const { at, createEvery, load, fire, fireOnceBy, takeChanges, store, slotsOf, dueQueue } = await setup()
  const job = await createEvery(30, 600)
  await load()
  fireOnceBy(async (_, [one]) => {
    // As the store does when it finds another revision.
    store.noteChange(store.jobs.get(job.jobId)!.cursor)
    return [{ jobId: one!.jobId, slot: one!.slot, answer: 'stale' }]
  })
  await fire()
  assert.equal(dueQueue.size, 0)
  await takeChanges()
  await fire()
  assert.deepEqual(slotsOf(job), [at(600)])
})
