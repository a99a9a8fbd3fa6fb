// The order of executions among tenants: a herd waits in its own lane and harms nobody else, and while several tenants
// have work each gets its share by weight.
import assert from 'node:assert/strict'
import test from 'node:test'
import { batchExecutionsMax } from '../../src/domain/queue/execution.ts'
import { LaneChooser } from '../../src/domain/queue/lane.ts'
import { noFaults } from './faults.ts'
import { QueueLoad } from './queue-load.ts'
import { Simulation } from './world.ts'

function setup({ capacity, callMs }: { capacity: number; callMs: number }) {
  const startAt = Date.UTC(2026, 0, 1)
  const sim = new Simulation({ seed: 1, servers: 1, startAt, rates: noFaults, capacity })
  return { sim, load: new QueueLoad(sim, { hosts: 64, callMs }) }
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
