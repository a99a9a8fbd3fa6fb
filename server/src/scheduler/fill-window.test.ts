import assert from 'node:assert/strict'
import test from 'node:test'
import { change, edit } from '../../test/conformance/jobs/changes.ts'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { partitionOf, partitionsCount } from '../domain/jobs/job.ts'
import type { NewJob } from '../ports/jobs.ts'
import type { LoadRequest, Slots } from '../ports/slots.ts'
import { overdueFound } from '../telemetry/events.ts'
import { DueQueue } from './due-queue.ts'
import { fillWindow, loadEveryMs, recoverOverdue, takeChanges } from './fill-window.ts'
import { LoadWindow } from './load-window.ts'

const allPartitions = Array.from({ length: partitionsCount }, (_, id) => id)

/** A scheduler that holds everything and has loaded nothing. `at(600)` of the scenario is now. */
async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const dueQueue = new DueQueue()
  const window = new LoadWindow()
  window.hold(allPartitions)
  const slots: Slots = {
    load: (request) => ports.slots.load(request),
    takeChanges: (ids, limit) => ports.slots.takeChanges(ids, limit),
    fire: (items) => ports.slots.fire(items),
    fireAndClaim: (items, worker) => ports.slots.fireAndClaim(items, worker),
  }
  const puts: string[] = []
  const deps = {
    clock: world.clock,
    slots,
    dueQueue,
    window,
    onPut: () => void puts.push('put'),
    onReload() {},
  }
  return {
    ...scenario,
    ...{ world, dueQueue, window, puts, real: ports.slots },
    /** The store as the scheduler reaches it; a test may replace a method. */
    link: slots,
    load: () => fillWindow(deps),
    changes: () => takeChanges(deps),
    overdue: () => recoverOverdue(deps),
    has: ({ jobId }: NewJob) => dueQueue.has(jobId),
  }
}

test('jobs that come due within a minute are loaded, later ones are not', async () => {
  const { at, createJob, load, has, puts } = await setup()
  const [due, soon, later] = [
    await createJob({ slotAt: at(0) }),
    await createJob({ slotAt: at(659) }),
    await createJob({ slotAt: at(660) }),
  ]
  assert.equal(await load(), 'idle')
  assert.deepEqual([due, soon, later].map(has), [true, true, false])
  assert.deepEqual(puts, ['put'])
})

test('the window is loaded again when half of it is over, and only its new rows', async () => {
  const { at, createJob, load, has, world, link, real } = await setup()
  await createJob({ slotAt: at(610) })
  const later = await createJob({ slotAt: at(680) })
  await load()
  const asked: LoadRequest[] = []
  link.load = async (request) => {
    asked.push(request)
    return real.load(request)
  }
  await world.advance(30_000)
  await load()
  assert.equal(asked.length, 0)
  await world.advance(1)
  await load()
  assert.equal(asked.length, 1)
  assert.equal(has(later), true)
  assert.equal(asked[0]!.partitions.filter(({ after }) => after !== null).length, 1)
})

test('a new job is loaded by the time it is due, also without its change', async () => {
  const { at, createJob, load, has, world } = await setup()
  await load()
  const job = await createJob({ slotAt: at(700) })
  for (let ms = 0; ms < 90_000; ms += loadEveryMs) {
    await world.advance(loadEveryMs)
    await load()
  }
  assert.equal(has(job), true)
})

test('a herd is loaded piece by piece, with all that is due at one instant', async () => {
  const { at, createJob, jobIdIn, load, dueQueue, link, real, world } = await setup()
  const loaded: number[] = []
  link.load = async (request) => {
    const cursors = await real.load(request)
    loaded.push(cursors.length)
    return cursors
  }
  const herd: NewJob[] = []
  // Two loads end in the midst of the jobs of second 620; the first covers all partitions.
  for (let i = 0; i < 4_300; i++)
    herd.push(await createJob({ jobId: jobIdIn(7), slotAt: at(i < 50 ? 610 : 620) }))
  assert.equal(await load(), 'more')
  assert.equal(dueQueue.size, 64)
  assert.equal(await load(), 'more')
  assert.equal(await load(), 'idle')
  assert(herd.every(({ jobId }) => dueQueue.has(jobId)))
  assert.deepEqual(loaded, [64, 4_096, 140])
  await world.advance(10_000)
  assert.equal(await load(), 'idle')
  assert.deepEqual(loaded, [64, 4_096, 140])
})

test('the rest of a herd that fills the due queue is not loaded yet', async () => {
  const { at, createJob, load, dueQueue, has } = await setup()
  const job = await createJob({ slotAt: at(610) })
  Object.defineProperty(dueQueue, 'size', { get: () => 600_000, configurable: true })
  assert.equal(await load(), 100)
  assert.equal(has(job), false)
  Object.defineProperty(dueQueue, 'size', { get: () => 599_999 })
  await load()
  assert.equal(has(job), true)
})

test('jobs from the same load are due in the order of their ids, across partitions', async () => {
  const { at, createJob, load, dueQueue, world } = await setup()
  const jobs: NewJob[] = []
  for (let i = 0; i < 40; i++) jobs.push(await createJob({ slotAt: at(600) }))
  await load()
  const taken = dueQueue.takeDue(world.clock.databaseNow(), 40).map(({ jobId }) => jobId)
  assert.deepEqual(taken, jobs.map(({ jobId }) => jobId).toSorted())
})

test('a job that is loaded late into a full due queue counts as loaded since it was wanted', async () => {
  const { at, createJob, load, dueQueue, world } = await setup()
  const wished = world.clock.databaseNow()
  const job = await createJob({ slotAt: at(610) })
  const size = Object.getOwnPropertyDescriptor(DueQueue.prototype, 'size')!
  Object.defineProperty(dueQueue, 'size', { get: () => 600_000, configurable: true })
  await load()
  await world.advance(15_000)
  Object.defineProperty(dueQueue, 'size', size)
  await load()
  assert.equal(dueQueue.get(job.jobId)!.loadedAt, wished)
  const next = await createJob({ slotAt: at(700) })
  await world.advance(31_000)
  await load()
  assert.equal(dueQueue.get(next.jobId)!.loadedAt, wished + 46_000, 'the next load has its own time')
})

test('a new job that is due within the window comes by its change, a later one by the load', async () => {
  const { at, createJob, load, changes, has, puts } = await setup()
  await load()
  const soon = await createJob({ slotAt: at(650) })
  const later = await createJob({ slotAt: at(661) })
  assert.equal(await changes(), 'idle')
  assert.deepEqual([soon, later].map(has), [true, false])
  assert.deepEqual(puts, ['put'])
  assert.equal(await changes(), 'idle')
  assert.deepEqual(puts, ['put'], 'a change is taken once')
})

test('a change that is taken while a load is under way is not lost', async () => {
  const { at, createJob, load, changes, has, link, real } = await setup()
  let job: NewJob | undefined
  link.load = async (request) => {
    const cursors = await real.load(request)
    job = await createJob({ slotAt: at(630) })
    await changes()
    return cursors
  }
  await load()
  assert.equal(has(job!), true)
})

test('changes are found by a load from the beginning after the answer that carried them was lost', async () => {
  const { at, createJob, load, changes, has, link, real } = await setup()
  await createJob({ slotAt: at(655) })
  await load()
  const lost = await createJob({ slotAt: at(620) })
  link.takeChanges = async (ids, limit) => {
    await real.takeChanges(ids, limit)
    throw new Error('the answer was lost')
  }
  await assert.rejects(changes(), /lost/)
  assert.equal(has(lost), false)
  await load()
  assert.equal(has(lost), true)
})

test('neither the changes nor the loaded jobs are lost when the answer with the changes is lost during a load', async () => {
  const { at, createJob, load, changes, has, link, real } = await setup()
  const loaded = await createJob({ slotAt: at(655) })
  const lost = await createJob({ slotAt: at(620) })
  link.takeChanges = async (ids, limit) => {
    await real.takeChanges(ids, limit)
    throw new Error('the answer was lost')
  }
  link.load = async (request) => {
    link.load = real.load.bind(real)
    const cursors = await real.load(request)
    await assert.rejects(changes(), /lost/)
    return cursors
  }
  await load()
  await load()
  assert.deepEqual([loaded, lost].map(has), [true, true])
})

test('a load that fails is repeated from the beginning', async () => {
  const { at, createJob, load, has, link, real } = await setup()
  const job = await createJob({ slotAt: at(620) })
  link.load = async () => {
    throw new Error('the database is away')
  }
  await assert.rejects(load(), /away/)
  link.load = real.load.bind(real)
  await load()
  assert.equal(has(job), true)
})

test('a job that is loaded again keeps its first load time, and an edited one gets a new one', async () => {
  const { at, createJob, jobs, load, changes, window, dueQueue, world } = await setup()
  const job = await createJob({ slotAt: at(620) })
  const loadedAt = () => dueQueue.get(job.jobId)!.loadedAt - at(0)
  await load()
  const first = loadedAt()
  await world.advance(5_000)
  window.reload()
  await load()
  assert.equal(loadedAt(), first)
  await change({ jobs }, job, edit({ name: 'renamed' }))
  await changes()
  assert.equal(loadedAt(), first + 5_000)
})

test('jobs of a partition that left during its load are not put into the due queue', async () => {
  const { at, createJob, jobIdIn, load, window, has, link, real } = await setup()
  const ours = await createJob({ jobId: jobIdIn(3), slotAt: at(620) })
  const theirs = await createJob({ jobId: jobIdIn(4), slotAt: at(620) })
  link.load = async (request) => {
    const cursors = await real.load(request)
    window.hold([3])
    return cursors
  }
  await load()
  assert.deepEqual([ours, theirs].map(has), [true, false])
})

test('a partition that left and came back during a load is loaded in full', async () => {
  const { at, createJob, jobIdIn, load, window, has, link, real } = await setup()
  const job = await createJob({ jobId: jobIdIn(4), slotAt: at(620) })
  link.load = async (request) => {
    link.load = real.load.bind(real)
    const cursors = await real.load(request)
    window.hold([])
    window.hold([4])
    return cursors
  }
  await load()
  await load()
  assert.equal(has(job), true)
})

test('without partitions nothing is asked of the store', async () => {
  const { load, changes, overdue, window, link } = await setup()
  window.hold([])
  link.load = link.takeChanges = () => assert.fail('the store was asked')
  assert.deepEqual([await load(), await changes(), await overdue()], ['idle', 'idle', 'idle'])
})

test('a job that is overdue and not in memory is put there, and reported', async (t) => {
  const { at, createJob, load, overdue, world, dueQueue, has, puts } = await setup()
  const reports: number[] = []
  const subscription = overdueFound.subscribe(({ jobs }) => void reports.push(jobs))
  t.after(() => subscription[Symbol.dispose]())
  const missing = await createJob({ slotAt: at(601) })
  await createJob({ slotAt: at(602) })
  await load()
  dueQueue.removePartitions((partitionId) => partitionId !== partitionOf(missing.jobId))
  puts.length = 0
  await world.advance(91_000)
  await overdue()
  assert.deepEqual([has(missing), reports], [false, []], 'a dense job’s cursor lags that much')
  await world.advance(1)
  await overdue()
  assert.deepEqual([has(missing), reports, puts], [true, [1], ['put']])
  await overdue()
  assert.deepEqual(reports, [1], 'jobs in memory are not missing')
})

test('an overdue job of a partition that is not loaded yet is not missing', async () => {
  const { at, createJob, overdue, has, world, puts } = await setup()
  const job = await createJob({ slotAt: at(600) })
  await world.advance(120_000)
  await overdue()
  assert.deepEqual([has(job), puts], [false, []])
})
