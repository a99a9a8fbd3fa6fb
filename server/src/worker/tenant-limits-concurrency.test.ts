// A tenant's limit on executions that run at once, in workers on the memory store.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { accepted, setupWorker, shell } from '../../test/worker-scene.ts'
import { unlimitedTier } from '../../testing/memory-store/first-tiers.ts'
import { serverRoute } from '../domain/queue/route.ts'
import type { NewJob } from '../ports/jobs.ts'
import type { Worker } from './worker.ts'

const http = { type: 'http', method: 'POST', headers: {}, timeout_seconds: 600 } as const
const longMs = 60_000

/** A tenant whose tier lets `max` run at once, and another without a limit; calls last for a minute. */
async function setup(t: TestContext, max = 6) {
  const scene = await setupWorker(t)
  const { world, ids, ports, createJob, trigger, store } = scene
  const limit = (concurrentExecutionsMax: number) =>
    ports.tiers.put({ ...unlimitedTier, tier: 'small', concurrentExecutionsMax })
  await limit(max)
  const limited = ids.next()
  assert.equal(
    typeof (await ports.tenants.create({ tenantId: limited, name: 'small', tier: 'small' })),
    'object',
  )
  const other = ids.next()
  const create = (tenantId: string, changes: Partial<NewJob> = {}, answer: object = { afterMs: longMs }) => {
    const url = `https://host-${ids.next()}.example`
    world.http.answer(url, () => ({ status: 200, ...answer }))
    return createJob({ tenantId, execution: { ...http, callback_url: `${url}/` }, ...changes })
  }
  async function triggerMany(count: number, tenantId: string, answer?: object): Promise<string[]> {
    const made: string[] = []
    for (let i = 0; i < count; i++) made.push(await trigger(await create(tenantId, {}, answer)))
    return made
  }
  const heldOf = (worker: Worker, tenantId: string) => worker.inFlight.tenants.inFlight(tenantId)
  const rows = (state: string) =>
    [...store.live.values()].filter((row) => row.tenantId === limited && row.state === state)
  return { ...scene, limited, other, limit, create, triggerMany, heldOf, rows }
}

test('executions beyond the limit of their tenant wait in its lane, and run as others end', async (t) => {
  const { start, limited, triggerMany, turn, pass, heldOf, rows, attemptsOf } = await setup(t)
  const worker = await start({}, { capacity: 80 })
  await worker.watchPeers()
  const executions = await triggerMany(15, limited)
  await turn(worker)
  assert.equal(heldOf(worker, limited), 6)
  const waiting = rows('ready')
  assert.equal(waiting.length, 9)
  assert.deepEqual(
    new Set(waiting.map(({ lane, host, attempt }) => `${lane} ${host} ${attempt}`)),
    new Set([`${limited} null 0`]),
  )
  await pass(worker, longMs + 1_000)
  assert.equal(heldOf(worker, limited), 6)
  assert.equal(rows('ready').length, 3)
  await pass(worker, 2 * longMs)
  for (const executionId of executions) assert.deepEqual(attemptsOf(executionId), [[1, 'succeeded']])
})

test('a batch gives back the executions beyond the limit with their rank', async (t) => {
  const { start, limited, create, fireBatch, turn, pass, heldOf, rows } = await setup(t)
  const worker = await start({}, { capacity: 80 })
  await worker.watchPeers()
  const jobs: NewJob[] = []
  for (let i = 0; i < 20; i++) jobs.push(await create(limited))
  await fireBatch(jobs, 0)
  await turn(worker)
  await pass(worker, 300)
  assert.equal(heldOf(worker, limited), 6)
  assert.equal(rows('ready').length, 14)
  assert.equal(new Set([...rows('ready'), ...rows('running')].map(({ rank }) => rank)).size, 1)
})

test('a herd in the lane of a tenant at its limit is not claimed at all', async (t) => {
  const { start, limited, create, fireBatch, turn, pass, heldOf, rows, store } = await setup(t)
  const worker = await start({}, { capacity: 800 })
  await worker.watchPeers()
  const jobs: NewJob[] = []
  for (let i = 0; i < 100; i++) jobs.push(await create(limited))
  await fireBatch(jobs, 0, { lane: limited })
  await turn(worker)
  await pass(worker, 500)
  assert.equal(heldOf(worker, limited), 6)
  assert.equal(rows('ready').length, 0)
  const [batch] = [...store.batches.values()]
  assert.equal(batch?.entries.length, 94, 'the others stay in their batch')
})

test('executions of other tenants run beside a tenant at its limit, in the shared lane and in their own', async (t) => {
  const { start, limited, other, triggerMany, create, fireBatch, turn, heldOf } = await setup(t)
  const worker = await start({}, { capacity: 80 })
  await worker.watchPeers()
  await triggerMany(40, limited)
  await turn(worker)
  await triggerMany(5, other)
  await fireBatch([await create(other), await create(other)], 0, { lane: other })
  await turn(worker)
  assert.equal(heldOf(worker, limited), 6)
  assert.equal(heldOf(worker, other), 7)
})

test('an execution that waits for room goes before one that came later', async (t) => {
  const { start, limited, triggerMany, turn, pass, world } = await setup(t, 1)
  const worker = await start({}, { capacity: 80 })
  await worker.watchPeers()
  const first = await triggerMany(3, limited, { afterMs: 1_000 })
  await turn(worker)
  await pass(worker, 500)
  const later = await triggerMany(3, limited, { afterMs: 1_000 })
  await pass(worker, 8_000)
  const order = world.http.sent.map(({ request }) => request.headers['x-execution-id'])
  assert.deepEqual(order, [...first, ...later])
})

test('an execution that comes when a place is free does not overtake the ones that wait', async (t) => {
  const { start, limited, triggerMany, turn, world } = await setup(t, 1)
  const worker = await start({}, { capacity: 80 })
  await worker.watchPeers()
  const first = await triggerMany(2, limited, { afterMs: 1_000 })
  await turn(worker)
  await world.advance(1_000)
  while ((await worker.finish()) === 'more');
  assert.equal(worker.inFlight.size, 0)
  await triggerMany(1, limited, { afterMs: 1_000 })
  for (let round = 0; round < 3; round++) await turn(worker)
  const order = world.http.sent.map(({ request }) => request.headers['x-execution-id'])
  assert.deepEqual(order, first)
})

test('the lane of a tenant at its limit takes nothing of the room of other lanes', async (t) => {
  const { startShell, limited, other, createJob, fireBatch, turn, heldOf } = await setup(t)
  const worker = await startShell({ capacity: 32 })
  await worker.watchPeers()
  const fire = async (tenantId: string, count: number) => {
    const jobs: NewJob[] = []
    for (let i = 0; i < count; i++) jobs.push(await createJob({ tenantId, execution: shell }))
    await fireBatch(jobs, 0, { lane: tenantId })
  }
  await fire(limited, 20)
  await turn(worker)
  await fire(other, 20)
  for (let round = 0; round < 3; round++) await turn(worker)
  // With the other lane beside it, a lane would have half of the 32 places.
  assert.deepEqual([heldOf(worker, limited), heldOf(worker, other)], [6, 20])
})

test('three workers hold the limit together, each its portion', async (t) => {
  const { start, limited, triggerMany, turn, heldOf } = await setup(t, 7)
  const workers = [await start(), await start(), await start()]
  for (const worker of workers) await worker.watchPeers()
  await triggerMany(20, limited)
  for (let round = 0; round < 3; round++) for (const worker of workers) await turn(worker)
  assert.deepEqual(workers.map((worker) => heldOf(worker, limited)).toSorted(), [2, 2, 3])
})

test('while a worker is silent its executions count, and once it is reclaimed the others have its portion', async (t) => {
  const { start, limited, triggerMany, turn, pass, heldOf, ports } = await setup(t, 6)
  const [alive, killed] = [await start(), await start()]
  for (const worker of [alive, killed]) await worker.watchPeers()
  await triggerMany(12, limited)
  for (let round = 0; round < 3; round++) for (const worker of [alive, killed]) await turn(worker)
  await pass(alive, 300)
  await turn(killed)
  assert.deepEqual([heldOf(alive, limited), heldOf(killed, limited)], [3, 3])
  // No beat, no end: as after kill -9.
  await pass(alive, 7_000)
  await alive.watchPeers()
  await turn(alive)
  assert.equal(heldOf(alive, limited), 3, 'the calls of the silent one may still run')
  const beat = (await ports.maintenance.watch()).find(({ holderId }) => holderId === killed.lease.workerId)!
  await ports.maintenance.reclaim(beat)
  await ports.maintenance.wake(1_000)
  await alive.watchPeers()
  await turn(alive)
  assert.equal(heldOf(alive, limited), 6)
})

test('executions whose targets will report the end count until they have', async (t) => {
  const { start, limited, triggerMany, turn, pass, heldOf, rows, ports } = await setup(t, 4)
  const worker = await start({}, { capacity: 80 })
  await worker.watchPeers()
  await triggerMany(10, limited, accepted)
  await turn(worker)
  await pass(worker, 5_000)
  await worker.watchPeers()
  await turn(worker)
  assert.equal(rows('awaiting').length, 4)
  assert.equal(heldOf(worker, limited), 0)
  assert.equal(rows('ready').length, 6)
  const [ended] = rows('awaiting')
  const { executionId, jobId, attempt, fence } = ended!
  const end = {
    outcome: 'succeeded',
    startedAt: null,
    finishedAt: ended!.enqueuedAt,
    durationMs: null,
  } as const
  const rest = { httpStatus: null, error: null, preview: null, retryAt: null, deadReason: null }
  await ports.attempts.report([
    {
      executionId,
      jobId,
      attempt,
      fence,
      workerId: null,
      ending: { kind: 'ended', end: { ...end, ...rest } },
    },
  ])
  await pass(worker, 2_000)
  assert.equal(rows('awaiting').length, 4, 'one more has been called within a second or two')
  assert.equal(rows('ready').length, 5)
})

test('awaited executions of a worker that is gone count for the others', async (t) => {
  const { start, limited, triggerMany, turn, rows } = await setup(t, 4)
  const gone = await start()
  await gone.watchPeers()
  await triggerMany(4, limited, accepted)
  for (let round = 0; round < 3; round++) await turn(gone)
  assert.equal(rows('awaiting').length, 4)
  await gone.release()
  const worker = await start()
  await worker.watchPeers()
  await triggerMany(3, limited)
  await turn(worker)
  assert.equal(rows('running').length, 0)
  assert.equal(rows('ready').length, 3)
})

test('commands have a tenth of the limit beside calls that use all of it', async (t) => {
  const { start, startShell, limited, triggerMany, createJob, trigger, turn, pass, heldOf, runs } =
    await setup(t, 20)
  const calls = await start({}, { capacity: 80 })
  await calls.watchPeers()
  await triggerMany(30, limited)
  await turn(calls)
  await pass(calls, 300)
  assert.equal(heldOf(calls, limited), 20)
  const commands = await startShell({ capacity: 16 })
  await commands.watchPeers()
  for (let i = 0; i < 6; i++) await trigger(await createJob({ tenantId: limited, execution: shell }))
  for (let round = 0; round < 4; round++) await turn(commands)
  assert.equal(runs.length, 2)
  assert.equal(calls.inFlight.size, 20)
})

test('a tenant that moves to another tier has its new limit with the next look', async (t) => {
  const { start, limited, limit, triggerMany, turn, heldOf, ports } = await setup(t)
  const worker = await start({}, { capacity: 80 })
  await worker.watchPeers()
  await triggerMany(40, limited)
  await turn(worker)
  await limit(10)
  await worker.watchPeers()
  await turn(worker)
  assert.equal(heldOf(worker, limited), 10)
  await ports.tenants.change(limited, { tier: 'unlimited' })
  await worker.watchPeers()
  await turn(worker)
  assert.equal(heldOf(worker, limited), 40)
})

test('nothing is reserved for the trigger of a tenant without room', async (t) => {
  const { start, limited, triggerMany, turn } = await setup(t, 2)
  const worker = await start({}, { capacity: 80 })
  await worker.watchPeers()
  await triggerMany(1, limited)
  await turn(worker)
  assert.notEqual(worker.directDispatch.reserve(1, [limited]), null)
  await triggerMany(4, limited)
  await turn(worker)
  assert.equal(worker.directDispatch.reserve(1, [limited]), null)
  assert.equal(worker.directDispatch.reserve(1, ['another tenant'])?.route, serverRoute)
})

test('workers with other labels keep a limit together', async (t) => {
  const { start, limited, triggerMany, turn, pass, heldOf } = await setup(t)
  const workers = [
    await start({}, { capacity: 80 }),
    await start({}, { capacity: 80, labels: ['gpu'] }),
    await start({}, { capacity: 80, labels: ['zone-a'] }),
  ]
  // Each of them knows the limit, and that nothing runs.
  for (const worker of workers) {
    await triggerMany(1, limited, { afterMs: 0 })
    await turn(worker)
    await pass(worker, 300)
  }
  for (const worker of workers) await worker.watchPeers()
  await triggerMany(60, limited)
  await Promise.all(workers.map((worker) => turn(worker)))
  const held = workers.map((worker) => heldOf(worker, limited))
  assert.deepEqual(held, [2, 2, 2])
})

test('tenants without a limit cost no count of running executions', async (t) => {
  const { start, other, triggerMany, turn, pass, ports } = await setup(t)
  let counts = 0
  const peers = {
    find: ports.peers.find.bind(ports.peers),
    findCallers: () => assert.fail('nothing is divided'),
    measure: ports.peers.measure.bind(ports.peers),
    async countRunning() {
      counts += 1
      return []
    },
  }
  const worker = await start({ peers }, { capacity: 80 })
  await worker.watchPeers()
  await triggerMany(30, other)
  await turn(worker)
  await pass(worker, 5_000)
  await worker.watchPeers()
  assert.equal(counts, 0)
})
