// The order of executions among tenants: a herd waits in its own lane and harms nobody else, and while several tenants
// have work each gets its share by weight.
import assert from 'node:assert/strict'
import test from 'node:test'
import { batchExecutionsMax } from '../../src/domain/queue/execution.ts'
import { LaneChooser, sharedLane } from '../../src/domain/queue/lane.ts'
import { noFaults } from './faults.ts'
import { type Enqueued, QueueLoad } from './queue-load.ts'
import { Simulation } from './world.ts'

function setup({ capacity, callMs, hosts = 64 }: { capacity: number; callMs: number; hosts?: number }) {
  const startAt = Date.UTC(2026, 0, 1)
  const sim = new Simulation({ seed: 1, servers: 1, startAt, rates: noFaults, capacity })
  return { sim, load: new QueueLoad(sim, { hosts, callMs }) }
}

for (const laterMs of [0, 1, 3_000]) {
  test(`a tenant that enqueues 100,000 delays another's one execution ${laterMs} ms later by a batch at most`, async () => {
    const { sim, load } = setup({ capacity: 400, callMs: 50 })
    const lanes = new LaneChooser()
    const choose = (tenantId: string) => () => lanes.choose(tenantId, sim.nowMs)
    await sim.advance(1_000)
    load.enqueue({ tenantId: 'herd', priority: 1, count: 100_000, lane: choose('herd') })
    await sim.advance(laterMs)
    const startedBefore = load.starts().size
    const { inFlight } = load
    const [one] = load.enqueue({ tenantId: 'quiet', priority: 5, count: 1, lane: choose('quiet') })
    await sim.advance(5_000)
    const start = load.starts().get(one!.executionId)
    assert.ok(start !== undefined, 'it did not start within 5 s')
    // Executions that started in the same instant, in the same claim, did not delay it.
    const between =
      load
        .starts()
        .values()
        .filter(({ atMs }) => atMs < start.atMs)
        .toArray().length - startedBefore
    assert.ok(
      between <= batchExecutionsMax + inFlight,
      `${between} went before it, ${inFlight} of them in flight`,
    )
    assert.ok(load.starts().size > startedBefore + 1_000, 'the herd stood still')
  })
}

test('while three tenants of weights 1, 3 and 10 have work, each gets its share within 10 %', async () => {
  const { sim, load } = setup({ capacity: 400, callMs: 100 })
  const weights = new Map([['one', 1], ['three', 3], ['ten', 10]]) // biome-ignore format: a table
  const total = 14
  for (const [tenantId, weight] of weights) {
    sim.tables.store.weights.set(tenantId, weight)
    load.enqueue({ tenantId, priority: 5, count: 40_000, lane: () => tenantId })
  }
  await sim.advance(10_000)
  const tenantOf = (jobId: string) => sim.tables.store.jobs.get(jobId)!.tenantId
  const started = Map.groupBy(sim.world.http.sent, ({ request }) => tenantOf(request.headers['x-job-id']!))
  const all = sim.world.http.sent.length
  assert.ok(all > 10_000, `only ${all} started`)
  for (const [tenantId, weight] of weights) {
    const ratio = started.get(tenantId)!.length / all / (weight / total)
    assert.ok(Math.abs(ratio - 1) <= 0.1, `${tenantId} got ${ratio.toFixed(2)} of its share`)
  }
})

/** One execution a second for a minute: each must start within a second. */
async function runEverySecond({ sim, load }: ReturnType<typeof setup>, lane: () => string): Promise<void> {
  const executions: Enqueued[] = []
  for (let second = 0; second < 60; second++) {
    executions.push(...load.enqueue({ tenantId: 'quiet', priority: 5, count: 1, lane }))
    sim.anyServer(sim.randomOf('hints'))!.hear(['queue'])
    await sim.advance(1_000)
  }
  const starts = load.starts()
  const lateMs = executions.map(({ executionId, atMs }) => (starts.get(executionId)?.atMs ?? Infinity) - atMs)
  assert.ok(Math.max(...lateMs) <= 1_000, `late by ms: ${lateMs.join(' ')}`)
}

for (const hogs of [1, 3]) {
  test(`with 3,000 calls that never end of each of ${hogs} tenants, another's every-second job starts every second`, async () => {
    const scene = setup({ capacity: 2_000, callMs: 50, hosts: 9 })
    const { sim, load } = scene
    const lanes = new LaneChooser()
    const choose = (tenantId: string) => () => lanes.choose(tenantId, sim.nowMs)
    load.enqueue({ tenantId: 'quiet', priority: 5, count: 1, lane: choose('quiet') })
    await sim.advance(10_000)
    for (let hog = 0; hog < hogs; hog++)
      load.enqueue({
        tenantId: `hog${hog}`,
        priority: 1,
        count: 3_000,
        lane: choose(`hog${hog}`),
        hangs: true,
      })
    await sim.advance(5_000)
    await runEverySecond(scene, choose('quiet'))
    assert.ok(load.inFlight > 300, `only ${load.inFlight} in flight`)
    assert.ok(load.inFlight <= 1_001, `calls that do not end have ${load.inFlight} places of 2,000`)
  })
}

test('calls that never end, a few a second, fill the shared lane of small tenants no more than a lane of their own', async () => {
  const scene = setup({ capacity: 2_000, callMs: 50, hosts: 9 })
  const { sim, load } = scene
  load.enqueue({ tenantId: 'quiet', priority: 5, count: 1, lane: () => sharedLane })
  await sim.advance(10_000)
  for (let second = 0; second < 75; second++) {
    load.enqueue({ tenantId: 'hog', priority: 1, count: 40, lane: () => sharedLane, hangs: true })
    await sim.advance(1_000)
  }
  await runEverySecond(scene, () => sharedLane)
  assert.ok(load.inFlight >= 500 && load.inFlight <= 501, `${load.inFlight} in flight`)
})

test('a tenant alone has every place of a worker, and a second one finds places as soon as it has jobs', async () => {
  const scene = setup({ capacity: 2_000, callMs: 50, hosts: 9 })
  const { sim, load } = scene
  await sim.advance(1_000)
  load.enqueue({ tenantId: 'hog', priority: 1, count: 3_000, lane: () => 'hog', hangs: true })
  await sim.advance(5_000)
  assert.equal(load.inFlight, 2_000)
  load.enqueue({ tenantId: 'quiet', priority: 5, count: 1, lane: () => sharedLane })
  await sim.advance(4_000)
  await runEverySecond(scene, () => sharedLane)
})

test('a tenant whose calls were quick and hang all at once leaves the last tenth to the others', async () => {
  const scene = setup({ capacity: 2_000, callMs: 2_000, hosts: 9 })
  const { sim, load } = scene
  load.enqueue({ tenantId: 'quiet', priority: 5, count: 1, lane: () => sharedLane })
  await sim.advance(10_000)
  load.enqueue({ tenantId: 'hog', priority: 1, count: 6_000, lane: () => 'hog' })
  await sim.advance(12_000)
  load.enqueue({ tenantId: 'hog', priority: 1, count: 6_000, lane: () => 'hog', hangs: true })
  await sim.advance(5_000)
  assert.ok(load.inFlight > 1_500 && load.inFlight <= 1_800, `${load.inFlight} in flight`)
  await runEverySecond(scene, () => sharedLane)
})

test('a tenant with calls of some seconds gets most of a worker while others have little to do', async () => {
  const { sim, load } = setup({ capacity: 2_000, callMs: 5_000, hosts: 9 })
  load.enqueue({ tenantId: 'quiet', priority: 5, count: 1, lane: () => sharedLane })
  await sim.advance(10_000)
  load.enqueue({ tenantId: 'busy', priority: 5, count: 20_000, lane: () => 'busy' })
  await sim.advance(30_000)
  assert.ok(load.inFlight >= 1_790 && load.inFlight <= 1_800, `${load.inFlight} in flight`)
})
