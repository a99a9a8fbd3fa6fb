// The places of a worker that several tenants share.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setupWorker, shell } from '../../test/worker-scene.ts'

const lasting = { ...shell, timeout_seconds: 600 }
const http = { type: 'http', method: 'POST', headers: {}, timeout_seconds: 600 } as const

/** `create` makes one job of a tenant, at a host of its own; its call is never answered. */
async function setup(t: Parameters<typeof setupWorker>[0]) {
  const scene = await setupWorker(t)
  const { world, createJob, trigger, ids } = scene
  const [hog, quiet] = [ids.next(), ids.next()]
  const createHanging = (tenantId: string) => {
    const url = `https://host-${ids.next()}.example`
    world.http.answer(url, () => ({ status: 200, afterMs: 1e9 }))
    return createJob({ tenantId, execution: { ...http, callback_url: `${url}/` } })
  }
  async function triggerMany(count: number, create: () => ReturnType<typeof createJob>): Promise<void> {
    for (let i = 0; i < count; i++) await trigger(await create())
  }
  return { ...scene, hog, quiet, createHanging, triggerMany }
}

test('a worker learns from the store that two tenants have jobs, and leaves the second one places', async (t) => {
  const { start, hog, quiet, createHanging, triggerMany, turn, trigger } = await setup(t)
  const worker = await start({}, { capacity: 80 })
  const job = await createHanging(quiet)
  await createHanging(hog)
  await worker.watchPeers()
  await triggerMany(80, () => createHanging(hog))
  await turn(worker)
  await turn(worker)
  assert.equal(worker.inFlight.size, 20, 'a quarter for calls that have not ended yet')
  await trigger(job)
  await turn(worker)
  assert.equal(worker.inFlight.tenants.inFlight(quiet), 1)
})

test('the first execution of a second tenant makes a worker shared before it is put in flight', async (t) => {
  const { start, hog, quiet, createHanging, triggerMany, turn } = await setup(t)
  const worker = await start({}, { capacity: 80 })
  await triggerMany(1, () => createHanging(quiet))
  await turn(worker)
  await triggerMany(80, () => createHanging(hog))
  await turn(worker)
  assert.equal(worker.inFlight.tenants.inFlight(hog), 19)
})

test('a worker with the jobs of one tenant uses every place, and is shared no more when the store says so', async (t) => {
  const { start, hog, quiet, createHanging, triggerMany, turn, ports } = await setup(t)
  const counts = [2, 1]
  const workLimits = async () => []
  const tenants = { countWithJobs: async () => counts.shift()!, workLimits }
  const worker = await start({ tenants }, { capacity: 80 })
  await worker.watchPeers()
  await triggerMany(80, () => createHanging(hog))
  await turn(worker)
  assert.equal(worker.inFlight.size, 20)
  await worker.watchPeers()
  for (let i = 0; i < 3; i++) await turn(worker)
  assert.equal(worker.inFlight.size, 80)
  assert.equal(await ports.tenants.countWithJobs(2), 1, `and ${quiet} has none`)
})

test('a tenant has a quarter of the places for commands until they end, more as they end quickly, never the last', async (t) => {
  const { startShell, createJob, trigger, triggerMany, hog, quiet, turn, runs } = await setup(t)
  const worker = await startShell({ capacity: 16 })
  const ofQuiet = await createJob({ tenantId: quiet, execution: shell })
  await createJob({ tenantId: hog, execution: shell })
  await worker.watchPeers()
  await triggerMany(60, () => createJob({ tenantId: hog, execution: shell }))
  await turn(worker)
  await turn(worker)
  assert.equal(runs.length, 4)
  const ended = 20
  for (let at = 0; at < ended; at++) {
    runs[at]!.end()
    await turn(worker)
    await turn(worker)
  }
  assert.equal(runs.length - ended, 15)
  const execution = await trigger(ofQuiet)
  const before = runs.length
  // Each turn moves one execution, for which there is no place, out of the shared lane.
  for (let i = 0; i < 5; i++) await turn(worker)
  assert.deepEqual(
    runs.slice(before).map(({ call }) => call.executionId),
    [execution],
  )
})

test('a tenant whose commands last stays at a quarter of their places, beside others that get theirs', async (t) => {
  const { startShell, createJob, triggerMany, hog, quiet, turn, pass, runs } = await setup(t)
  const worker = await startShell({ capacity: 16 })
  for (const tenantId of [hog, quiet]) await createJob({ tenantId, execution: lasting })
  await worker.watchPeers()
  await triggerMany(20, () => createJob({ tenantId: hog, execution: lasting }))
  await turn(worker)
  await pass(worker, 20_000)
  assert.equal(worker.inFlight.tenants.inFlight(hog), 4)
  await triggerMany(20, () => createJob({ tenantId: quiet, execution: lasting }))
  for (let i = 0; i < 30; i++) await turn(worker)
  assert.equal(worker.inFlight.tenants.inFlight(quiet), 2, 'as many as it leaves free of the half')
  assert.equal(runs.length, 6)
})

test("failing calls of one tenant at a host do not delay another tenant's call there", async (t) => {
  const { start, hog, quiet, createJob, trigger, triggerMany, turn, pass, world } = await setup(t)
  const url = 'https://common.example'
  world.http.answer(url, ({ headers }) => ({ status: headers['x-tenant'] === 'quiet' ? 200 : 500 }))
  const create = (tenantId: string, headers: Record<string, string>) =>
    createJob({ tenantId, execution: { ...http, headers, callback_url: `${url}/` } })
  const worker = await start({}, { capacity: 800 })
  const job = await create(quiet, { 'x-tenant': 'quiet' })
  await triggerMany(60, () => create(hog, {}))
  await turn(worker)
  await pass(worker, 300)
  assert.equal(worker.inFlight.gate.openHosts().length, 1, 'its circuit is open for the hog')
  const before = world.http.sent.length
  await trigger(job)
  await turn(worker)
  const sent = world.http.sent.slice(before).filter(({ request }) => request.headers['x-tenant'] === 'quiet')
  assert.equal(sent.length, 1)
  assert.equal(worker.inFlight.gate.openHosts().length, 1)
})
