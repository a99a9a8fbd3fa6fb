import assert from 'node:assert/strict'
import test from 'node:test'
import { change, edit, editSchedule, pause, resume } from '../../test/conformance/jobs/changes.ts'
import { allPartitions, setup } from '../../test/fire-scene.ts'
import { noSchedule, partitionOf } from '../domain/jobs/job.ts'
import { slotsFired } from '../telemetry/events.ts'
import { fireEveryMs } from './fire-due.ts'

test('a slot is fired when it is due and not before; the step says how long to wait', async () => {
  const { at, world, createEvery, load, fire, slotsOf, dueQueue } = await setup()
  const job = await createEvery(30, 620)
  await load()
  assert.equal(await fire(), 20_000)
  assert.deepEqual(slotsOf(job), [])
  await world.advance(20_000)
  assert.equal(await fire(), 30_000)
  assert.deepEqual(slotsOf(job), [at(620)])
  assert.equal(dueQueue.has(job.jobId), true)
})

test('a root that fires starts a run, and the loop that advances runs is woken', async () => {
  const { at, createJob, load, fire, slotsOf, calls, store } = await setup()
  const root = await createJob({ slotAt: at(600) })
  const dependsOn = [{ jobId: root.jobId, on: 'success' }] as const
  const after = await createJob({ dependsOn, schedule: noSchedule, slotAt: null })
  await load()
  await fire()
  assert.deepEqual([slotsOf(root), slotsOf(after)], [[at(600)], []])
  assert.deepEqual(calls, ['owed', 'enqueued'])
  assert.equal(store.runNotes.size, 1)
})

test('a slot that a fire recorded is known to the next fire; an already recorded one is not', async () => {
  const { at, world, createEvery, load, fire, fireOnceBy, asked } = await setup()
  const job = await createEvery(10, 610)
  await load()
  const recordedBefore = async () => {
    await world.advance(10_000)
    await fire()
    return asked.at(-1)![0]!.recordedAt
  }
  assert.equal(await recordedBefore(), null)
  assert.equal(await recordedBefore(), at(610))
  fireOnceBy(async (_real, [one]) => [{ jobId: job.jobId, slot: one!.slot, answer: 'already_recorded' }])
  assert.equal(await recordedBefore(), at(620))
  assert.equal(await recordedBefore(), at(620), 'it may only be decided, and have no row')
})

test('an empty due queue is looked at again after a second', async () => {
  const { fire, calls } = await setup()
  assert.equal(await fire(), fireEveryMs)
  assert.deepEqual(calls, [])
})

test('a batch has one lane, one priority and at most a hundred executions, and workers are woken', async () => {
  const { createJob, at, load, fire, store, calls } = await setup()
  const tenants = ['tenant a', 'tenant b']
  for (let i = 0; i < 240; i++) {
    await createJob({ slotAt: at(600), priority: i % 2 === 0 ? 5 : 3, tenantId: tenants[i < 180 ? 0 : 1]! })
  }
  await load()
  const event = slotsFired.next()
  await fire()
  const batches = [...store.batches.values()]
  assert.equal(
    batches.reduce((sum, { entries }) => sum + entries.length, 0),
    240,
  )
  assert(batches.every(({ entries }) => entries.length <= 100))
  for (const { priority, lane, entries } of batches) {
    for (const { jobId } of entries) {
      const job = store.jobs.get(jobId)!
      assert.equal(job.versions.get(1)!.priority, priority)
      assert(lane === 'shared' || lane === job.tenantId)
    }
  }
  // The burst of a tenant beyond 50 in this second waits in its own lane.
  assert.deepEqual([...new Set(batches.map(({ lane }) => lane))].toSorted(), ['shared', ...tenants])
  assert.equal(batches.length, 2 + 2 + 2, 'and no more batches than that takes')
  assert.deepEqual(calls, ['enqueued'])
  assert.deepEqual(await event, { slots: 240, unfired: 0, taken: 0, tookMs: 0 })
})

test('executions of different routes are in different batches, and jobs that need their own rows have them', async () => {
  const { createJob, at, load, fire, store } = await setup()
  const shell = { type: 'shell', command: '/bin/true', args: [], env: {}, timeout_seconds: 30 } as const
  const handler = { type: 'worker', handler: 'send', labels: ['eu'], timeout_seconds: 30 } as const
  const slotAt = at(600)
  const jobs = {
    http: await createJob({ slotAt }),
    shell: await createJob({ slotAt, execution: shell }),
    handler: await createJob({ slotAt, execution: handler }),
    watched: await createJob({ slotAt, execution: { ...shell, heartbeat_timeout_seconds: 60 } }),
  }
  await load()
  await fire()
  const routes = [...store.batches.values()].map(({ route, entries }) => [
    route,
    entries.map(({ jobId }) => jobId),
  ])
  assert.deepEqual(
    new Map(routes as [string, string[]][]),
    new Map([
      ['server', [jobs.http.jobId]],
      ['shell', [jobs.shell.jobId]],
      [`worker ${jobs.handler.tenantId} send eu`, [jobs.handler.jobId]],
    ]),
  )
  const alone = [...store.live.values()].map(({ jobId, route, state }) => ({ jobId, route, state }))
  assert.deepEqual(alone, [{ jobId: jobs.watched.jobId, route: 'shell', state: 'ready' }])
})

test('more than fit into one fire: the step asks to be called again at once', async () => {
  const { createJob, at, load, fire, asked, store } = await setup()
  for (let i = 0; i < 600; i++) await createJob({ slotAt: at(600) })
  await load()
  assert.equal(await fire(), 'more')
  const sizes = [...store.batches.values()].map(({ entries }) => entries.length)
  assert(sizes.every((size) => size <= 100))
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    500,
  )
  while ((await fire()) === 'more');
  assert.equal(
    asked.reduce((sum, items) => sum + items.length, 0),
    600,
  )
  assert.equal([...store.jobs.values()].filter(({ slots }) => slots.size === 1).length, 600)
})

test('after an outage the slots of many jobs are fired in bounded fires, each once', async () => {
  const { world, createEvery, load, fire, asked, slotsOf } = await setup()
  const jobs = []
  for (let i = 0; i < 40; i++) jobs.push(await createEvery(1, 600, { overlapPolicy: 'ALLOW' }))
  await load()
  await world.advance(50_000)
  assert.equal(await fire(), 'more')
  while ((await fire()) === 'more');
  assert(asked.length > 1)
  for (const items of asked) assert(items.length < 1_100, `${items.length} slots in one fire`)
  for (const job of jobs) assert.equal(slotsOf(job).length, 51)
})

test('the window that moves past the next slot while the fire is in flight does not lose the job', async () => {
  const { at, world, createEvery, load, fire, fireOnceBy, slotsOf, dueQueue } = await setup()
  const job = await createEvery(22, 640)
  const other = await createEvery(80, 680)
  await load() // up to second 660: the job's next slot, 662, is beyond it
  await world.advance(40_000)
  fireOnceBy(async (real, items) => {
    assert.deepEqual(items[0]!.move?.slotAt, at(662), 'its cursor moves, for it is to leave memory')
    // Up to second 700, and behind the other job: rows that are due before it are not read again.
    await load()
    assert(dueQueue.has(other.jobId))
    return real(items)
  })
  await fire()
  await world.advance(22_000)
  await load()
  await fire()
  assert.deepEqual(slotsOf(job), [at(640), at(662)])
})

test('a job with its next slot beyond the window leaves memory and is loaded again in time', async () => {
  const { at, world, createEvery, load, fire, slotsOf, dueQueue } = await setup()
  const job = await createEvery(300, 600)
  await load()
  await fire()
  assert.equal(dueQueue.size, 0)
  for (let second = 0; second < 300; second += 15) {
    await world.advance(15_000)
    await load()
  }
  await fire()
  assert.deepEqual(slotsOf(job), [at(600), at(900)])
})

test('a job that fires each second writes its cursor about once a minute and misses no slot', async () => {
  const { at, world, createEvery, load, fire, slotsOf, asked } = await setup()
  const job = await createEvery(1, 600, { overlapPolicy: 'ALLOW' })
  for (let second = 0; second < 180; second++) {
    if (second % 15 === 0) await load()
    await fire()
    await world.advance(1_000)
  }
  assert.deepEqual(
    slotsOf(job),
    Array.from({ length: 180 }, (_, i) => at(600 + i)),
  )
  const moves = asked.flat().filter(({ move }) => move !== null).length
  assert(moves >= 3 && moves <= 4, `${moves} moves in three minutes`)
})

for (const { answer, afterMs } of [
  { answer: 'busy', afterMs: 50 },
  { answer: 'early', afterMs: 1 },
] as const) {
  test(`a job answered with ${answer} is tried again ${afterMs} ms later, with the same slot`, async () => {
    const { at, world, createEvery, load, fire, fireOnceBy, slotsOf, calls } = await setup()
    const job = await createEvery(30, 600)
    await load()
    fireOnceBy(async (_, [one]) => [{ jobId: one!.jobId, slot: one!.slot, answer }])
    assert.equal(await fire(), afterMs)
    assert.deepEqual(calls, [])
    await world.advance(afterMs - 1)
    await fire()
    assert.deepEqual(slotsOf(job), [])
    await world.advance(1)
    await fire()
    assert.deepEqual(slotsOf(job), [at(600)])
    await world.advance(30_000)
    await fire()
    assert.deepEqual(slotsOf(job), [at(600), at(630)])
  })
}

test('a clock that is far ahead is not asked about every millisecond', async () => {
  const { world, createEvery, load, fire, fireOnceBy } = await setup()
  await createEvery(30, 600)
  await load()
  await world.advance(3_000)
  fireOnceBy(async (_, [one]) => [{ jobId: one!.jobId, slot: one!.slot, answer: 'early' }])
  assert.equal(await fire(), 50)
})

test('a job that was changed in the store is dropped from memory', async () => {
  const { at, createEvery, load, fire, slotsOf, dueQueue, store } = await setup()
  const stale = await createEvery(30, 600)
  const fresh = await createEvery(30, 600)
  await load()
  store.changeCursor(store.jobs.get(stale.jobId)!.cursor, { status: 'PAUSED' })
  await fire()
  assert.equal(dueQueue.has(stale.jobId), false)
  assert.deepEqual([slotsOf(stale), slotsOf(fresh)], [[], [at(600)]])
})

test('a slot that another scheduler has fired is not fired again, and the job goes on', async () => {
  const { at, world, createEvery, slotOf, slots, load, fire, slotsOf, calls } = await setup()
  const job = await createEvery(30, 600)
  await load()
  assert.deepEqual(await slots.fire([slotOf(job, 600)]), [])
  const event = slotsFired.next()
  await fire()
  assert.deepEqual(await event, { slots: 1, unfired: 1, taken: 1, tookMs: 0 })
  assert.deepEqual(calls, [], 'no loop is woken without need')
  await world.advance(30_000)
  await fire()
  assert.equal(slotsOf(job).length, 2)
  assert.equal(slotsOf(job)[1], at(630))
})

for (const committed of [false, true]) {
  test(`a fire that fails ${committed ? 'after' : 'before'} its commit puts everything back and is repeated`, async () => {
    const { at, world, createEvery, load, fire, fireOnceBy, slotsOf, store } = await setup()
    const jobs = [await createEvery(30, 600), await createEvery(30, 600), await createEvery(300, 600)]
    await load()
    fireOnceBy(async (real, items) => {
      if (committed) await real(items)
      throw new Error('the database is away')
    })
    await assert.rejects(fire(), /away/)
    await fire()
    for (const job of jobs) assert.deepEqual(slotsOf(job), [at(600)])
    assert.equal(
      [...store.batches.values()].flatMap(({ entries }) => entries).length,
      3,
      'each has one execution',
    )
    await world.advance(30_000)
    await fire()
    for (const job of jobs.slice(0, 2)) assert.deepEqual(slotsOf(job), [at(600), at(630)])
  })
}

test('jobs of a partition that left are not fired', async () => {
  const { createEvery, load, fire, window, asked } = await setup()
  const theirs = await createEvery(30, 600)
  await load()
  window.hold(allPartitions.filter((id) => id !== partitionOf(theirs.jobId)))
  await fire()
  assert.deepEqual(asked, [])
})

test('a late job fires its first slot, owes the others, and the release loop is woken', async () => {
  const { at, world, createEvery, load, fire, slotsOf, calls, owedBy, dueQueue } = await setup()
  const job = await createEvery(5, 600)
  await load()
  await world.advance(20_000)
  await fire()
  assert.deepEqual(slotsOf(job), [at(600)])
  const owed = await owedBy(job)
  assert.deepEqual([owed!.from > at(600), owed!.from <= at(605), owed!.to], [true, true, at(620)])
  assert.deepEqual(calls.toSorted(), ['enqueued', 'owed'])
  assert.equal(dueQueue.has(job.jobId), true)
})

test('a late slot that finds an execution under way is owed, and the release loop is woken', async () => {
  const { at, world, createEvery, trigger, load, fire, calls, owedBy } = await setup()
  const job = await createEvery(300, 600)
  await trigger(job)
  await load()
  await world.advance(10_000)
  await fire()
  assert.deepEqual(await owedBy(job), { from: at(600), to: at(600) })
  assert.deepEqual(calls, ['owed'])
})

// A job may be changed while a fire of it is under way: its new entry comes into the due queue before the fire is answered.

for (const [fate, answer] of [
  ['fires', null],
  ['is busy', 'busy'],
  ['is early', 'early'],
  ['fails', 'error'],
] as const) {
  test(`a job that is edited while its fire ${fate} goes on with its new version`, async () => {
    const { at, world, createEvery, load, fire, fireOnceBy, slotsOf, dueQueue, takeChanges, jobs } =
      await setup()
    const job = await createEvery(10, 600, { overlapPolicy: 'ALLOW' })
    await load()
    fireOnceBy(async (real, items) => {
      const answers = answer === null ? await real(items) : []
      await change({ jobs }, job, editSchedule({ type: 'INTERVAL', every_seconds: 7 }))
      await takeChanges()
      if (answer === 'error') throw new Error('the database is away')
      return answer === null ? answers : [{ jobId: job.jobId, slot: items[0]!.slot, answer }]
    })
    await fire().catch((error: Error) => assert.match(error.message, /away/))
    assert.equal(dueQueue.size, 1)
    for (let seconds = 0; seconds < 30; seconds++) {
      await fire()
      await world.advance(1_000)
    }
    const fired = answer === null ? [at(600)] : []
    assert.deepEqual(slotsOf(job), [...fired, at(607), at(614), at(621), at(628)])
  })
}

for (const again of ['edited', 'paused and resumed'] as const) {
  test(`a dense job that is ${again} while it fires misses no slot and fires none twice`, async () => {
    const { at, world, createEvery, load, fire, fireOnceBy, slotsOf, takeChanges, jobs, asked } =
      await setup()
    const job = await createEvery(1, 600, { overlapPolicy: 'ALLOW' })
    await load()
    for (let second = 0; second < 20; second++) {
      if (second % 3 === 1) {
        fireOnceBy(async (real, items) => {
          // Half of the time the change is taken before the fire is written.
          if (second % 2 === 0) await takeChanges()
          const answers = await real(items)
          if (again === 'edited') await change({ jobs }, job, edit({ name: `job ${second}` }))
          else for (const decide of [pause(), resume()]) await change({ jobs }, job, decide)
          if (second % 2 === 1) await takeChanges()
          return answers
        })
      }
      await fire()
      await takeChanges()
      await fire()
      await world.advance(1_000)
    }
    assert.deepEqual(
      slotsOf(job),
      Array.from({ length: 20 }, (_, i) => at(600 + i)),
    )
    assert(asked.length < 60, 'and it does not go round in circles')
  })
}

test('a job is not lost when a load that began before its edit ends while the new version fires', async () => {
  const { at, world, createEvery, load, fire, fireOnceBy, slotsOf, dueQueue, takeChanges, jobs } =
    await setup()
  const job = await createEvery(10, 600, { overlapPolicy: 'ALLOW' })
  await load()
  const [old] = dueQueue.takeDue(at(600), 1)
  await change({ jobs }, job, edit({ name: 'renamed' }))
  await takeChanges()
  fireOnceBy((real, items) => {
    dueQueue.put(old!)
    return real(items)
  })
  await fire()
  for (let seconds = 0; seconds < 30; seconds++) {
    await fire()
    await world.advance(1_000)
  }
  assert.deepEqual(slotsOf(job), [at(600), at(610), at(620)])
})
